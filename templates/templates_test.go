package templates

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/manifest"
)

type (
	object = map[string]any
	list   = []any
)

// example is a view of a template with the object it must make.
type example struct {
	template string
	view     object
	want     any // an object, or the list of a patch
}

// examples gives views of every template: x and y are the texts of single fields, a and b those inside lists and maps, b as a key too.
func examples(x, y, a, b string) []example {
	labels := map[string]string{"label": a, b: "x" + b}
	wantLabels := object{"label": a, b: "x" + b}
	rules := list{object{"verbs": list{a, b}, "apiGroups": list{""}}, object{"verbs": list{}, "resourceNames": list{b, a}}}
	subjects := list{object{"kind": "ServiceAccount", "name": a, "namespace": b}}
	spec := object{"text": a, b: list{a, b, object{"in": b, b: object{}}, list{a, list{b}}}, "map": object{"deep": object{b: a}}, "empty": object{}, "none": list{}, "number": 3, "yes": true}
	wantSpec := object{"text": a, b: list{a, b, object{"in": b, b: object{}}, list{a, list{b}}}, "map": object{"deep": object{b: a}}, "empty": object{}, "none": list{}, "number": 3.0, "yes": true}

	meta := object{"name": x, "namespace": y, "labels": wantLabels, "annotations": wantLabels}
	without := func(fields ...string) object {
		m := maps.Clone(meta)
		for _, f := range fields {
			delete(m, f)
		}
		return m
	}
	of := func(apiVersion, kind string, meta, rest object) object {
		o := object{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
		maps.Copy(o, rest)
		return o
	}
	role := func(kind string) object {
		return object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": y}
	}
	const rbac, olm = "rbac.authorization.k8s.io/v1", "operators.coreos.com/v1alpha1"
	full := object{"Name": x, "Namespace": y, "Labels": labels, "Annotations": labels}
	view := func(more object) object {
		v := maps.Clone(full)
		maps.Copy(v, more)
		return v
	}
	return []example{
		{"aggregated-clusterrole.yaml", view(object{"Selectors": list{object{"matchLabels": object{b: a}}}}),
			of(rbac, "ClusterRole", without("namespace", "annotations"), object{"aggregationRule": object{"clusterRoleSelectors": list{object{"matchLabels": object{b: a}}}}})},
		{"aggregated-clusterrole.yaml", view(object{"Selectors": list(nil)}), of(rbac, "ClusterRole", without("namespace", "annotations"), nil)},
		{"api-clusterrole.yaml", view(object{"Rules": rules}), of(rbac, "ClusterRole", without("namespace", "annotations"), object{"rules": rules})},
		{"apiservice.yaml", view(object{"CABundle": x, "Group": x, "Version": y, "Service": y, "Port": int32(443)}),
			of("apiregistration.k8s.io/v1", "APIService", without("namespace"), object{"spec": withText(object{"group": x, "version": y, "groupPriorityMinimum": 2000.0, "versionPriority": 15.0,
				"service": object{"name": y, "namespace": y, "port": 443.0}}, "caBundle", x)})},
		{"catalogsource.yaml", view(object{"Image": y, "Publisher": y + "!", "Poll": true}),
			of(olm, "CatalogSource", without("labels", "annotations"), object{"spec": object{"displayName": x, "image": y, "publisher": y + "!", "sourceType": "grpc",
				"grpcPodConfig": object{"securityContextConfig": "restricted"}, "updateStrategy": object{"registryPoll": object{"interval": "60m"}}}})},
		{"catalogsource.yaml", view(object{"Image": y, "Publisher": "", "Poll": false}),
			of(olm, "CatalogSource", without("labels", "annotations"), object{"spec": object{"displayName": x, "image": y, "sourceType": "grpc", "grpcPodConfig": object{"securityContextConfig": "restricted"}}})},
		{"certificate.yaml", view(object{"Secret": y, "Hosts": []string{a, b}, "Issuer": object{"Kind": x, "Name": y}}),
			of("cert-manager.io/v1", "Certificate", without("annotations"), object{"spec": object{"dnsNames": list{a, b}, "duration": "17520h0m0s", "renewBefore": "24h0m0s", "secretName": y,
				"usages": list{"server auth"}, "issuerRef": object{"group": "cert-manager.io", "kind": x, "name": y}}})},
		{"chart.yaml", object{"Name": x, "Version": y, "AppVersion": y, "Description": x},
			object{"apiVersion": "v2", "type": "application", "name": x, "version": y, "appVersion": y, "description": x}},
		{"clusterextension.yaml", view(object{"Config": object{b: a, "deploymentConfig": spec}, "ServiceAccount": x + "!", "Channels": []string{a, b}, "Package": y, "UpgradeConstraintPolicy": x + "!", "Version": y + "!"}),
			of("olm.operatorframework.io/v1", "ClusterExtension", object{"name": x}, object{"spec": object{"config": object{"configType": "Inline", "inline": object{b: a, "deploymentConfig": wantSpec}},
				"namespace": y, "serviceAccount": object{"name": x + "!"},
				"source": object{"sourceType": "Catalog", "catalog": object{"channels": list{a, b}, "packageName": y, "upgradeConstraintPolicy": x + "!", "version": y + "!"}}}})},
		{"clusterextension.yaml", view(object{"Config": nil, "ServiceAccount": "", "Channels": nil, "Package": y, "UpgradeConstraintPolicy": "", "Version": ""}),
			of("olm.operatorframework.io/v1", "ClusterExtension", object{"name": x}, object{"spec": object{"namespace": y, "source": object{"sourceType": "Catalog", "catalog": object{"packageName": y}}}})},
		{"clusterrole.yaml", view(object{"Rules": rules}), of(rbac, "ClusterRole", without("namespace", "annotations"), object{"rules": rules})},
		{"clusterrolebinding.yaml", view(object{"Role": y, "Subjects": subjects}),
			of(rbac, "ClusterRoleBinding", without("namespace", "annotations"), object{"roleRef": role("ClusterRole"), "subjects": subjects})},
		{"clusterserviceversion.yaml", view(object{"Spec": manifest.Text(manifest.Block(spec, 2))}), of(olm, "ClusterServiceVersion", meta, object{"spec": wantSpec})},
		{"clusterserviceversion.yaml", object{"Name": x, "Namespace": y, "Labels": nil, "Annotations": nil, "Spec": spec},
			of(olm, "ClusterServiceVersion", without("labels", "annotations"), object{"spec": wantSpec})},
		{"copied-clusterserviceversion-stub.yaml", view(object{"Spec": spec}), of(olm, "ClusterServiceVersion", meta, object{"spec": wantSpec})},
		{"deployment.yaml", view(object{"Spec": spec}), of("apps/v1", "Deployment", meta, object{"spec": wantSpec})},
		{"imagedigestmirrorset.yaml", object{"Name": x, "Mirrors": list{object{"source": a, "mirrors": list{b, a}}}},
			of("config.openshift.io/v1", "ImageDigestMirrorSet", object{"name": x}, object{"spec": object{"imageDigestMirrors": list{object{"source": a, "mirrors": list{b, a}}}}})},
		{"imagetagmirrorset.yaml", object{"Name": x, "Mirrors": list{object{"source": a, "mirrors": list{b, a}}}},
			of("config.openshift.io/v1", "ImageTagMirrorSet", object{"name": x}, object{"spec": object{"imageTagMirrors": list{object{"source": a, "mirrors": list{b, a}}}}})},
		{"issuer.yaml", full, of("cert-manager.io/v1", "Issuer", without("annotations"), object{"spec": object{"selfSigned": object{}}})},
		{"kustomization.yaml", object{"Resources": []string{a, b}}, object{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list{a, b}}},
		{"kustomization.yaml", object{"Resources": []string(nil)}, object{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}},
		{"kustomization-channel.yaml", object{"Resources": []string{a, b}, "Name": "", "Namespace": ""}, object{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list{a, b}}},
		{"kustomization-channel.yaml", object{"Resources": []string{a}, "Name": x + "!", "Namespace": y}, object{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list{a},
			"patches": list{object{"path": "patch-channel.yaml", "target": object{"group": "operators.coreos.com", "kind": "Subscription", "name": x + "!", "namespace": y, "version": "v1alpha1"}}}}},
		{"patch-channel.yaml", object{"Channel": x}, list{object{"op": "replace", "path": "/spec/channel", "value": x}}},
		{"namespace.yaml", full, of("v1", "Namespace", without("namespace"), nil)},
		{"namespace.yaml", object{"Name": y, "Labels": map[string]string{}, "Annotations": map[string]string{}}, of("v1", "Namespace", object{"name": y}, nil)},
		{"operatorcondition.yaml", view(object{"Deployments": []string{a, b}, "ServiceAccounts": []string{b, a}}),
			of("operators.coreos.com/v2", "OperatorCondition", without("labels", "annotations"), object{"spec": object{"deployments": list{a, b}, "serviceAccounts": list{b, a}}})},
		{"operatorgroup.yaml", view(object{"ProvidedAPIs": "", "ServiceAccount": "", "Static": false, "Selector": nil, "TargetNamespaces": nil}),
			of("operators.coreos.com/v1", "OperatorGroup", without("labels", "annotations"), object{"spec": object{"upgradeStrategy": "Default"}})},
		{"operatorgroup.yaml", view(object{"ProvidedAPIs": x + "!", "ServiceAccount": y + "!", "Static": true, "Selector": object{"matchLabels": object{b: a}}, "TargetNamespaces": []string{a, b}}),
			of("operators.coreos.com/v1", "OperatorGroup", object{"name": x, "namespace": y, "annotations": object{"olm.providedAPIs": x + "!"}}, object{"spec": object{
				"selector": object{"matchLabels": object{b: a}}, "serviceAccountName": y + "!", "staticProvidedAPIs": true, "targetNamespaces": list{a, b}, "upgradeStrategy": "Default"}})},
		{"role.yaml", view(object{"Rules": rules}), of(rbac, "Role", without("annotations"), object{"rules": rules})},
		{"rolebinding.yaml", view(object{"Role": y, "Subjects": subjects}), of(rbac, "RoleBinding", without("annotations"), object{"roleRef": role("Role"), "subjects": subjects})},
		{"service.yaml", view(object{"Spec": spec}), of("v1", "Service", meta, object{"spec": wantSpec})},
		{"serviceaccount.yaml", view(object{"Secrets": list{object{"name": a}}}), of("v1", "ServiceAccount", meta, object{"secrets": list{object{"name": a}}})},
		{"serviceaccount.yaml", view(object{"Secrets": nil}), of("v1", "ServiceAccount", meta, nil)},
		{"subscription.yaml", view(object{"Channel": x + "!", "Config": spec, "Approval": y, "Package": x, "Source": y, "SourceNamespace": x, "StartingCSV": y + "!"}),
			of(olm, "Subscription", without("labels", "annotations"), object{"spec": object{"channel": x + "!", "config": wantSpec, "installPlanApproval": y, "name": x, "source": y,
				"sourceNamespace": x, "startingCSV": y + "!"}})},
		{"subscription.yaml", view(object{"Channel": "", "Config": nil, "Approval": y, "Package": x, "Source": y, "SourceNamespace": x, "StartingCSV": ""}),
			of(olm, "Subscription", without("labels", "annotations"), object{"spec": object{"installPlanApproval": y, "name": x, "source": y, "sourceNamespace": x}})},
		{"tenant-rolebinding.yaml", view(object{"Role": y, "Subjects": subjects}), of(rbac, "RoleBinding", without("annotations"), object{"roleRef": role("ClusterRole"), "subjects": subjects})},
		// the kind is one of two that the code chooses, never a bundle's text
		{"webhookconfiguration.yaml", view(object{"Kind": "ValidatingWebhookConfiguration", "Webhooks": list{object{"name": a, b: list{b}}}}),
			of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", without("namespace"), object{"webhooks": list{object{"name": a, b: list{b}}}})},
	}
}

// withText adds a field that a template leaves out where it is empty.
func withText(m object, key, text string) object {
	if text != "" {
		m[key] = text
	}
	return m
}

// checkExamples executes every template with hostile texts and compares what it makes with what went in.
func checkExamples(t *testing.T, s *Set, a, b string) {
	t.Helper()
	for _, e := range examples(a, b, a, b) {
		text, got := execute(t, s, e)
		if diff := cmp.Diff(e.want, got); diff != "" {
			t.Errorf("%s with %q and %q (-want +got):\n%s\n%s", e.template, a, b, diff, text)
		}
	}
	// single fields are names and such: str prints them on one line, where Encode would print a text of several as a block
	one := strings.NewReplacer("\n", "\\n")
	for _, e := range examples(one.Replace(a), one.Replace(b), a, b) {
		text, got := execute(t, s, e)
		if again := encode(got); again != text {
			t.Errorf("%s with %q and %q is not in olmgen's form:\n%s\nwant\n%s", e.template, a, b, text, again)
		}
	}
}

func encode(v any) string {
	if l, ok := v.(list); ok {
		return string(printList(l))
	}
	return string(manifest.Encode(v.(object)))
}

func execute(t *testing.T, s *Set, e example) (string, any) {
	t.Helper()
	text, err := s.Execute(e.template, e.view)
	if err != nil {
		t.Fatalf("%s: %v", e.template, err)
	}
	var got any
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatalf("%s: %v\n%s", e.template, err, text)
	}
	return string(text), got
}

func load(t testing.TB, overlay fstest.MapFS) *Set {
	t.Helper()
	s, err := Load(overlay)
	if overlay == nil {
		s, err = Load(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryTemplateHasAnExample(t *testing.T) {
	have := map[string]bool{}
	for _, x := range examples("x", "y", "a", "b") {
		have[x.template] = true
	}
	if diff := cmp.Diff(Names(), slices.Sorted(maps.Keys(have))); diff != "" {
		t.Errorf("templates and their examples (-templates +examples):\n%s", diff)
	}
}

var hostile = []string{
	"plain", "", " ", "null", "~", "true", "no", "1", "0x1F", "1e3", "017", "1_000", ".inf", "2026-01-02", "12:30:00", "=", "<<",
	"a: b", "a #b", "#", "- a", "-", "---", "--- a", "...", "? a", ": ", "a:", "[a]", "{a: b}", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a",
	`"`, "'", `\`, `a"b'c\d`, "a\tb", "\ta", "a\n", "\na", "a\nb", "a\n\n", "  a\nb\n", "a\r\nb", "\n", "\n\n", "\x00", "\x7f", "\u0085", "\u2028", "\ufeff", "😀", "é",
	"{{ .Name }}", "name: x\nnamespace: y", "x\n  labels: {}", strings.Repeat("long ", 300), strings.Repeat("k", 1100), "a\n" + strings.Repeat(" ", 200) + "b",
}

func TestHostileText(t *testing.T) {
	s := load(t, nil)
	for i, a := range hostile {
		checkExamples(t, s, a, hostile[(i*7+3)%len(hostile)])
	}
}

func FuzzTemplates(f *testing.F) {
	for i, a := range hostile {
		f.Add(a, hostile[(i*5+1)%len(hostile)])
	}
	s := load(f, nil)
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || len(a)+len(b) > 1<<14 {
			t.Skip("what a bundle's JSON holds is UTF-8")
		}
		checkExamples(t, s, a, b)
	})
}

// Same view, same bytes: with fresh maps, whose order is another each time.
func TestExecuteTwice(t *testing.T) {
	for i, x := range examples("x", "y", "a", "b") {
		first, err := load(t, nil).Execute(x.template, x.view)
		if err != nil {
			t.Fatal(err)
		}
		second, err := load(t, nil).Execute(x.template, examples("x", "y", "a", "b")[i].view)
		if err != nil || string(first) != string(second) {
			t.Errorf("%s: error %v, first\n%s\nthen\n%s", x.template, err, first, second)
		}
	}
}

func TestFunctionsArePure(t *testing.T) {
	all := sprig.TxtFuncMap()
	for _, name := range impure {
		if _, ok := all[name]; !ok {
			t.Errorf("sprig has no %s: is it a slip of the pen?", name)
		}
		_, err := Load(fstest.MapFS{"role.yaml": {Data: []byte("a: b\nname: {{ " + name + " }}\n")}})
		if want := `function "` + name + `" not defined`; err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "role.yaml:2:") {
			t.Errorf("%s: error %v, want %q on line 2", name, err, want)
		}
	}
	// sprig's own list of what is not hermetic
	hermetic, ours := sprig.HermeticTxtFuncMap(), Functions()
	for name := range all {
		if _, ok := hermetic[name]; !ok && ours[name] != nil {
			t.Errorf("%s can be called", name)
		}
	}
	for name := range ours {
		for _, prefix := range []string{"rand", "gen", "env", "date", "must_date"} {
			if strings.HasPrefix(strings.ToLower(name), prefix) {
				t.Errorf("%s can be called", name)
			}
		}
	}
}

// Embedded templates call str and yaml only, so nothing reaches the output unquoted but what the code chooses.
func TestEmbeddedTemplatesQuote(t *testing.T) {
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range actions(string(text)) {
			word, _, _ := strings.Cut(action, " ")
			switch word {
			case "str", "yaml", "with", "if", "end", "/*":
			default:
				if action != ".Port" && action != ".Kind" {
					t.Errorf("%s: {{ %s }}", name, action)
				}
			}
		}
	}
}

