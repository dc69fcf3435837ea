package rehearse

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

const subscription = `apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: a, namespace: ns}
spec: {name: a, channel: stable, source: cat, sourceNamespace: olm}
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A Subscription to a catalog of unknown content is left out, and said, unless it is known what comes of it: the operator
// is installed, the catalog is not in the cluster, or nobody answers for it.
func TestWithhold(t *testing.T) {
	live := func(text string) string {
		return strings.Replace(text, "metadata: {", "metadata: {uid: "+text[len(text)-6:len(text)-3]+"-uid, ", 1)
	}
	catalog := func(state string) string {
		return "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {uid: c, name: cat, namespace: olm}\n" +
			"spec: {sourceType: grpc, image: x}\nstatus: {connectionState: {lastObservedState: " + state + "}}\n"
	}
	for _, test := range []struct {
		name, dump, content string
		unknown             bool
	}{
		{"nothing is known", "", "", true},
		{"the content is given", "", "olm/cat=", false},
		{"the content of all is given", "", "=", false},
		{"the catalog answers", catalog("READY"), "", true},
		{"nobody answers", catalog("TRANSIENT_FAILURE"), "", false},
		{"the cluster has no catalog", "apiVersion: v1\nkind: Namespace\nmetadata: {uid: n, name: ns}\n", "", false},
		{"it is installed", catalog("READY") + "---\n" + live(subscription) + "status: {installedCSV: a.v1}\n", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Request{Source: source.Options{Offline: true, Warn: t.Logf}}
			if test.content != "" {
				dir := filepath.Dir(write(t, "catalog.yaml", "schema: olm.package\nname: a\ndefaultChannel: stable\n"))
				r.Catalogs = []string{strings.TrimPrefix(test.content+dir, "=")}
			}
			if test.dump != "" {
				r.Dumps = []string{write(t, "dump.yaml", test.dump)}
			}
			if err := r.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := r.State(t.Context(), write(t, "tree.yaml", subscription))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(s.left) > 0; got != test.unknown || len(s.applied) == 0 != test.unknown {
				t.Errorf("left %v, applied %v", s.left, lists.Map(s.applied, (*manifest.Object).Identity))
			}
		})
	}
}

// The tree of one cluster is played.
func TestClusters(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		at := filepath.Join(dir, "clusters", name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"sub.yaml": subscription, "kustomization.yaml": "resources: [sub.yaml]\n"} {
			if err := os.WriteFile(filepath.Join(at, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := &Request{}
	if _, err := r.State(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "2 clusters are in the tree") {
		t.Error(err)
	}
	if s, err := r.State(t.Context(), filepath.Join(dir, "clusters", "a")); err != nil || len(s.left) != 1 {
		t.Error(err)
	}
}

// A CSV that flaps agrees with each state that it was in, but success; what is not known is not compared.
func TestDeviations(t *testing.T) {
	csv := func(name, phase, reason string) Status {
		return Status{Kind: "ClusterServiceVersion", Namespace: "ns", Name: name, Phase: phase, Reason: reason}
	}
	c := &Course{Final: []Status{csv("same", "Succeeded", "x"), csv("flaps", "Pending", "y"), csv("fails", "Failed", "z"),
		csv("unknown", "Failed", "z"), csv("more", "Succeeded", "x")},
		seen: map[string][]Status{"CSV ns/flaps": {csv("flaps", "Failed", "z")}, "CSV ns/fails": {csv("fails", "Succeeded", "x")}}}
	r := &predict.Report{CSVs: []predict.CSV{{Namespace: "ns", Name: "same", Phase: "Succeeded", Reason: "x"},
		{Namespace: "ns", Name: "flaps", Phase: "Failed", Reason: "z"}, {Namespace: "ns", Name: "fails", Phase: "Succeeded", Reason: "x"},
		{Namespace: "ns", Name: "unknown", Unknown: "?"}, {Namespace: "ns", Name: "missing", Phase: "Pending", Reason: "w"}}}
	got := lists.Map(deviations("s", *c, r, nil), func(d Deviation) string { return d.Object + "|" + d.Played + "|" + d.Predicted })
	want := "CSV ns/fails|Failed: z|Succeeded: x CSV ns/missing||Pending: w CSV ns/more|Succeeded: x|"
	if strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
}

// A case has no names of its cluster; those of Kubernetes, OLM and operators stay.
func TestAnonymous(t *testing.T) {
	read := func(text string) *manifest.Object {
		o, err := manifest.ReadOne("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	s := &State{request: &Request{}, applied: []*manifest.Object{read("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: op-sa, namespace: bank}\n"),
		read("apiVersion: shop.example.com/v1\nkind: Widget\nmetadata: {name: vault, namespace: bank}\n"),
		read("apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system}\n")}}
	got := s.anonymous()("CSV bank/op.v1: vault, banker, op-sa, kube-system")
	if got != "CSV name-1/op.v1: name-2, banker, op-sa, kube-system" {
		t.Error(got)
	}
}

// A ClusterExtension is never left out in silence: without OLM v1 a person must look at the report, unless that is
// allowed.
func TestNotPlayed(t *testing.T) {
	r := &Request{}
	s, err := r.State(t.Context(), write(t, "tree.yaml", "apiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\n"+
		"metadata: {name: web}\nspec: {namespace: web, source: {sourceType: Catalog, catalog: {packageName: web}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	report := &Report{list: (&Player{}).findings(&Course{}, s)}
	if len(s.applied) > 0 || len(report.list) != 1 || !report.Meets(false) || report.Meets(true) ||
		report.list[0].Description() != "ClusterExtension web: it is not played: OLM v1 does not run" {
		t.Errorf("applied %v, findings %v", s.applied, report.list)
	}
}

// The programs of OLM come from its image, by digest.
func TestFetch(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("programs of images are for linux/amd64")
	}
	t.Setenv("OLMGEN_TOOLS", t.TempDir())
	registry, err := catalog.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Stop()
	dir := t.TempDir()
	for _, name := range []string{"usr/bin/olm", "usr/bin/catalog", "etc/passwd"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	image, err := registry.PushBundle("olm", dir)
	if err != nil {
		t.Fatal(err)
	}
	o := source.Options{InsecureRegistries: []string{registry.Address}}
	if err := Fetch(t.Context(), strings.Split(image, "@")[0], o); err == nil || !strings.Contains(err.Error(), "@sha256:") {
		t.Error(err)
	}
	if err := Fetch(t.Context(), image, o); err != nil {
		t.Fatal(err)
	}
	if list := Find("", "", false); list[3].Path != filepath.Join(Build(), "olm") || list[4].Path == "" || list[0].Path != "" {
		t.Error(list)
	}
}

// Programs come from the directory that is given, and what is missing is named.
func TestFind(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	t.Setenv("OLMGEN_TOOLS", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	list := Find(dir, "", false)
	said, complete := Setup(list)
	if _, err := Bin(t.TempDir(), list); err == nil || complete || strings.Count(said, "missing") != 4 ||
		err.Error() != "programs are missing: kube-apiserver, kube-controller-manager, olm and catalog" {
		t.Errorf("%v\n%s", err, said)
	}
}
