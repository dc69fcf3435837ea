// Package cluster runs a Kubernetes API server with its etcd and the controllers that matter to RBAC, and OLM, all on
// loopback.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a running API server that knows nothing but what Kubernetes itself puts there.
type Cluster struct {
	Config    *rest.Config
	Client    kubernetes.Interface
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface
	Resync    time.Duration // how often OLM looks at everything; 0 is its default
	StandIns  bool          // Services that webhooks name are made, if they are not there
	Memory    int64         // bytes that the programs may use together; 0: any
	Global    string        // the namespace whose catalogs serve all namespaces; empty is OLM's own

	webhooks  bool     // the API server asks admission webhooks
	without   []string // admission plugins
	dualStack bool
	flags     []string // of the API server
	bin, dir  string
	lock      *os.File
	ca        *authority
	trusted   sync.Map // hosts whose certificates may be signed by ca
	processes []*process
	network   *network
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	cancel    context.CancelFunc
}

// Option changes a cluster before it starts.
type Option func(*Cluster)

// WithWebhooks has the API server ask admission webhooks, and gives the Services of all webhooks an address.
func WithWebhooks(c *Cluster) { c.webhooks = true }

// Without has the API server do without these admission plugins.
func Without(plugins ...string) Option { return func(c *Cluster) { c.without = plugins } }

// WithDualStack gives Services addresses of both families, IPv4 first.
func WithDualStack(c *Cluster) { c.dualStack = true }

// WithFlags adds flags of the API server.
func WithFlags(flags ...string) Option {
	return func(c *Cluster) { c.flags = append(c.flags, flags...) }
}

// Start runs etcd, kube-apiserver and kube-controller-manager from bin ($KUBEBUILDER_ASSETS goes first) with their
// files below a directory of its own in run. A directory there that no running harness holds is removed first.
func Start(ctx context.Context, bin, run string, options ...Option) (*Cluster, error) {
	if err := sweep(run); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(run, "cluster-")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &Cluster{bin: bin, dir: dir, cancel: cancel}
	for _, set := range options {
		set(c)
	}
	if c.lock, err = lock(dir); err == nil {
		err = c.start(ctx)
	}
	if err != nil {
		c.Stop()
		return nil, err
	}
	go c.reportDeployments(ctx)
	return c, nil
}

// Stop ends all processes and removes all files.
func (c *Cluster) Stop() {
	c.cancel()
	for _, p := range slices.Backward(c.processes) {
		p.stop()
	}
	if c.network != nil {
		c.network.stop()
	}
	os.RemoveAll(c.dir)
	if c.lock != nil {
		c.lock.Close()
	}
}

// Check is an error if a process has ended by itself, or if all of them use more memory than they may.
func (c *Cluster) Check() error {
	var used int64
	for _, p := range c.processes {
		if err := p.exited(); err != nil {
			return err
		}
		used += p.memory()
	}
	if c.Memory > 0 && used > c.Memory {
		return fmt.Errorf("the programs of the cluster use %d MiB of memory, and may use %d MiB", used>>20,
			c.Memory>>20)
	}
	return nil
}

// Log is what a program of the cluster has said so far.
func (c *Cluster) Log(program string) string {
	data, _ := os.ReadFile(filepath.Join(c.dir, program+".log"))
	return string(data)
}

// File is the path of a file of the cluster, such as "kubeconfig".
func (c *Cluster) File(name string) string { return filepath.Join(c.dir, name) }

