//go:build unix

package goals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sigs.k8s.io/yaml"
)

const subscription = `apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: g, namespace: ops}
spec: {}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: s, namespace: ops}
spec: {name: %s, source: c, sourceNamespace: olm}
`

// directories writes bundles of the corpus below a directory, each as often as it takes for so many bytes, or so many
// bundles: each time as another package. It returns a package.
func (b *bench) directories(at string, bytes int64, bundles int) (pkg string, err error) {
	have, n := int64(0), 0
	for copies := 0; ; copies++ {
		for _, dir := range b.all {
			if have >= bytes && n >= bundles {
				return pkg, nil
			}
			name := fmt.Sprintf("%s-%d", filepath.Base(filepath.Dir(dir)), copies)
			to := filepath.Join(at, "operators", name, filepath.Base(dir))
			annotations := filepath.Join("metadata", "annotations.yaml")
			data, err := os.ReadFile(filepath.Join(dir, annotations))
			if err != nil {
				continue // it is of another form
			}
			var metadata struct {
				Annotations map[string]string `json:"annotations"`
			}
			if err := yaml.Unmarshal(data, &metadata); err != nil {
				return "", err
			}
			metadata.Annotations["operators.operatorframework.io.bundle.package.v1"] = name
			if data, err = yaml.Marshal(metadata); err != nil {
				return "", err
			}
			if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(to, annotations), data, 0o600); err != nil {
				return "", err
			}
			size, err := sizeOf(to)
			if err != nil {
				return "", err
			}
			have, n = have+size, n+1
			if strings.Contains(name, "memcached") || pkg == "" {
				pkg = name
			}
		}
	}
}

// oneOf measures a command about one package of directories. The figure is in CPU seconds.
func oneOf(bytes int64, bundles int, args func(dir, pkg, tree string) []string) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		dir, err := os.MkdirTemp(b.dir, "directories")
		if err != nil {
			return figure{}, err
		}
		defer os.RemoveAll(dir)
		pkg, err := b.directories(dir, bytes, bundles)
		if err != nil {
			return figure{}, err
		}
		tree := filepath.Join(b.dir, "subscription.yaml")
		if err := os.WriteFile(tree, fmt.Appendf(nil, subscription, pkg), 0o600); err != nil {
			return figure{}, err
		}
		return b.seconds(ctx, dir, args(dir, pkg, tree)...)
	}
}

func resolves(dir, _, tree string) []string {
	return []string{"catalog", "resolve", tree, "--catalog", "olm/c=" + dir, "--fail-on", "none"}
}

// requires has the package require an API that some others of the corpus provide, and many mention.
func requires(dir, pkg, tree string) []string {
	of, err := filepath.Glob(filepath.Join(dir, "operators", pkg, "*", "metadata"))
	for _, metadata := range of {
		err = errors.Join(err, os.WriteFile(filepath.Join(metadata, "dependencies.yaml"), []byte("dependencies:\n"+
			"- {type: olm.gvk, value: {group: monitoring.coreos.com, version: v1, kind: ServiceMonitor}}\n"), 0o600))
	}
	if err != nil {
		panic(err)
	}
	return resolves(dir, pkg, tree)
}

func graphs(dir, pkg, _ string) []string {
	return []string{"graph", "catalog:" + dir, "--package", pkg}
}

func (b *bench) seconds(ctx context.Context, read string, args ...string) (figure, error) {
	times, err := b.alternate(b.command(ctx, args...))
	if err != nil {
		return figure{}, err
	}
	f := figure{value: median(times[0]).Seconds(), cost: median(times[0])}
	f.limit, err = b.limit(0, read)
	return f, err
}

// large writes the catalogs of the corpus as JSON, each as often as it takes for so many bytes: each time as another
// package.
func (b *bench) large(at string, bytes int64) error {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(b.bundles), "catalogs", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no catalogs: %w", err)
	}
	for have, copies := int64(0), 0; have < bytes; copies++ {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			var out []byte
			for part := range strings.SplitSeq("\n"+string(data), "\n---") {
				var doc map[string]any
				if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
					return err
				}
				for _, key := range []string{"package", "name"} {
					if name, ok := doc[key].(string); ok && (key == "package" || doc["schema"] == "olm.package") {
						doc[key] = fmt.Sprintf("%s-%d", name, copies)
					}
				}
				text, err := json.MarshalIndent(doc, "", "    ")
				if err != nil {
					return err
				}
				if doc != nil {
					out = append(append(out, text...), '\n')
				}
			}
			to := filepath.Join(at, fmt.Sprintf("%s-%d", filepath.Base(filepath.Dir(file)), copies))
			if err := os.MkdirAll(to, 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, "catalog.json"), out, 0o600); err != nil {
				return err
			}
			have += int64(len(out))
		}
	}
	return nil
}

func filters(ctx context.Context, b *bench) (figure, error) {
	dir := filepath.Join(b.dir, "json")
	if err := b.large(dir, 150e6); err != nil {
		return figure{}, err
	}
	defer os.RemoveAll(dir)
	return b.seconds(ctx, dir, "catalog", "audit", dir, "--filter", "rabbitmq")
}

func holds(ctx context.Context, b *bench) (figure, error) {
	dir := filepath.Join(b.dir, "large")
	if err := b.large(dir, 300e6); err != nil {
		return figure{}, err
	}
	defer os.RemoveAll(dir)
	state, err := b.start(ctx, "catalog", "audit", dir)
	if err != nil {
		return figure{}, err
	}
	return figure{value: float64(state.SysUsage().(*syscall.Rusage).Maxrss) / 1e3}, nil
}
