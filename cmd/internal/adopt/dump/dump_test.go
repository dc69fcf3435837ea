package dump_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/manifest"
)

// recorded is what kubectl printed of a cluster with a real OLM.
func recorded(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../testdata/gates-multi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, text string) (*dump.Dump, error) {
	t.Helper()
	return dump.Read(t.Context(), []string{"-"}, strings.NewReader(text))
}

func keys(d *dump.Dump) (keys []string) {
	for _, o := range d.Objects {
		keys = append(keys, o.Identity()+" "+o.UID)
	}
	return keys
}

// items returns the objects of a dump, each as JSON.
func items(t testing.TB, data []byte) (list []json.RawMessage) {
	t.Helper()
	var l struct{ Items []json.RawMessage }
	if err := yaml.Unmarshal(data, &l); err != nil {
		t.Fatal(err)
	}
	return l.Items
}

// A dump says the same in every form: YAML, JSON, a stream of documents, Lists of Lists, a directory of single files.
func TestForms(t *testing.T) {
	data := recorded(t)
	want, err := read(t, string(data))
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Objects) < 40 || len(want.Missing()) > 0 {
		t.Fatalf("%d objects, missing %v", len(want.Objects), want.Missing())
	}
	list := items(t, data)
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var indented, stream, yamlStream bytes.Buffer
	if err := json.Indent(&indented, asJSON, "", "    "); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, item := range list {
		fmt.Fprintf(&stream, "%s\n", item)
		doc, err := yaml.JSONToYAML(item)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&yamlStream, "---\n%s", doc)
		file := filepath.Join(dir, "namespaces", fmt.Sprint(i%3), fmt.Sprintf("%d.yaml", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, doc, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	// what else a must-gather has
	for name, text := range map[string]string{"version": "4.19", "timestamp.yaml": "2026-11-22 10:00:00 +0000 UTC\n",
		"junk.yaml": "a: [b\n", "core/pods.yaml": "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec: [\nkind: PodList\n", "logs.json": "not json"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	half := len(list) / 2
	nested, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		map[string]any{"apiVersion": "v1", "kind": "List", "items": list[:half]},
		map[string]any{"apiVersion": "v1", "kind": "List", "items": list[half:]}}})
	if err != nil {
		t.Fatal(err)
	}
	nestedYAML, err := yaml.JSONToYAML(nested)
	if err != nil {
		t.Fatal(err)
	}
	// the form that kubectl and other printers indent lists in
	deeper := strings.ReplaceAll(string(nestedYAML), "\n", "\r\n")
	for name, text := range map[string]string{"json": string(asJSON), "indented": indented.String(), "stream": stream.String(),
		"documents": yamlStream.String(), "nested": string(nested), "nested yaml": string(nestedYAML), "crlf": deeper,
		"twice": string(data) + "---\n" + string(data), "bom": "\xef\xbb\xbf" + string(data)} {
		got, err := read(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(keys(want), keys(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		for i, o := range got.Objects {
			if d := cmp.Diff(want.Objects[i].Value(), o.Value()); d != "" && name != "crlf" {
				t.Errorf("%s: %s:\n%s", name, o.Identity(), d)
			}
		}
	}
	got, err := dump.Read(t.Context(), []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(keys(want), keys(got)); d != "" {
		t.Errorf("directory (-want +got):\n%s", d)
	}
}

// A dump that ends too early is an error, wherever it ends.
func TestTruncated(t *testing.T) {
	fuzztest.Seconds(t)
	data := recorded(t)
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(data, []byte("\nkind: List"))
	for n := 20; n < end; n += end / 300 {
		if _, err := read(t, string(data[:n])); err == nil {
			t.Fatalf("YAML cut at byte %d of %d is no error", n, len(data))
		}
	}
	for n := 1; n < len(asJSON); n += len(asJSON) / 300 {
		_, err := read(t, string(asJSON[:n]))
		if err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Fatalf("JSON cut at byte %d of %d: %v", n, len(asJSON), err)
		}
	}
}

func TestRefused(t *testing.T) {
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: kube-system\n  uid: "
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {"", "stdin: no Kubernetes objects"},
		"message": {"error: You must be logged in to the server\n", "no Kubernetes objects"},
		"half":    {"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: a\n", "stdin:6: has a list of items, and the kind List that kubectl prints after them is missing"},
		"two clusters": {namespace + "a\n---\n" + namespace + "b\n",
			"stdin:7: Namespace kube-system: namespace kube-system has another UID than in stdin:1"},
		"made anew": {strings.ReplaceAll(namespace+"a\n---\n"+namespace+"b\n", "kube-system", "x"),
			"stdin:7: Namespace x: has another UID than in stdin:1"},
		"no kind":     {"items:\n- metadata: {name: a}\nkind: List\n", "stdin:2: an item of a List has no kind"},
		"no name":     {"apiVersion: v1\nkind: Namespace\nmetadata: {}\n", "Namespace without metadata.name"},
		"broken":      {"apiVersion: v1\nkind: Namespace\nmetadata: [\n", "stdin:3"},
		"wrong label": {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: [b]}\n", "metadata: json"},
		"array":       {"[1]", "is not a Kubernetes object"},
		"not text":    {"apiVersion: v1\nkind: \x00", "has a NUL byte: not text"},
	} {
		d, err := read(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q (%v)", name, err, c.want, d)
		}
	}
	deep := strings.Repeat(`{"kind":"List","items":[`, 12) + strings.Repeat("]}", 12)
	if _, err := read(t, deep); err == nil || !strings.Contains(err.Error(), "Lists in each other") {
		t.Errorf("deep: %v", err)
	}
	if _, err := dump.Read(t.Context(), []string{"no/such"}, nil); err == nil {
		t.Error("a missing path is no error")
	}
}

// Nothing of a Secret is kept, nor of what is not OLM's.
func TestSecrets(t *testing.T) {
	const text = `apiVersion: v1
items:
- apiVersion: v1
  data:
    password: c2VjcmV0
  kind: Secret
  metadata:
    labels: {olm.managed: "true"}
    name: s
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, namespace: a}
  data: {other: teams}
- apiVersion: v1
  kind: Namespace
  metadata:
    name: a
    uid: u1
kind: List
`
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text, string(asJSON), "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\n" +
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, uid: u1}\n"} {
		d, err := read(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if d.Secrets != 1 || len(d.Objects) != 1 || strings.Contains(fmt.Sprint(d.Objects[0].Value()), "c2VjcmV0") {
			t.Errorf("%d Secrets, %v", d.Secrets, keys(d))
		}
	}
}