// actions gives what stands between {{ and }}.
func actions(text string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, "{{")
		if !ok {
			return out
		}
		action, after, _ := strings.Cut(rest, "}}")
		out = append(out, strings.TrimSpace(strings.Trim(action, "-")))
		text = after
	}
}

func TestEmbeddedTemplatesParseWithTheirFunctionsOnly(t *testing.T) {
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		only := template.FuncMap{"str": manifest.Scalar, "yaml": func(int, any) string { return "" }}
		if _, err := template.New(name).Funcs(only).Parse(string(text)); err != nil {
			t.Error(err)
		}
	}
}

// A missing field of a view is an error, not "<no value>".
func TestMissingField(t *testing.T) {
	_, err := load(t, nil).Execute("issuer.yaml", object{"Name": "a"})
	var e *manifest.Error
	if !errors.As(err, &e) || e.File != "issuer.yaml" || !strings.Contains(e.Msg, "Namespace") {
		t.Errorf("error %v, want one that names issuer.yaml and Namespace", err)
	}
	if _, err := load(t, nil).Execute("none.yaml", nil); err == nil || !strings.Contains(err.Error(), "no template none.yaml") {
		t.Errorf("error %v for a template that is none", err)
	}
}

func TestOverlayIsRefused(t *testing.T) {
	for _, c := range []struct{ name, file, text, want, hint string }{
		{name: "unknown name", file: "roles.yaml", text: "a: b\n", want: "roles.yaml: no template of that name", hint: "role.yaml"},
		{name: "unclosed action", file: "role.yaml", text: "kind: Role\nname: {{ .Name\n", want: "unclosed action started at role.yaml:2"},
		{name: "unknown function", file: "role.yaml", text: "kind: Role\n\nname: {{ shell .Name }}\n", want: `role.yaml:3: function "shell" not defined`},
		{name: "no end", file: "role.yaml", text: "{{ if .Name }}\nkind: Role\n", want: "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(fstest.MapFS{c.file: {Data: []byte(c.text)}})
			var e *manifest.Error
			if !errors.As(err, &e) || e.File != c.file || !strings.Contains(err.Error(), c.want) || !strings.Contains(e.Hint(), c.hint) {
				t.Errorf("error %v with the hint %q, want %q", err, e.Hint(), c.want)
			}
		})
	}
}

