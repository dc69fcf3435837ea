package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const head = "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\n"

// group is a declaration of one group with one bundle; more lines are fields of the bundle.
func group(lines ...string) string {
	return head + "groups:\n- namespace: operators\n  bundles:\n  - source: memcached\n" + indent(4, lines)
}

func indent(n int, lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.Repeat(" ", n) + l + "\n")
	}
	return b.String()
}

var badConfigs = []struct{ name, text, want, hint string }{
	{"nothing", "", "olmgen.yaml: is empty", "olmgen init"},
	{"only comments", "# to do\n---\n", "olmgen.yaml: is empty", "olmgen init"},
	{"a list", "- a\n", "olmgen.yaml:1: must be a mapping", ""},
	{"no YAML", "groups: [\n", "olmgen.yaml:1: not YAML: ", ""},
	{"a tab", "groups:\n\t- a\n", "olmgen.yaml:2: ", ""},
	{"two documents", group() + "---\n" + group(), "olmgen.yaml:7: a second YAML document", "put all operators below groups"},
	{"no kind at all", "groups: []\n", "not a RenderConfig: apiVersion and kind are missing", "start the file with apiVersion: olmgen.dev/v1alpha1"},
	{"another kind", "apiVersion: v1\nkind: ConfigMap\n", `olmgen.yaml:2: kind: is "ConfigMap", not RenderConfig`, "write kind: RenderConfig"},
	{"another version", "apiVersion: olmgen.dev/v2\nkind: RenderConfig\n", `olmgen.yaml:1: apiVersion: unknown value "olmgen.dev/v2"`, "write apiVersion: olmgen.dev/v1alpha1"},
	{"no groups", head, "groups: there is no group", "list a group with its namespace and bundles"},
	{"empty groups", head + "groups: []\n", "olmgen.yaml:3: groups: there is no group", "list a group"},
	{"groups is no list", head + "groups: {}\n", "olmgen.yaml:3: groups: has the wrong type: a mapping, want a list", ""},
	{"unknown field", head + "group:\n- namespace: a\n", "olmgen.yaml:3: group: no such field", "did you mean groups?"},
	{"a field of the defaults at the top", head + "suppress: [scope]\ngroups:\n- namespace: a\n", "olmgen.yaml:3: suppress: no such field",
		"write it as defaults.suppress or groups[].bundles[].suppress"},
	{"a field of the file in the defaults", head + "defaults: {olmVersion: v1.4}\ngroups:\n- namespace: a\n",
		"olmgen.yaml:3: defaults.olmVersion: no such field", "write it as olmVersion at the top of the file"},
	{"a field of a group in a bundle", group("installMode: AllNamespaces"), "groups[0].bundles[0].installMode: no such field",
		"write it as groups[].installMode"},
	{"unknown field in a group", head + "groups:\n- namespce: a\n", "olmgen.yaml:4: groups[0].namespce: no such field", "did you mean namespace?"},
	{"unknown field in a bundle", group("profil: olm"), "olmgen.yaml:7: groups[0].bundles[0].profil: no such field", "did you mean profile?"},
	{"a field's name in other case", group("Profile: olm"), "olmgen.yaml:7: groups[0].bundles[0].Profile: no such field", "did you mean profile?"},
	{"a field that is like no other", group("zzzzzzzz: olm"), "groups[0].bundles[0].zzzzzzzz: no such field", "known are allowUnsupported, certs"},
	{"unknown field deep inside", group("certs: {issuer: {knd: Issuer}}"), "groups[0].bundles[0].certs.issuer.knd: no such field", "did you mean kind?"},
	{"unknown field of the Subscription's config", group("config: {nodeSelectr: {}}"), "groups[0].bundles[0].config.nodeSelectr: no such field", "did you mean nodeSelector?"},
	{"a field twice", group("names: olm", "names: stable"), "olmgen.yaml:8: names: is given twice", "keep one of them"},
	{"a wrong type", group("convertCRDs: maybe"), "olmgen.yaml:7: groups[0].bundles[0].convertCRDs: has the wrong type: text, want true or false", ""},
	{"a number for text", head + "groups:\n- namespace: 1\n", "olmgen.yaml:4: groups[0].namespace: has the wrong type: a number, want text (quote it)", ""},
	{"text for a list", head + "groups:\n- namespace: a\n  targetNamespaces: b\n", "olmgen.yaml:5: groups[0].targetNamespaces: has the wrong type: text, want a list", ""},
	{"no namespace", head + "groups:\n- bundles: [{source: memcached}]\n", "groups[0].namespace: is missing", "say in which namespace the operators run"},
	{"no bundles", head + "groups:\n- namespace: a\n", "groups[0].bundles: the group has no operator", "list a bundle with its source"},
	{"no source", head + "groups:\n- namespace: a\n  bundles:\n  - name: x\n", "groups[0].bundles[0].source: is missing", "give a directory"},
	{"stdin as source", head + "groups:\n- namespace: a\n  bundles:\n  - source: '-'\n", `groups[0].bundles[0].source: "-": a RenderConfig cannot read standard input`, "name a file"},
	{"a source that is not there", head + "groups:\n- namespace: a\n  bundles:\n  - source: nowhere\n", "olmgen.yaml:6: groups[0].bundles[0]: ", "a source is a directory"},
	{"a source that is no bundle", head + "groups:\n- namespace: a\n  bundles:\n  - source: templates\n", "olmgen.yaml:6: groups[0].bundles[0]: templates: ", ""},
	{"one namespace twice", group() + "- namespace: operators\n  bundles:\n  - source: redis\n", `olmgen.yaml:7: groups[1].namespace: namespace "operators" has a group already, groups[0]`, "put the bundles of both into one group"},
	{"an operator twice", group() + "- namespace: other\n  targetNamespaces: [other]\n  bundles:\n  - source: memcached\n", "olmgen.yaml:10: groups[1].bundles[0]: has the same name as groups[0].bundles[0]: memcached", "give one of them another name"},
	{"an impossible name", group("name: a/b"), `groups[0].bundles[0].name: "a/b" cannot be the name of a directory`, ""},
	{"a bad namespace", strings.Replace(group(), "operators", "Operators", 1), `olmgen.yaml:4: groups[0].namespace: namespace "Operators" is not a valid namespace name`, ""},
	{"an unknown profile", group("profile: plian"), `olmgen.yaml:7: groups[0].bundles[0].profile: unknown value "plian"`, "did you mean plain? choose one of olm, plain"},
	{"an unknown default", head + "defaults: {names: old}\ngroups: [{namespace: a, bundles: [{source: memcached}]}]\n", `olmgen.yaml:3: defaults.names: unknown value "old"`, "stable, olm"},
	{"an unknown layout", head + "output: {layout: nested}\ngroups: [{namespace: a, bundles: [{source: memcached}]}]\n", `olmgen.yaml:3: output.layout: unknown value "nested"`, "choose one of flat"},
	{"an unknown install mode", strings.Replace(group(), "  bundles:", "  installMode: ownnamespace\n  bundles:", 1), `olmgen.yaml:5: groups[0].installMode: unknown value "ownnamespace"`, "did you mean OwnNamespace?"},
	{"targets that do not fit", strings.Replace(group(), "  bundles:", "  installMode: SingleNamespace\n  bundles:", 1), "olmgen.yaml:5: groups[0].installMode: SingleNamespace needs exactly one target namespace, not 0", "name one (groups[0].targetNamespaces)"},
	{"a mode that the operator lacks", strings.Replace(group(), "  bundles:\n  - source: memcached", "  targetNamespaces: [a, b]\n  bundles:\n  - source: redis", 1), "UnsupportedOperatorGroup: MultiNamespace InstallModeType not supported", "choose one of them, or other target namespaces (groups[0].installMode, groups[0].targetNamespaces)"},
	{"a selector for who knows what", strings.Replace(group(), "  bundles:", "  selector: {matchLabels: {a: b}}\n  bundles:", 1), "olmgen.yaml:5: groups[0].selector: no targetNamespaces are matched operatorgroups namespace selection: the namespaces behind a selector can't be known offline", "name them (groups[0].targetNamespaces)"},
	{"a bad selector", strings.Replace(group(), "  bundles:", "  targetNamespaces: [a]\n  selector: {matchExpressions: [{key: a, operator: Is}]}\n  bundles:", 1), `groups[0].selector.matchExpressions[0].operator: Invalid value: "Is"`, ""},
	{"a bad label", group() + "commonLabels: {a: '-b'}\n", "olmgen.yaml:7: commonLabels: Invalid value", ""},
	{"a label of OLM's", group() + "commonLabels: {olm.managed: 'false'}\n", `olmgen.yaml:7: commonLabels: OLM sets "olm.managed" itself`, "take another key"},
	{"an annotation of OLM's", group() + "commonAnnotations: {operators.coreos.com/x: z}\n", `commonAnnotations: OLM sets "operators.coreos.com/x" itself`, "take another key"},
	{"an empty patch", group() + "patches: [{target: {kind: Deployment}}]\n", "olmgen.yaml:7: patches[0]: has neither path nor patch", ""},
	{"a Subscription for another profile", group("subscription: {approval: Manual}"), "olmgen.yaml:7: groups[0].bundles[0].subscription: has no effect with profile olm", "leave it out: it is for profile subscription"},
	{"an unknown approval", group("profile: subscription", "subscription: {approval: manual}"), `groups[0].bundles[0].subscription.approval: unknown value "manual"`, "did you mean Manual?"},
	{"bindings for another profile", group("descoped: {bindAll: true}"), "olmgen.yaml:7: groups[0].bundles[0].descoped: has no effect with profile olm", "leave it out: it is for profile descoped"},
	{"an unknown split", group("profile: descoped", "descoped: {split: features}"), `groups[0].bundles[0].descoped.split: unknown value "features"`, "did you mean feature?"},
	{"an unknown default role", group("profile: descoped", "descoped: {aggregateTo: [view, viewer]}"), `groups[0].bundles[0].descoped.aggregateTo[1]: unknown value "viewer"`, "did you mean view?"},
	{"a mirror twice", group() + "mirrors:\n- {source: quay.io/a, mirror: r.local/a}\n- {source: quay.io/a, mirror: r.local/b}\n", "olmgen.yaml:9: mirrors[1]", ""},
	{"a mirror that is no image", group() + "mirrors: [{source: 'https://quay.io', mirror: r.local}]\n", "olmgen.yaml:7: mirrors[0].source: ", ""},
	{"two mirror maps", group() + "mirrors: [{source: quay.io, mirror: r.local}]\nmirrorMap: m.yaml\n", "olmgen.yaml:8: mirrorMap: is given together with mirrors", "keep one of them"},
	{"a patch whose metadata is a list", group() + "patches: [{patch: 'metadata: [a]', target: {kind: Deployment}}]\n", "olmgen.yaml:7: patches[0]: patch:1: metadata: must be a mapping", ""},
	{"a patch with a number for a label", group() + "patches: [{patch: 'metadata: {labels: {a: 1}}', target: {kind: Deployment}}]\n", "metadata.labels: a must be text: quote it", ""},
	{"a patch with a key twice", group() + "patches: [{patch: \"spec: {a: 1}\\nspec: {b: 1}\", target: {kind: Deployment}}]\n", "patches[0]: patch:2: spec: is given twice", "keep one of them"},
	{"a label that binds", group() + "commonLabels: {rbac.authorization.k8s.io/aggregate-to-admin: 'true'}\n", "olmgen.yaml:7: commonLabels: ", "patch the objects"},
	{"two profiles in a group", group() + "  - source: redis\n    profile: subscription\n    subscription: {catalogSource: {name: community-operators}}\n", "olmgen.yaml:7: groups[0].bundles[1]: memcached has the profile olm and redis the profile subscription", "give both one profile"},
	{"a directory that is none", group() + "output: {directory: '-'}\n", "olmgen.yaml:7: output.directory: \"-\" is not a directory", "leave it out for stdout"},
	{"half an issuer", group("certs: {provider: cert-manager, issuer: {}}"), "groups[0].bundles[0].certs.issuer: needs kind and name", "write it as"},
	{"a patch with a bad target", group() + "patches: [{patch: 'a: 1', target: {kind: '['}}]\n", "olmgen.yaml:7: patches[0]: target.kind: error parsing regexp", ""},
	{"a patch for nothing", group() + "patches: [{patch: '[{op: remove, path: /spec}]', target: {kind: Nothing}}]\n", "olmgen.yaml:7: patches[0]: patch: the patch selects no object", ""},
	{"a patch whose file is missing", group("patches: [{path: nowhere.yaml}]"), "olmgen.yaml:7: groups[0].bundles[0].patches[0]: ", ""},
	{"a patch that does not apply", group() + "patches: [{patch: '[{op: remove, path: /spec/nothing}]', target: {kind: Deployment}}]\n", "patches[0]: patch: Deployment memcached-controller: ", ""},
	{"a patch that renames", group() + "patches: [{patch: '[{op: replace, path: /metadata/name, value: x}]', target: {kind: Deployment}}]\n", "a patch cannot give it another identity", ""},
	{"templates that are not there", group("templates: nowhere"), "olmgen.yaml:7: groups[0].bundles[0].templates: ", ""},
	{"a template that does not parse", group("templates: templates"), "groups[0].bundles[0].templates: role.yaml:1: ", ""},
	{"a CA bundle that is not there", group("certs: {provider: user, secret: s, caBundleFile: nowhere.pem}"), "groups[0].bundles[0].certs.caBundleFile: nowhere.pem: ", ""},
	{"an issuer of no kind", group("certs: {provider: cert-manager, issuer: {kind: Clusterissuer, name: x}}"), `certs.issuer.kind: unknown value "Clusterissuer"`, "did you mean ClusterIssuer?"},
	{"a static API of no form", strings.Replace(group(), "  bundles:", "  staticProvidedAPIs: [Memcached]\n  bundles:", 1), `olmgen.yaml:5: groups[0].staticProvidedAPIs: static provided API "Memcached" is not of the form Kind.version.group`, "write it as in"},
	{"a group's name that is a role's", strings.Replace(group(), "  bundles:", "  name: cluster\n  bundles:", 1), `olmgen.yaml:5: groups[0].name: OperatorGroup name "cluster" would overwrite`, "give another name"},
	{"a namespace's name that is a role's", strings.Replace(group(), "operators", "cluster", 1), `olmgen.yaml:4: groups[0].namespace: OperatorGroup name "cluster" would overwrite`, "give another name"},
	{"a bad service account", strings.Replace(group(), "  bundles:", "  serviceAccount: A\n  bundles:", 1), `olmgen.yaml:5: groups[0].serviceAccount: service account name "A" is not a valid name`, ""},
	{"a target twice", strings.Replace(group(), "  bundles:", "  targetNamespaces: [a, a]\n  bundles:", 1), `olmgen.yaml:5: groups[0].targetNamespaces: target namespace "a" is given twice`, ""},
	{"a copy in the operator's namespace", strings.Replace(group(), "  bundles:", "  copiedCSVNamespaces: [operators]\n  bundles:", 1), "olmgen.yaml:5: groups[0].copiedCSVNamespaces: the operator's own namespace", ""},
	{"a bad namespace to bind in", group("profile: descoped", "descoped: {bindNamespaces: [A]}"), `olmgen.yaml:8: groups[0].bundles[0].descoped.bindNamespaces: namespace to bind in "A" is not a valid`, ""},
	{"an install mode that OLM v1 would ignore", strings.Replace(group("profile: olmv1"), "  bundles:", "  installMode: OwnNamespace\n  targetNamespaces: [a]\n  bundles:", 1),
		"olmgen.yaml:6: groups[0].targetNamespaces: OwnNamespace has one target namespace", "leave it out, or choose another install mode (groups[0].installMode)"},
	{"a default for no bundle", head + "defaults: {profile: subscription, names: olm}\ngroups: [{namespace: a, bundles: [{source: memcached}]}]\n", "olmgen.yaml:3: defaults.names: has no effect with profile subscription", "leave it out: it is for profile olm or plain"},
	{"mirrors for no bundle", group("profile: clusterextension") + "mirrors: [{source: quay.io, mirror: r.local}]\n", "olmgen.yaml:8: mirrors: has no effect with profile clusterextension", "leave it out"},
	{"a wrong default", head + "defaults: {certs: {provider: olm}, profile: olmv1}\ngroups: [{namespace: a, bundles: [{source: memcached}]}]\n", "olmgen.yaml:3: defaults.certs.provider: OLM v1 has no certificate provider", "choose cert-manager"},
	{"defaults of no bundle's provider", head + "defaults: {certs: {issuer: {kind: Issuer, name: a}}}\ngroups: [{namespace: a, bundles: [{source: memcached, certs: {provider: user}}]}]\n", "olmgen.yaml:3: defaults.certs.issuer: is for certificates of cert-manager only, and no bundle uses it", "choose it with certs.provider"},
	{"defaults of another provider", head + "defaults: {certs: {provider: service-ca, secret: a}}\ngroups: [{namespace: a, bundles: [{source: memcached, certs: {provider: user}}]}]\n", "olmgen.yaml:3: defaults.certs.secret: is for certificates of user only", "choose it with certs.provider"},
	{"a source with the name of a flag in it", head + "groups: [{namespace: a, bundles: [{source: ./op--version-1}]}]\n", "op--version-1: no such file or directory", "a source is a directory"},
	{"the wrong package", group("package: redis"), `olmgen.yaml:7: groups[0].bundles[0].package: memcached: the bundle is of package "memcached", not "redis"`, "name another source, or leave out the package, channel and version"},
	{"the wrong version", group("version: 9.9.9"), `olmgen.yaml:7: groups[0].bundles[0].version: memcached: the bundle is memcached.v1.0.0 of version 1.0.0, not "9.9.9"`, "name another source"},
	{"a channel of no use", group("channel: beta"), `olmgen.yaml:7: groups[0].bundles[0].channel: memcached: the bundle is in no channel, so not in "beta"`, "name another source"},
	{"CRDs of a chart that is none", group() + "output: {layout: flat, helmCRDs: crds}\n", "olmgen.yaml:7: output.helmCRDs: has no effect with layout flat", "it is for layout helm"},
	{"an operator in the directory of bindings", group("name: tenants", "profile: descoped", "descoped: {bindNamespaces: [base]}") + "output: {layout: cluster-scope}\n",
		"olmgen.yaml:10: output.layout: tenants would be in the directory tenants, which is that of an administrator's bindings", "give the operator another name"},
	{"a chart in the directory of bindings", group("name: All-Namespaces", "profile: descoped", "descoped: {bindAll: true}") + "output: {layout: helm}\n",
		"olmgen.yaml:10: output.layout: All-Namespaces would be in the directory all-namespaces", "give the operator another name"},
	{"an issuer for another provider", group("certs: {provider: service-ca, issuer: {kind: Issuer, name: x}}"), "olmgen.yaml:7: groups[0].bundles[0].certs.issuer: an issuer is for certificates of cert-manager only", "leave it out, or choose cert-manager (groups[0].bundles[0].certs.provider)"},
	{"a Secret for no provider", group("certs: {secret: s}"), "olmgen.yaml:7: groups[0].bundles[0].certs.secret: the name of a Secret is for certificates of the user only", "leave it out, or choose user (groups[0].bundles[0].certs.provider)"},
	{"two groups that conflict", group() + "- namespace: other\n  bundles:\n  - {source: memcached, name: second}\n", "olmgen.yaml:9: groups[1].bundles[0]: InterOperatorGroupOwnerConflict: OperatorGroups operators/operators (memcached) and other/other (second)", "give the groups different target namespaces"},
}

