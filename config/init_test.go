package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

func readBundle(t *testing.T, dir string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestInitGroupsByNamespace(t *testing.T) {
	dir := testDir(t)
	memcached, redis := readBundle(t, filepath.Join(dir, "memcached")), readBundle(t, filepath.Join(dir, "redis"))
	for _, b := range []*bundle.Bundle{memcached, redis} {
		b.CSV.Annotations = map[string]string{"operatorframework.io/suggested-namespace": "data"}
	}
	data, err := Init("olmgen.yaml", "out", []InitBundle{{Source: "memcached", Bundle: memcached},
		{Source: "redis", Bundle: redis, Chosen: bundle.Choice{Channel: "1e3", Version: "1.0"}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read("olmgen.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Groups) != 1 || c.Groups[0].Name != "data" || len(c.Groups[0].Bundles) != 2 {
		t.Errorf("groups %+v", c.Groups)
	}
	if b := c.Groups[0].Bundles[1]; b.Channel != "1e3" || b.Version != "1.0" {
		t.Errorf("chosen %+v", b)
	}
}

// Two branches add an operator each: neither is at the end of the file, and no comment is in it twice.
func TestAppendSorted(t *testing.T) {
	add := func(data []byte, namespace, source string) []byte {
		b := readBundle(t, filepath.Join(testDir(t), "memcached"))
		b.CSV.Annotations = map[string]string{"operatorframework.io/suggested-namespace": namespace}
		b.CSV.Name = source
		out, err := Append("olmgen.yaml", data, []InitBundle{{Source: source, Bundle: b}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	b, other := readBundle(t, filepath.Join(testDir(t), "memcached")), readBundle(t, filepath.Join(testDir(t), "redis"))
	b.CSV.Annotations = map[string]string{"operatorframework.io/suggested-namespace": "data"}
	other.CSV.Annotations = map[string]string{"operatorframework.io/suggested-namespace": "web"}
	data, err := Init("olmgen.yaml", "out", []InitBundle{{Source: "m", Bundle: b}, {Source: "redis", Bundle: other}})
	if err != nil {
		t.Fatal(err)
	}
	for line, n := range countLines(string(data)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") && n > 1 {
			t.Errorf("%d times %q", n, line)
		}
	}
	data = add(add(add(add(data, "data", "z"), "data", "a"), "area", "x"), "zone", "y")
	c, err := Read("olmgen.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range c.Groups {
		got = append(got, g.Namespace+":")
		for _, b := range g.Bundles {
			got = append(got, b.Source)
		}
	}
	if want := "area: x data: a m z web: redis zone: y"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func countLines(text string) map[string]int {
	n := map[string]int{}
	for line := range strings.Lines(text) {
		n[line]++
	}
	return n
}

// Every bundle of the corpus gets a declaration that renders as it is.
func TestInitOfTheCorpus(t *testing.T) {
	for _, dir := range corpustest.Bundles(t) {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			continue // other tests are about these
		}
		data, err := Init("olmgen.yaml", "out", []InitBundle{{Source: dir, Bundle: b}})
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		c, err := Read("olmgen.yaml", data)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if _, err := c.Render(context.Background(), Options{}); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// The examples of target namespaces are those that the operators can watch.
func TestInitExamples(t *testing.T) {
	const own, single, multi, all = v1alpha1.InstallModeTypeOwnNamespace, v1alpha1.InstallModeTypeSingleNamespace,
		v1alpha1.InstallModeTypeMultiNamespace, v1alpha1.InstallModeTypeAllNamespaces
	for _, c := range []struct {
		modes []v1alpha1.InstallModeType
		want  string
	}{
		{[]v1alpha1.InstallModeType{all}, ""},
		{[]v1alpha1.InstallModeType{own}, ""},
		{[]v1alpha1.InstallModeType{own, single}, "# targetNamespaces: [team-a]\n"},
		{[]v1alpha1.InstallModeType{own, single, multi, all}, "# targetNamespaces: [team-a, team-b]\n"},
	} {
		b := readBundle(t, filepath.Join(testDir(t), "memcached"))
		b.CSV.Spec.InstallModes = nil
		for _, m := range c.modes {
			b.CSV.Spec.InstallModes = append(b.CSV.Spec.InstallModes, v1alpha1.InstallMode{Type: m, Supported: true})
		}
		data, err := Init("olmgen.yaml", "out", []InitBundle{{Source: "memcached", Bundle: b}})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && strings.Contains(string(data), "targetNamespaces") || !strings.Contains(string(data), c.want) {
			t.Errorf("%v: want %q in\n%s", c.modes, c.want, data)
		}
	}
}