// Items may be written in braces, and keys in quotes.
func TestFlow(t *testing.T) {
	d, err := read(t, "items:\n- {kind: Namespace, apiVersion: v1, metadata: {name: a, uid: u1}}\n- \"kind\": Namespace\n  \"apiVersion\": v1\n"+
		"  metadata: {name: b}\nkind: List\n---\nkind: List\nitems: [{kind: Namespace, apiVersion: v1, metadata: {name: c}}]\n")
	if err != nil || len(d.Objects) != 3 {
		t.Errorf("%v %v", err, d)
	}
}

// An empty List of one of OLM's kinds, as the API server sends it, says that there is none. That of kubectl get says
// nothing, and neither does a List of Kubernetes' own kinds, whose items have no kind.
func TestEmptyList(t *testing.T) {
	const of = `"apiVersion":"operators.coreos.com/v1alpha1","kind":"SubscriptionList"`
	for text, want := range map[string]bool{
		`{` + of + `,"items":[],"metadata":{"resourceVersion":"9"}}`:                           true,
		"apiVersion: operators.coreos.com/v1alpha1\nitems: []\nkind: SubscriptionList\n":       true,
		"apiVersion: operators.coreos.com/v1alpha1\nitems:\nkind: SubscriptionList\n":          true,
		`{"apiVersion":"v1","kind":"List","items":[{` + of + `,"items":[]}]}`:                  true,
		`{"apiVersion":"v1","kind":"List","items":[]}`:                                         false,
		`{"apiVersion":"example.com/v1","kind":"SubscriptionList","items":[]}`:                 false,
		`{"apiVersion":"apps/v1","kind":"DeploymentList","items":[{"metadata":{"name":"a"}}]}`: false,
		`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"InstallPlanList","items":[]}`:   false,
	} {
		d, err := read(t, text)
		if err != nil || d.Has("Subscription") != want || d.Has("Deployment") {
			t.Errorf("%s: %v %v", text, err, d)
		}
	}
}

// Of two states of an object, the later one counts.
func TestStates(t *testing.T) {
	const state = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, uid: u, resourceVersion: %q, labels: {v: %q}}\n"
	for _, order := range [][]any{{"9", "old", "10", "new"}, {"10", "new", "9", "old"}} {
		d, err := read(t, fmt.Sprintf(state+"---\n"+state, order...))
		if err != nil || d.Get("Namespace", "", "a").Labels["v"] != "new" {
			t.Errorf("%v: %v %v", order, err, keys(d))
		}
	}
}