// Every broken declaration gives one error with file, line and what is wrong, and what to do about it.
func TestBadConfigs(t *testing.T) {
	dir := testDir(t)
	for _, c := range badConfigs {
		config, err := Read("olmgen.yaml", []byte(c.text))
		if err == nil {
			_, err = config.Render(context.Background(), Options{Dir: dir})
		}
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		hint := ""
		var h interface{ Hint() string }
		if errors.As(err, &h) {
			hint = h.Hint()
		}
		if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "olmgen.yaml:") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got %s\nwant %s", c.name, err, c.want)
		}
		if !strings.Contains(hint, c.hint) || strings.Contains(hint, "--") {
			t.Errorf("%s: hint %q, want %q", c.name, hint, c.hint)
		}
	}
}

// testDir holds two bundles, memcached and redis, and templates that do not parse.
func testDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, b := range []struct{ name, kind, multi string }{{"memcached", "Memcached", "true"}, {"redis", "Redis", "false"}} {
		replace := strings.NewReplacer("NAME", b.name, "KIND", b.kind, "MULTI", b.multi)
		write(t, filepath.Join(dir, b.name, "manifests", "csv.yaml"), replace.Replace(testCSV))
		write(t, filepath.Join(dir, b.name, "manifests", "crd.yaml"), replace.Replace(testCRD))
		write(t, filepath.Join(dir, b.name, "metadata", "annotations.yaml"), "annotations:\n  operators.operatorframework.io.bundle.package.v1: "+b.name+"\n")
	}
	write(t, filepath.Join(dir, "templates", "role.yaml"), "{{ if }}")
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const testCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: NAME.v1.0.0
spec:
  version: 1.0.0
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: MULTI}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: NAMEs.example.com, version: v1, kind: KIND}
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - serviceAccountName: NAME
        rules:
        - {apiGroups: [example.com], resources: [NAMEs], verbs: ["*"]}
      deployments:
      - name: NAME-controller
        spec:
          replicas: 1
          selector: {matchLabels: {app: NAME}}
          template:
            metadata: {labels: {app: NAME}}
            spec:
              serviceAccountName: NAME
              containers:
              - {name: manager, image: "quay.io/example/NAME:1.0.0"}
`

const testCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: NAMEs.example.com # the name
spec:
  group: example.com
  names: {kind: KIND, listKind: KINDList, plural: NAMEs, singular: NAME}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object}
`