func (c *Cluster) start(ctx context.Context) error {
	if err := c.certificates(); err != nil {
		return err
	}
	ports, err := FreePorts(3)
	if err != nil {
		return err
	}
	if c.network, err = newNetwork(c.File("network.sock"), c.File("egress.yaml")); err != nil {
		return err
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := c.Run("etcd", nil, "--data-dir", c.File("etcd"), "--listen-client-urls", etcd, "--advertise-client-urls",
		etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--unsafe-no-fsync"); err != nil {
		return err
	}
	if err := c.Run("kube-apiserver", nil, c.apiserverFlags(etcd, ports[2])...); err != nil {
		return err
	}
	if err := c.connect(fmt.Sprintf("https://127.0.0.1:%d", ports[2])); err != nil {
		return err
	}
	if err := c.Wait(ctx, "kube-apiserver", func() error {
		return c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}
	return c.Run("kube-controller-manager", nil, "--kubeconfig", c.File("kubeconfig"), "--secure-port", "0",
		"--leader-elect=false", "--service-account-private-key-file", c.File("sa.key"),
		"--root-ca-file", c.File("ca.crt"), "--controllers", strings.Join([]string{
			"clusterrole-aggregation-controller", "namespace-controller", "serviceaccount-controller",
			"garbage-collector-controller",
		}, ","))
}

func (c *Cluster) certificates() error {
	var err error
	if c.ca, err = newAuthority(c.dir); err != nil {
		return err
	}
	return errors.Join(c.ca.serving("apiserver"), c.ca.serving("sa"), c.ca.client("admin", "system:masters"),
		c.ca.client("proxy"))
}

func (c *Cluster) apiserverFlags(etcd string, port int) []string {
	addresses := "10.96.0.0/16"
	if c.dualStack {
		addresses += ",fd00:10:96::/112"
	}
	flags := []string{
		"--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--cert-dir", c.dir,
		"--tls-cert-file", c.File("apiserver.crt"), "--tls-private-key-file", c.File("apiserver.key"),
		"--client-ca-file", c.File("ca.crt"),
		"--authorization-mode", "RBAC", "--service-cluster-ip-range", addresses,
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", c.File("sa.crt"),
		"--service-account-signing-key-file", c.File("sa.key"), "--enable-aggregator-routing=true",
		"--requestheader-client-ca-file", c.File("ca.crt"), "--requestheader-allowed-names", "proxy",
		"--requestheader-username-headers", "X-Remote-User",
		"--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--proxy-client-cert-file", c.File("proxy.crt"), "--proxy-client-key-file", c.File("proxy.key"),
		"--egress-selector-config-file", c.File("egress.yaml"), "--enable-priority-and-fairness=false",
		"--allow-privileged=true",
	}
	without := c.without
	if !c.webhooks {
		without = append(slices.Clone(without), "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
	}
	if len(without) > 0 {
		flags = append(flags, "--disable-admission-plugins", strings.Join(without, ","))
	}
	return append(flags, c.flags...)
}

// Run starts a program and keeps it.
func (c *Cluster) Run(name string, env []string, args ...string) error {
	program := filepath.Join(c.bin, name)
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		if _, err := os.Stat(filepath.Join(assets, name)); err == nil {
			program = filepath.Join(assets, name)
		}
	}
	p, err := start(c.dir, program, env, args...)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return err
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: e2e
  cluster: {server: %q, certificate-authority: ca.crt}
users:
- name: admin
  user: {client-certificate: admin.crt, client-key: admin.key}
contexts:
- name: e2e
  context: {cluster: e2e, user: admin}
current-context: e2e
`

func (c *Cluster) connect(server string) error {
	if err := os.WriteFile(c.File("kubeconfig"), fmt.Appendf(nil, kubeconfig, server), 0o600); err != nil {
		return err
	}
	var err error
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.File("kubeconfig")); err != nil {
		return err
	}
	if err := rest.LoadTLSFiles(c.Config); err != nil {
		return err
	}
	// or the client would look for new ones, also when they are gone
	c.Config.CAFile, c.Config.CertFile, c.Config.KeyFile = "", "", ""
	c.Config.QPS = -1 // it is our own server
	c.Config.WarningHandler = rest.NoWarnings{}
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	c.Discovery = c.Client.Discovery()
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Discovery))
	c.Dynamic, err = dynamic.NewForConfig(c.Config)
	return err
}

// Wait tries until it works, for a minute, as long as all processes are alive.
func (c *Cluster) Wait(ctx context.Context, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		if dead := c.Check(); dead != nil {
			return dead
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lock holds a directory until the process ends.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes what a harness left behind that was killed.
func sweep(run string) error {
	if err := os.MkdirAll(run, 0o755); err != nil {
		return err
	}
	dirs, err := filepath.Glob(filepath.Join(run, "cluster-*"))
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || time.Since(info.ModTime()) < 5*time.Second {
			continue // may be just about to be locked
		}
		if f, err := lock(dir); err == nil {
			os.RemoveAll(dir)
			f.Close()
		}
	}
	return err
}

// Exists ignores the error that an object is there already.
func Exists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
