package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm"
)

// CRDs is a resource for the dynamic client.
var CRDs = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// InstallCRDs creates the CustomResourceDefinitions in the YAML files of a directory and waits until they are served.
func (c *Cluster) InstallCRDs(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Join(fmt.Errorf("%s: no CRDs", dir), err)
	}
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := c.Dynamic.Resource(CRDs).Create(ctx, crd, metav1.CreateOptions{}); Exists(err) != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		names = append(names, crd.GetName())
	}
	for _, name := range names {
		if err := c.Established(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// InstallOLMCRDs installs OLM's own CRDs, which build.sh puts beside the programs.
func (c *Cluster) InstallOLMCRDs(ctx context.Context) error {
	return c.InstallCRDs(ctx, filepath.Join(c.bin, "crds"))
}

// Established waits until a CustomResourceDefinition is served.
func (c *Cluster) Established(ctx context.Context, name string) error {
	return c.Wait(ctx, name, func() error {
		crd, err := c.Dynamic.Resource(CRDs).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		for _, x := range conditions {
			if m, _ := x.(map[string]any); m["type"] == "Established" && m["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("not established")
	})
}

// StartOLM runs olm-operator and catalog-operator with the rights of an administrator.
func (c *Cluster) StartOLM(ctx context.Context) error {
	if err := c.PrepareOLM(ctx); err != nil {
		return err
	}
	return c.RunOLM(ctx)
}

// PrepareOLM makes what RunOLM needs.
func (c *Cluster) PrepareOLM(ctx context.Context) error {
	if err := c.InstallOLMCRDs(ctx); err != nil {
		return err
	}
	for _, name := range []string{olm.NamespaceUpstream, cmp.Or(c.Global, olm.NamespaceUpstream)} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); Exists(err) != nil {
			return err
		}
	}
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": olm.Group + "/v1", "kind": "OLMConfig", "metadata": map[string]any{"name": "cluster"},
	}}
	configs := schema.GroupVersionResource{Group: olm.Group, Version: "v1", Resource: "olmconfigs"}
	_, err := c.Dynamic.Resource(configs).Create(ctx, config, metav1.CreateOptions{})
	return err
}

// RunOLM runs OLM in a cluster that PrepareOLM has prepared, for the first time or after StopOLM.
func (c *Cluster) RunOLM(ctx context.Context) error {
	metricsPort()
	env := []string{"KUBECONFIG=" + c.File("kubeconfig"), "OPERATOR_NAME=olm-operator"}
	var args []string
	if c.Resync > 0 {
		args = append(args, "--interval", c.Resync.String())
	}
	if err := c.Run("olm", env, append(args, "--namespace", olm.NamespaceUpstream)...); err != nil {
		return err
	}
	if err := c.Run("catalog", append(env, "OPERATOR_NAME=catalog-operator"),
		append(args, "--namespace", cmp.Or(c.Global, olm.NamespaceUpstream),
			"--install-plan-retry-timeout", "15s")...); err != nil {
		return err
	}
	// At its start OLM looks whether anything lacks the labels of newer versions, and if so labels even what it makes
	// itself otherwise than without (pkg/controller/operators/labeller); so nothing may be there before it has started.
	for _, program := range []string{"olm", "catalog"} {
		if err := c.Wait(ctx, program, func() error {
			if !strings.Contains(c.Log(program), "starting workers...") {
				return fmt.Errorf("its workers have not started")
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// StopOLM ends OLM, as scaling its Deployments to zero does. It may be called twice.
func (c *Cluster) StopOLM() {
	c.processes = slices.DeleteFunc(c.processes, func(p *process) bool {
		ofOLM := p.name == "olm" || p.name == "catalog"
		if ofOLM {
			p.stop()
		}
		return ofOLM
	})
}

// metricsPort keeps OLM from serving its metrics on port 8080 of every address, for which it has no flag: it logs that
// the port is taken and goes on without. Where the port is taken already, that is as good.
var metricsPort = sync.OnceValue(func() net.Listener {
	l, _ := net.Listen("tcp", "127.0.0.1:8080")
	return l
})
