package rehearse

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// WriteCase writes what was played last, and what OLM came to, into a new directory: what the dump shows, the tree as
// it is applied, the catalogs as they are served, and play.yaml. There is no content of Secrets.
func (r *Report) WriteCase(dir string, anonymize bool, s *State) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	last, before := r.Played[len(r.Played)-1], s.before
	if len(r.Played) > 1 {
		before = r.before
	}
	replace, ask := func(text string) string { return text }, []any{"check", "before.yaml", "tree.yaml"}
	if anonymize {
		replace = s.anonymous()
	}
	for _, key := range slices.Sorted(maps.Keys(s.request.written)) {
		from := s.request.written[key]
		if err := os.CopyFS(filepath.Join(dir, filepath.Base(from)), os.DirFS(from)); err != nil {
			return err
		}
		ask = append(ask, "--catalog", key+"="+filepath.Base(from))
	}
	lines := func(list []string) []any { return lists.Map(list, func(l string) any { return replace(l) }) }
	var states, items []any
	for _, m := range last.Course.Course {
		states = append(states, map[string]any{"first": fmt.Sprintf("%.1fs", m.Seconds), "line": replace(m.Line)})
	}
	for _, namespace := range lists.SortedUnique(lists.Map(last.Final, func(x Status) string { return x.Namespace })) {
		items = append(items, map[string]any{"id": replace(namespace), "ns": replace(namespace)})
	}
	said := map[string]any{"settle": "installation", "seconds": last.Seconds, "states": states,
		"final": lines(lists.Map(last.Final, Status.String))}
	play := map[string]any{"case": filepath.Base(dir), "ask": []any{append(ask, "--offline")}, "items": items,
		"said": []any{said}, "steps": []any{}, "versions": lines(r.versions())}
	files := map[string][]byte{"play.yaml": manifest.Encode(play)}
	for name, objects := range map[string][]*manifest.Object{"before.yaml": before, "tree.yaml": s.applied} {
		for _, o := range objects {
			value, err := o.Value()
			if err != nil {
				return err
			}
			if o.Kind == "Secret" {
				delete(value, "data")
				delete(value, "stringData")
			}
			value, _ = decoded.Copy(value, func(leaf any) any {
				if text, ok := leaf.(string); ok {
					return replace(text)
				}
				return leaf
			}).(map[string]any)
			files[name] = append(append(files[name], "---\n"...), manifest.Encode(value)...)
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// anonymous returns a function that replaces the names of namespaces, Subscriptions, OperatorGroups and custom
// resources. Names that Kubernetes, OLM, a distribution or a catalog gives stay.
func (s *State) anonymous() func(string) string {
	own := regexp.MustCompile(`^(default|olm|operators|global-operators|kube-.*|openshift.*)$`)
	names, stays := map[string]string{}, map[string]bool{}
	for _, source := range s.sources() {
		if c := s.given(source.Namespace, source.Name); c != nil {
			for name, pkg := range c.Packages {
				stays[name] = true
				for _, channel := range pkg.Channels {
					stays[channel.Name] = true
				}
			}
		}
	}
	for _, o := range slices.Concat(s.before, s.applied) {
		named := o.Kind == "Namespace" || o.Kind == v1alpha1.SubscriptionKind || o.Kind == "OperatorGroup" ||
			strings.Contains(o.Group(), ".") && !strings.HasSuffix(o.Group(), ".k8s.io") && o.Group() != olm.Group
		for _, name := range []string{o.Namespace, o.Name} {
			stay := name == "" || stays[name] || own.MatchString(name)
			if (named || name == o.Namespace) && !stay && names[name] == "" {
				names[name] = fmt.Sprintf("name-%d", len(names)+1)
			}
		}
	}
	word := regexp.MustCompile(`[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?`)
	return func(text string) string {
		return word.ReplaceAllStringFunc(text, func(w string) string {
			if to := names[w]; to != "" {
				return to
			}
			return w
		})
	}
}
