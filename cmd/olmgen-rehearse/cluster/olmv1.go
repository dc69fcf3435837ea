package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// olmV1Namespace is where OLM v1 keeps its own objects.
const olmV1Namespace = "olmv1-system"

const registriesConf = `[[registry]]
location = %q
insecure = true
`

// StartOLMv1 runs catalogd and operator-controller of a release, which the neighbour olmv1 has built. They have the
// rights of an administrator, and pull images from a registry on loopback without TLS. With a feature gate such as
// "A=true" that is on, the CRDs are the experimental ones.
func (c *Cluster) StartOLMv1(ctx context.Context, release, registry string, gates ...string) error {
	dir := filepath.Join(c.bin, "olmv1", release)
	if _, err := os.Stat(filepath.Join(dir, "catalogd")); err != nil {
		return fmt.Errorf("OLM %s is not built: run \"make e2e CHECK=neighbours WITH=olmv1\": %w", release, err)
	}
	crds := "standard"
	if slices.ContainsFunc(gates, func(g string) bool { return strings.HasSuffix(g, "=true") }) {
		crds = "experimental"
	}
	if err := c.InstallCRDs(ctx, filepath.Join(dir, "crds", crds)); err != nil {
		return err
	}
	env, err := c.prepareOLMv1(ctx, registry)
	if err != nil {
		return err
	}
	ports, err := FreePorts(2)
	if err != nil {
		return err
	}
	content := fmt.Sprintf("127.0.0.1:%d", ports[0])
	if err := c.Run(filepath.Join("olmv1", release, "catalogd"), env, "--system-namespace", olmV1Namespace,
		"--health-probe-bind-address", "0", "--metrics-bind-address", "0",
		"--catalogs-server-addr", content, "--external-address", content,
		"--webhook-server-port", fmt.Sprint(ports[1]), "--cache-dir", c.File("olmv1/catalogd"),
		"--tls-cert", c.File("apiserver.crt"), "--tls-key", c.File("apiserver.key")); err != nil {
		return err
	}
	return c.Run(filepath.Join("olmv1", release, "operator-controller"), env,
		"--system-namespace", olmV1Namespace, "--health-probe-bind-address", "0",
		"--cache-path", c.File("olmv1/operator-controller"), "--catalogd-cas-dir", c.File("olmv1/cas"),
		"--feature-gates", strings.Join(gates, ","))
}

// prepareOLMv1 makes what both programs find in a pod, and returns the environment that names it.
func (c *Cluster) prepareOLMv1(ctx context.Context, registry string) ([]string, error) {
	if err := c.Namespace(ctx, olmV1Namespace, nil); err != nil {
		return nil, err
	}
	token, err := c.Client.CoreV1().ServiceAccounts(olmV1Namespace).CreateToken(ctx, "default",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(c.File("ca.crt"))
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"cas", "catalogd", "operator-controller", "tmp"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(c.File("olmv1"), dir), 0o700))
	}
	for name, data := range map[string][]byte{"cas/ca.crt": ca, "token": []byte(token.Status.Token),
		"registries.conf": fmt.Appendf(nil, registriesConf, registry)} {
		err = errors.Join(err, os.WriteFile(filepath.Join(c.File("olmv1"), name), data, 0o600))
	}
	return []string{"KUBECONFIG=" + c.File("kubeconfig"), "HOME=" + c.File("olmv1"), "TMPDIR=" + c.File("olmv1/tmp"),
		"OLMGEN_TOKEN_FILE=" + c.File("olmv1/token"),
		"CONTAINERS_REGISTRIES_CONF=" + c.File("olmv1/registries.conf")}, err
}

// OfOLMv1 reports whether OLM v1 made an object for itself.
func OfOLMv1(namespace string) bool { return namespace == olmV1Namespace }
