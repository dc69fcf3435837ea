package cluster

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// Shell runs a command line in a directory, with the programs beside the harness. A kubectl in it has the rights of an
// administrator.
func (c *Cluster) Shell(ctx context.Context, dir, line string) (string, error) {
	return c.output(ctx, dir, "sh", "-c", line)
}

// Kubectl runs kubectl with the rights of an administrator; what it caches goes where the cluster's files are.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.output(ctx, "", "kubectl", append([]string{"--cache-dir", c.File("kubectl")}, args...)...)
}

func (c *Cluster) output(ctx context.Context, dir, program string, args ...string) (string, error) {
	runtime.LockOSThread() // the parent-death signal comes when the thread ends
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "KUBECONFIG="+c.File("kubeconfig"),
		"PATH="+c.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Dir = dir
	cmd.SysProcAttr = attributes()
	out, err := cmd.CombinedOutput()
	return string(out), err
}