func TestOverlayOutputIsRefused(t *testing.T) {
	const good = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: x\n"
	for _, c := range []struct{ name, text, want string }{
		{"a field that the view has not", good + "  x: {{ .Nonsense }}\n", `role.yaml:5:`},
		{"two objects", good + "---\n" + good, "role.yaml: the template must yield one object, not 2"},
		{"no object", "# nothing\n", "role.yaml: the template must yield one object, not 0"},
		{"a List of two", "apiVersion: v1\nkind: RoleList\nitems:\n- {apiVersion: v1, kind: Role, metadata: {name: a}}\n- {apiVersion: v1, kind: Role, metadata: {name: b}}\n", "the template must yield an object with apiVersion, kind and metadata.name"},
		{"no name", "apiVersion: v1\nkind: Role\n", "role.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"no apiVersion", "kind: Role\nmetadata: {name: x}\n", "role.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"no kind", "apiVersion: v1\nmetadata: {name: x}\n", "role.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"a list", "- a\n", "role.yaml:1: a Kubernetes object must be a mapping"},
		{"no YAML", good + "rules: [\n", "what the template yields is no YAML: role.yaml:"},
		{"a tab", "apiVersion: v1\nkind: Role\nmetadata:\n\tname: x\n", "what the template yields is no YAML: role.yaml:4"},
		{"a key twice", good + "rules: []\nrules: []\n", "role.yaml:6: rules: the key occurs twice in what the template yields"},
		{"a key twice deep inside", good + "  labels: {a: b, a: c}\n", "the key occurs twice in what the template yields"},
		{"a name that is a number", "apiVersion: v1\nkind: Role\nmetadata: {name: 1}\n", `role.yaml:3: metadata.name: must be text`},
		{"fail", good + `x: {{ fail "not so" }}`, "not so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, fstest.MapFS{"role.yaml": {Data: []byte(c.text)}}).Execute("role.yaml", object{"Name": "n"})
			var e *manifest.Error
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) || e.File != "role.yaml" {
				t.Errorf("error %v, want %q; made\n%s", err, c.want, got)
			}
		})
	}
}

