package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
)

const twoOperators = "two-operators-in-one-group.yaml"

func chosen(t testing.TB, s *adopt.State, choice adopt.Selection) *adopt.State {
	t.Helper()
	s, err := s.Select(choice)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func names(operators []*adopt.Operator) (names []string) {
	for _, o := range operators {
		names = append(names, o.Package)
	}
	return names
}

func same(items []object) []object { return items }

func TestSelect(t *testing.T) {
	s := edited(t, twoOperators, same)
	memcached, porter := "memcached-operator", "porter-operator"
	for _, c := range []struct {
		choice adopt.Selection
		want   []string
		err    string
	}{
		{adopt.Selection{}, []string{memcached, porter}, ""},
		{adopt.Selection{Packages: []string{porter}}, []string{porter}, ""},
		{adopt.Selection{Packages: []string{"porter-operator.v1.0.0"}}, []string{porter}, ""},
		{adopt.Selection{Except: []string{porter}}, []string{memcached}, ""},
		{adopt.Selection{Packages: []string{porter, memcached}, Except: []string{porter}}, []string{memcached}, ""},
		{adopt.Selection{Namespaces: []string{"operator-ns"}}, []string{memcached, porter}, ""},
		{adopt.Selection{Namespaces: []string{"target-a"}}, nil, "namespace target-a has no operator"},
		{adopt.Selection{Except: []string{"portre"}}, nil, `the cluster has no operator "portre"`},
	} {
		got, err := s.Select(c.choice)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c.choice, err)
			}
			continue
		}
		if err != nil || !slices.Equal(names(got.All()), c.want) {
			t.Errorf("%+v: %v %v", c.choice, names(got.All()), err)
		}
	}
}

// A plan for one of two operators touches nothing of the other one, nor what both share but for its own label.
func TestPlanForOneOperator(t *testing.T) {
	for _, to := range generate.Profiles {
		s := chosen(t, edited(t, twoOperators, same), adopt.Selection{Packages: []string{"porter-operator"}})
		o := adopt.Options{To: to}
		plan := planOf(t, s, declared(t, s, o), o)
		for _, l := range plan.Lists {
			for _, kept := range []string{"memcached", " my-og ", "olm.og.my-og", "installplans.", "=my-og"} {
				if strings.Contains(strings.Join(l.Rows, "\n")+"\n", kept) {
					t.Errorf("%s: %s: %q", to, l.Name, l.Rows)
				}
			}
		}
		if leaves, rows := len(s.Leaving(to)) > 0, rowsOf(plan, "operators"); leaves && !slices.Equal(rows, []string{"porter-operator.v1.0.0 operator-ns porter-operator.operator-ns"}) || leaves != (rows != nil) {
			t.Errorf("%s: %q leaves", to, rows)
		}
	}
}

// What is declared for one of two operators in a group renders to nothing that they share, and is in the cluster.
func TestDeclareOneOperator(t *testing.T) {
	for _, name := range []string{"porter-operator", "memcached-operator"} {
		s := chosen(t, edited(t, twoOperators, same), adopt.Selection{Except: []string{name}})
		for _, to := range []generate.Profile{generate.ProfileOLM, generate.ProfilePlain} {
			objects := asMaps(t, declared(t, s, adopt.Options{To: to}))
			if len(objects) < 8 {
				t.Errorf("%d objects", len(objects))
			}
			for _, o := range objects {
				if strings.Contains(fmt.Sprint(in(o, "metadata")["name"]), "my-og") {
					t.Errorf("%s without %s: the file renders %s", to, name, in(o, "metadata")["name"])
				}
			}
			for _, c := range s.Verify(objects).Objects {
				unlike := c.Verdict == adopt.Differs && to == generate.ProfileOLM || c.Verdict == adopt.RenderedOnly
				if unlike || strings.Contains(c.Object, "my-og") || strings.Contains(c.Object, strings.TrimSuffix(name, "-operator")) {
					t.Errorf("%s without %s: %s %s: %s", to, name, c.Verdict, c.Object, c.Reason)
				}
			}
		}
	}
}

