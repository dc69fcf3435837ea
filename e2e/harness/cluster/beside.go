package cluster

import "context"

// Run starts a program that stands beside the API server, and ends it with the cluster. The name is a path below the
// directory of the programs. What it says goes to a file that Log returns.
func (c *Cluster) Run(name string, env []string, args ...string) error {
	return c.run(name, env, args...)
}

// File is the path of a file of the cluster, such as "kubeconfig". All are removed with it.
func (c *Cluster) File(name string) string { return c.file(name) }

// Wait tries until it works, for a minute, as long as all processes are alive.
func (c *Cluster) Wait(ctx context.Context, what string, try func() error) error {
	return c.wait(ctx, what, try)
}

// Established waits until a CustomResourceDefinition is served.
func (c *Cluster) Established(ctx context.Context, name string) error {
	return c.wait(ctx, name, func() error { return c.established(ctx, name) })
}