// What a user's template makes is printed in olmgen's form, whatever form it was given.
func TestOverlay(t *testing.T) {
	overlay := fstest.MapFS{
		"README.md":     {Data: []byte("{{ not read")},
		"sub/role.yaml": {Data: []byte("{{ not read")},
		"role.yaml": {Data: []byte(`# a comment
{"kind": Role, 'apiVersion': "rbac.authorization.k8s.io/v1",
 metadata: {labels: {{ .Labels | toJson }}, namespace: {{ .Namespace | upper | quote }}, name: {{ str .Name }}}, rules: [], extra: {b: 1.50, a: "on"}}
`)},
		"kustomization.yaml": {Data: []byte("resources:{{ yaml 2 .Resources }}\nnamePrefix: x-\nkind: Kustomization\n")},
	}
	s := load(t, overlay)
	for _, c := range []struct {
		name string
		view object
		want string
	}{
		{"role.yaml", object{"Name": "1", "Namespace": "ns", "Labels": map[string]string{"z": "true", "a": "x"}}, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: "1"
  namespace: NS
  labels:
    a: x
    z: "true"
extra:
  a: "on"
  b: 1.5
rules: []
`},
		{"kustomization.yaml", object{"Resources": []string{"b.yaml", "a.yaml"}}, `kind: Kustomization
namePrefix: x-
resources:
- b.yaml
- a.yaml
`},
		// the others stay olmgen's own
		{"issuer.yaml", object{"Name": "i", "Namespace": "ns", "Labels": map[string]string{}}, `apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: i
  namespace: ns
  labels: {}
spec:
  selfSigned: {}
`},
	} {
		got, err := s.Execute(c.name, c.view)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Every embedded template given as an overlay makes the same bytes: printing again changes nothing.
func TestEmbeddedTemplatesAsOverlay(t *testing.T) {
	overlay := fstest.MapFS{}
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		overlay[name] = &fstest.MapFile{Data: text}
	}
	own, theirs := load(t, nil), load(t, overlay)
	for _, x := range examples("name", "namespace", "a", "two\nlines: x") {
		want, err := own.Execute(x.template, x.view)
		if err != nil {
			t.Fatal(err)
		}
		got, err := theirs.Execute(x.template, x.view)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: error %v, (-own +overlay):\n%s", x.template, err, cmp.Diff(string(want), string(got)))
		}
	}
}