// An operator does not leave OLM while another one needs it that stays.
func TestDependants(t *testing.T) {
	required := func(property string) func([]object) []object {
		return func(items []object) []object {
			return change("ClusterServiceVersion", func(o object) {
				if strings.HasPrefix(fmt.Sprint(in(o, "metadata")["name"]), "memcached") {
					in(o, "metadata", "annotations")["operatorframework.io/properties"] = `{"properties":[` + property + `]}`
				}
			})(items)
		}
	}
	api := `"group":"porter.example.com","kind":"Porter","version":"v1"`
	for _, c := range []struct {
		what   string
		change func([]object) []object
		choice adopt.Selection
		refuse bool
	}{
		{"nothing", same, adopt.Selection{Packages: []string{"porter-operator"}}, false},
		{"an API", required(`{"type":"olm.gvk.required","value":{` + api + `}}`), adopt.Selection{Packages: []string{"porter-operator"}}, true},
		{"a package", required(`{"type":"olm.package.required","value":{"packageName":"porter-operator","versionRange":">0.0.1"}}`), adopt.Selection{Packages: []string{"porter-operator"}}, true},
		{"a constraint", required(`{"type":"olm.constraint","value":{"all":{"constraints":[{"gvk":{` + api + `}}]}}}`), adopt.Selection{Packages: []string{"porter-operator"}}, true},
		{"its own API", required(`{"type":"olm.gvk","value":{` + api + `}}`), adopt.Selection{Packages: []string{"porter-operator"}}, false},
		{"an API of an operator that nothing subscribes to", func(items []object) []object {
			items = slices.DeleteFunc(items, func(o object) bool {
				return o["kind"] == "Subscription" && strings.HasPrefix(fmt.Sprint(in(o, "spec")["name"]), "memcached")
			})
			return required(`{"type":"olm.gvk.required","value":{` + api + `}}`)(items)
		}, adopt.Selection{Packages: []string{"porter-operator"}}, false},
		{"both", required(`{"type":"olm.gvk.required","value":{` + api + `}}`), adopt.Selection{}, false},
		{"the one that needs it", required(`{"type":"olm.gvk.required","value":{` + api + `}}`), adopt.Selection{Except: []string{"porter-operator"}}, false},
	} {
		s := chosen(t, edited(t, twoOperators, c.change), c.choice)
		leaving := asMaps(t, declared(t, s, adopt.Options{}))
		_, err := adopt.NewPlan(s, leaving, leaving, adopt.Options{To: generate.ProfilePlain})
		if (err != nil) != c.refuse || err != nil && !strings.Contains(err.Error(), "memcached-operator.v0.0.1 stays with OLM and needs ") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// packageServer is the CSV that OLM's chart installs for its own extension API server.
var packageServer = object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
	"metadata": object{"name": "packageserver", "namespace": "olm", "uid": "packageserver", "labels": object{"olm.version": "v0.46.0"}},
	"spec": object{"displayName": "Package Server", "apiservicedefinitions": object{"owned": []any{object{"group": "packages.operators.coreos.com",
		"version": "v1", "kind": "PackageManifest", "name": "packagemanifests", "deploymentName": "packageserver", "containerPort": 5443}}}},
	"status": object{"phase": "Succeeded"}}

// OLM's own packageserver stays with OLM, with its OperatorGroup. It is said in one line, and no plan names it.
func TestPackageServer(t *testing.T) {
	group := object{"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": object{"name": "olm-operators", "namespace": "olm", "uid": "olm-operators"},
		"spec": object{"targetNamespaces": []any{"olm"}}, "status": object{"namespaces": []any{"olm"}}}
	condition := object{"apiVersion": "operators.coreos.com/v2", "kind": "OperatorCondition", "metadata": object{"name": "packageserver", "namespace": "olm"}}
	for _, added := range [][]object{{packageServer, group, condition}, {packageServer}} {
		before := edited(t, twoOperators, same)
		s := edited(t, twoOperators, func(items []object) []object { return append(items, added...) })
		if len(s.Findings) != len(before.Findings)+1 || !slices.Equal(names(s.All()), names(before.All())) {
			t.Errorf("%+v, operators %v", s.Findings, names(s.All()))
		}
		for _, to := range generate.Profiles {
			o := adopt.Options{To: to}
			page := planOf(t, s, declared(t, s, o), o).Markdown("plan.sh", "plan.back.sh")
			if strings.Contains(string(page), "packageserver") || strings.Contains(string(page), "olm-operators") {
				t.Errorf("%s:\n%s", to, page)
			}
		}
	}
}

// An operator that OLM does not run, or that cannot be rendered, is a comment and an error; the others are declared.
func TestRefusedOperators(t *testing.T) {
	fail := func(reason string) func([]object) []object {
		return change("ClusterServiceVersion", func(o object) {
			if strings.HasPrefix(fmt.Sprint(in(o, "metadata")["name"]), "porter") {
				in(o, "status")["phase"], in(o, "status")["reason"], in(o, "status")["message"] = "Failed", reason, "line one\nline two"
			}
		})
	}
	for _, c := range []struct {
		change  func([]object) []object
		comment string
	}{
		{fail("InterOperatorGroupOwnerConflict"), "# Namespace operator-ns. It is not adopted: OLM does not run it (InterOperatorGroupOwnerConflict): line one line two"},
		{fail("UnsupportedOperatorGroup"), "OLM does not run it (UnsupportedOperatorGroup)"},
		{change("ClusterServiceVersion", func(o object) {
			if strings.HasPrefix(fmt.Sprint(in(o, "metadata")["name"]), "porter") {
				in(o, "status")["phase"], in(o, "spec")["installModes"] = "Pending", []any{object{"type": "OwnNamespace", "supported": true}}
			}
		}), "the CSV does not support its OperatorGroup: MultiNamespace InstallModeType not supported"},
	} {
		s := printed(t, twoOperators, yaml.Marshal, c.change)
		out := string(declared(t, s, adopt.Options{To: generate.ProfilePlain}))
		if !strings.Contains(out, c.comment) || !slices.Equal(names(s.All()), []string{"memcached-operator"}) {
			t.Errorf("%v\n%s", names(s.All()), out)
		}
		if !slices.ContainsFunc(s.Findings, func(f findings.Finding) bool {
			return f.Rule == "refused" && f.Level == findings.Error && f.Line > 0 && strings.Contains(f.Object, "porter")
		}) {
			t.Errorf("%+v", s.Findings)
		}
		o := adopt.Options{To: generate.ProfilePlain}
		if page := string(planOf(t, s, []byte(out), o).Markdown("plan.sh", "plan.back.sh")); strings.Contains(page, "porter") {
			t.Errorf("the plan has it:\n%s", page)
		}
		if all := string(declared(t, chosen(t, s, adopt.Selection{Except: []string{"memcached-operator"}}), o)); !strings.Contains(all, "groups: []") {
			t.Errorf("%s", all)
		}
		s = chosen(t, s, adopt.Selection{})
		if list := s.Refuse(s.All()[0], "no bundle").FindingsWith(nil); findings.Count(list, findings.Error) != 2 {
			t.Errorf("%+v", list)
		}
	}
}