func TestCommand(t *testing.T) {
	command := dump.Command()
	for _, k := range dump.Kinds {
		resource := strings.TrimSuffix(strings.ToLower(k.Kind), "y") // NetworkPolicy: networkpolicies
		if !strings.Contains(command, " "+resource) && !strings.Contains(command, ","+resource) {
			t.Errorf("%s: no %s", command, k.Kind)
		}
	}
	if !strings.HasPrefix(command, "kubectl get namespaces,clusterserviceversions.operators.coreos.com,") ||
		!strings.Contains(command, ",ingresses.networking.k8s.io,services,") {
		t.Error(command)
	}
	if strings.Contains(command, "secrets") {
		t.Error("it asks for Secrets")
	}
	d, err := read(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, uid: u1}\n")
	if err != nil {
		t.Fatal(err)
	}
	if missing := dump.Command(d.Missing()...); strings.Contains(missing, "namespaces") ||
		!strings.Contains(missing, "clusterserviceversions.operators.coreos.com,operatorgroups") {
		t.Error(missing)
	}
}

// A dump of 200 MB needs little memory: what is not OLM's is dropped line by line, and equal specs of copied CSVs are
// there once.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("200 MB")
	}
	var pod, csv strings.Builder
	pod.WriteString("- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p\n    namespace: a\n  spec:\n    containers:\n")
	for i := range 200 {
		fmt.Fprintf(&pod, "    - name: c%d\n      image: registry.example.com/team/application:v%d\n", i, i)
	}
	csv.WriteString("  spec:\n    description: |\n")
	for range 300 {
		csv.WriteString("      - not an item of the list, although it begins like one\n")
	}
	r, w := io.Pipe()
	go func() {
		b := &bytes.Buffer{}
		written := 0
		flush := func() { n, _ := b.WriteTo(w); written += int(n) }
		b.WriteString("apiVersion: v1\nitems:\n")
		for i := 0; written < 200<<20; i++ {
			b.WriteString(pod.String())
			if i%40 == 0 {
				fmt.Fprintf(b, "- apiVersion: operators.coreos.com/v1alpha1\n  kind: ClusterServiceVersion\n  metadata:\n    name: x.v1\n    uid: u%d\n"+
					"    namespace: n%d\n    labels:\n      olm.copiedFrom: op\n%s", i, i, csv.String())
			}
			flush()
		}
		b.WriteString("kind: List\n")
		flush()
		w.Close()
	}()
	var peak uint64
	d, err := dump.Read(t.Context(), []string{"-"}, &watched{Reader: r, peak: &peak})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Objects) < 100 || d.Dropped < 5000 {
		t.Errorf("%d objects, %d dropped", len(d.Objects), d.Dropped)
	}
	if peak > 20<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
}

// watched reads, and looks at the memory that is in use at every 20 MB.
type watched struct {
	io.Reader
	peak    *uint64
	n, next int
}

func (w *watched) Read(p []byte) (int, error) {
	if w.n >= w.next {
		w.next += 20 << 20
		runtime.GC() // what is garbage depends on when it ran
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		*w.peak = max(*w.peak, m.HeapAlloc)
	}
	n, err := w.Reader.Read(p)
	w.n += n
	return n, err
}

// Any input is either read or refused with a *manifest.Error or an error of a path, and a dump that is read has no
// object twice.
func FuzzRead(f *testing.F) {
	data := string(recorded(f))
	for _, at := range []int{2000, 9000, 30000} {
		f.Add(data[:at])
	}
	f.Add("apiVersion: v1\nitems:\n- kind: List\n  items:\n  - kind: Namespace\n    apiVersion: v1\n    metadata: {name: a}\nkind: List\n")
	f.Add(`{"kind":"List","items":[{"kind":"List","items":[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}]}]}`)
	f.Add("kind: Namespace\napiVersion: v1\nmetadata:\n  name: a\n---\n{}\n...\n- a\nitems: []\n")
	f.Add("items:\n  - a\n - b\nitems:\nkind: List")
	f.Fuzz(func(t *testing.T, text string) {
		fuzztest.Limit(t, len(text))
		d, err := dump.Read(t.Context(), []string{"-"}, strings.NewReader(text))
		if err != nil {
			if _, ok := errors.AsType[*manifest.Error](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		var seen []string
		for _, o := range d.Objects {
			seen = append(seen, o.Key())
			if o.Name == "" || o.Kind == "Secret" || o.Value()["kind"] != o.Kind {
				t.Errorf("%q", o.Key())
			}
		}
		slices.Sort(seen)
		if len(slices.Compact(seen)) != len(d.Objects) {
			t.Error("an object is there twice")
		}
	})
}

// Objects that no cluster has made are no dump: one line, and what is for them.
func TestNoDump(t *testing.T) {
	_, err := read(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n")
	if err == nil || !strings.Contains(err.Error(), "has no uid, as all objects") || !strings.Contains(manifest.HintOf(err), "olmgen check") {
		t.Errorf("%v: %s", err, manifest.HintOf(err))
	}
}
