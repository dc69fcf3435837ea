package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// dimension is what there may be more of in an input: n of it make the files.
type dimension struct {
	name  string
	most  int // of it; 0: any number
	files func(n int) map[string]string
	// DIR in commands is the directory of the files, OUT a new one.
	commands []string
}

// lines returns what n units make: each has its number in place of #, the number before in place of ~.
func lines(n int, head, unit, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		b.WriteString(strings.NewReplacer("#", fmt.Sprint(i+1), "~", fmt.Sprint(i)).Replace(unit))
	}
	b.WriteString(tail)
	return b.String()
}

const (
	growingPackage = "---\n{schema: olm.package, name: p, defaultChannel: c}\n---\n"
	growingBundle  = "---\n{schema: olm.bundle, package: p, name: p.v1.#.0, image: x, properties: [" +
		"{type: olm.package, value: {packageName: p, version: 1.#.0}}%s]}\n"
)

// packageOf is a package with one bundle.
const packageOf = "---\n{schema: olm.package, name: q#, defaultChannel: c}\n---\n" +
	"{schema: olm.channel, package: q#, name: c, entries: [{name: q#.v1}]}\n---\n" +
	"{schema: olm.bundle, package: q#, name: q#.v1, image: x, properties: [" +
	"{type: olm.package, value: {packageName: q#, version: 1.0.0}}]}\n"

// catalogWith returns a catalog with one channel of n entries.
func catalogWith(entry, property string) func(n int) map[string]string {
	return func(n int) map[string]string {
		return map[string]string{"catalog.yaml": growingPackage +
			lines(n, "schema: olm.channel\npackage: p\nname: c\nentries:\n- {name: p.v1.0.0}\n", entry, "") +
			strings.ReplaceAll(fmt.Sprintf(growingBundle, property), "#", "0") +
			lines(n, "", fmt.Sprintf(growingBundle, property), "")}
	}
}

// ofCatalogs are commands that read a catalog.
var ofCatalogs = []string{
	"catalog validate DIR",
	"catalog audit DIR",
	"catalog site DIR -o OUT",
	"graph catalog:DIR --package p",
	"catalog resolve --catalog DIR --install p",
	"catalog path p --catalog DIR --from 1.0.0",
	"catalog diff DIR DIR",
}

func catalogDimensions() []dimension {
	skips := "- {name: p.v1.#.0, replaces: p.v1.~.0, skips: [p.v0.#.0, p.v1.~.0]}\n"
	return []dimension{
		{"entries that replace", 0, catalogWith("- {name: p.v1.#.0, replaces: p.v1.~.0}\n", ""), ofCatalogs},
		{"entries with skips", 0, catalogWith(skips, ""), ofCatalogs},
		{"entries with skipRange", 0, catalogWith("- {name: p.v1.#.0, skipRange: '<1.#.0'}\n", ""), ofCatalogs[:5]},
		{"entries with all", 0, catalogWith(
			"- {name: p.v1.#.0, replaces: p.v1.~.0, skips: [p.v0.#.0], skipRange: '>=1.0.0 <1.#.0'}\n", ""), ofCatalogs},
		{"entries that require", 0, catalogWith("- {name: p.v1.#.0, replaces: p.v1.~.0}\n",
			", {type: olm.gvk, value: {group: g, kind: K#, version: v1}}"), ofCatalogs},
		{"channels", 0, func(n int) map[string]string {
			return map[string]string{"catalog.yaml": growingPackage +
				lines(n, "{schema: olm.channel, package: p, name: c, entries: [{name: p.v1.0.0}]}\n",
					"---\n{schema: olm.channel, package: p, name: c#, entries: [{name: p.v1.0.0}]}\n", "") +
				strings.ReplaceAll(fmt.Sprintf(growingBundle, ""), "#", "0")}
		}, ofCatalogs},
		{"packages", 0, func(n int) map[string]string {
			return map[string]string{"catalog.yaml": lines(n, catalogWith("", "")(0)["catalog.yaml"],
				packageOf, "")}
		}, ofCatalogs},
		{"deprecations", 0, func(n int) map[string]string {
			files := catalogWith("- {name: p.v1.#.0, replaces: p.v1.~.0}\n", "")(n)
			files["catalog.yaml"] += lines(n, "---\nschema: olm.deprecations\npackage: p\nentries:\n",
				"- {reference: {schema: olm.bundle, name: p.v1.#.0}, message: old}\n", "")
			return files
		}, ofCatalogs[:5]},
		{"releases", 1024, releaseDirs, []string{"validate --release DIR/operators/a"}},
	}
}

// releaseDirs returns the directory of an operator in the repository of a catalog.
func releaseDirs(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		dir := fmt.Sprintf("operators/a/0.%d.0/", i)
		files[dir+"metadata/annotations.yaml"] = "annotations: {operators.operatorframework.io.bundle.mediatype.v1: registry+v1, " +
			"operators.operatorframework.io.bundle.package.v1: a, operators.operatorframework.io.bundle.channels.v1: c, " +
			"operators.operatorframework.io.bundle.manifests.v1: manifests/, operators.operatorframework.io.bundle.metadata.v1: metadata/}\n"
		csv := strings.NewReplacer("name: c#, namespace: ns", fmt.Sprintf("name: a.v0.%d.0", i), "1.0.0", fmt.Sprintf("0.%d.0", i),
			"d#", fmt.Sprintf("a.v0.%d.0", i-1), "install: ", "installModes: [{type: AllNamespaces, supported: true}], install: ").Replace(csvOf)
		if i == 0 {
			csv = strings.Replace(csv, "replaces: a.v0.-1.0, ", "", 1)
		}
		files[dir+"manifests/csv.yaml"] = csv
	}
	return files
}

// ofTrees are commands that read objects.
var ofTrees = []string{
	"check DIR",
	"lint DIR --policy operate-first",
	"permissions DIR",
	"diff DIR DIR",
	"diff DIR/base.yaml DIR/tree.yaml",
	"diff DIR/tree.yaml DIR/base.yaml",
	"images DIR",
}

// withUpdates are the commands that read objects, and update.
var withUpdates = append(slices.Clone(ofTrees), "update DIR --dry-run")

const (
	extensionUnit = "---\napiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\nmetadata: {name: e#}\n" +
		"spec: {namespace: ns, serviceAccount: {name: s}, source: {sourceType: Catalog, catalog: {packageName: q#}}}\n"
	clusterCatalogUnit = "---\napiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\nmetadata: {name: c#}\n" +
		"spec: {source: {type: Image, image: {ref: 'quay.io/x/y:1'}}}\n"
	subscriptionUnit = "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s#, namespace: ns}\n" +
		"spec: {name: q#, channel: c, source: s, sourceNamespace: olm}\n"
	sourceUnit = "---\napiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {name: c#, namespace: olm}\n" +
		"spec: {sourceType: grpc, image: 'quay.io/x/y:1'}\n"
)

const roleOf = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r%s}\nrules:\n"

// treeWith returns a file with what there is more of, and one with a binding, without which there is no report.
func treeWith(head, unit string) func(n int) map[string]string {
	return func(n int) map[string]string {
		return map[string]string{"tree.yaml": lines(n, head, unit, ""),
			"base.yaml": strings.NewReplacer("name: r", "name: base", "name: b}", "name: base}").Replace(bindRole + subject)}
	}
}

// fleet returns a tree of clusters, each with objects of the same names that Flux reads, and the tree with another channel
// in all of them.
func fleet(n int) map[string]string {
	const cluster = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://git.example.com/fleet.git}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data: {source: s}
`
	const applied = `---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec:
  path: %[2]s
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}
%[3]s`
	files := map[string]string{}
	for tree, channel := range map[string]string{"tree": "alpha", "now": "beta"} {
		files[tree+"/ops/s.yaml"] = `apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: a, namespace: op}
spec: {name: a, channel: ` + channel + `, source: "${source}", sourceNamespace: op}
`
		files[tree+"/late/c.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: op}\n"
		for i := range n {
			dir := fmt.Sprintf("/clusters/c%d", i)
			files[tree+dir+"/flux.yaml"] = cluster + fmt.Sprintf(applied, "flux-system", "."+dir, "") +
				fmt.Sprintf(applied, "ops", "./ops", "") + fmt.Sprintf(applied, "late", "./late", "  dependsOn: [{name: ops}]\n")
		}
	}
	return files
}

func treeDimensions() []dimension {
	rule := "- {apiGroups: [g#], resources: [r], verbs: [get]}\n"
	secrets := "- {apiGroups: [''], resources: [secrets], verbs: [get, list]}\n"
	role := fmt.Sprintf(roleOf, "")
	inGroup := strings.NewReplacer("m#", "ns", "n#", "ns").Replace(groupOf)
	operator := strings.Replace(csvOf, "install: {strategy: deployment}", "installModes: [{type: AllNamespaces, supported: true}], "+
		"install: {strategy: deployment, spec: {deployments: [{name: d#, spec: {selector: {matchLabels: {a: b}}, template: {metadata: "+
		"{labels: {a: b}}, spec: {containers: [{name: a, image: x}]}}}}]}}", 1)
	selecting := strings.NewReplacer("name: r#", "name: r#, labels: {a: b}", "rules:\n",
		"aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules:\n").Replace(fmt.Sprintf(roleOf, "#"))
	return []dimension{
		{"operators of a namespace", 0, treeWith(inGroup, operator), withUpdates},
		{"operators of many namespaces", 0, treeWith(role+rule, strings.ReplaceAll(operator, "namespace: ns", "namespace: n#")+
			"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b, namespace: n#}\n"+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\n"+
			"subjects: [{kind: ServiceAccount, name: default, namespace: n#}]\n"), []string{"catalog audit --tree DIR"}},
		{"operators that replace each other", 2048, treeWith(inGroup, strings.Replace(operator, "replaces: d#", "replaces: c~", 1)), withUpdates},
		{"roles that select each other", 0, treeWith("", selecting+rule), ofTrees},
		{"roles that select others", 0, treeWith("", fmt.Sprintf(roleOf, "#")+rule+strings.NewReplacer("name: r#, labels: {a: b}", "name: s#").Replace(selecting)), ofTrees},
		{"rules", 0, treeWith(role, rule), ofTrees},
		{"accounts that reach each other", 0, treeWith(role+"- {apiGroups: [''], resources: [pods], verbs: [create]}\n"+bindRole+
			"- {kind: ServiceAccount, name: a, namespace: n1}\n", "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n"+
			"metadata: {name: b, namespace: n~}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\n"+
			"subjects: [{kind: ServiceAccount, name: a, namespace: n#}]\n"), ofTrees},
		{"roles of an account", 0, treeWith("", fmt.Sprintf(roleOf, "#")+rule+strings.ReplaceAll(bindRole, "name: b}", "name: b#}")+subject),
			ofTrees},
		{"accounts", 0, treeWith(role+rule+bindRole, "- {kind: ServiceAccount, name: s#, namespace: ns}\n"), ofTrees},
		{"accounts that read Secrets", 0, treeWith(role+secrets+bindRole, "- {kind: ServiceAccount, name: s#, namespace: ns}\n"), ofTrees},
		{"namespaces whose Secrets an account reads", 0, treeWith(role+secrets,
			strings.NewReplacer("ClusterRoleBinding", "RoleBinding", "name: b}", "name: b, namespace: n#}").Replace(bindRole)+subject), ofTrees},
		{"accounts of cluster-admin", 0, treeWith(strings.Replace(bindRole, "name: r}", "name: cluster-admin}", 1),
			"- {kind: ServiceAccount, name: s#, namespace: ns}\n"), ofTrees},
		{"fields of a CRD", 0, treeWith(crdOf+versionOf+"        properties:\n", "          p#: {type: string}\n"), ofTrees},
		{"fields of a CRD that are renamed", 0, renamedFields, []string{"diff DIR/old.yaml DIR/new.yaml"}},
		{"fields that a CRD loses", 0, lostFields, []string{"diff DIR/old.yaml DIR/new.yaml"}},
		{"uses of a variable", 0, substituted, []string{"check DIR/tree"}},
		{"keys of one file", 0, generated, []string{"check DIR/tree"}},
		{"subscriptions", 0, subscribed("ns", "q#", ""), ofSubscriptions},
		{"namespaces with a subscription", 0, subscribed("ns#", "q0", ""), ofSubscriptions},
		{"installed operators of a catalog", 512, func(n int) map[string]string {
			files := subscribed("ns#", "q#", "status: {installedCSV: q#.v1, currentCSV: q#.v1, state: AtLatestKnown}\n")(n)
			csvs := strings.NewReplacer("name: c#, namespace: ns", "name: q#.v1, namespace: ns#", ", replaces: d#", "").Replace(operator) +
				"status: {phase: Succeeded, reason: InstallSucceeded}\n"
			files["tree/csvs.yaml"] = lines(n, "", csvs, "")
			return files
		}, []string{"diff DIR/tree DIR/tree --catalog DIR/catalog"}},
		{"clusters of Flux", 1024, fleet, []string{"check DIR/tree", "diff DIR/tree DIR/now", "images DIR/tree", "update DIR/tree"}},
		{"operator groups of one namespace", 0, treeWith("", strings.ReplaceAll(groupOf, "m#", "ns")), ofTrees},
	}
}

// renamedFields returns two CRDs, of which each requires n fields that the other one lacks.
func renamedFields(n int) map[string]string {
	crd := func(field string) string {
		return lines(n, crdOf+versionOf+"        required:\n", "        - "+field+"#\n", "") +
			lines(n, "        properties:\n", "          "+field+"#: {type: string}\n", "")
	}
	return map[string]string{"old.yaml": crd("a"), "new.yaml": crd("b")}
}

// lostFields returns two CRDs, of which the second one has one field of n.
func lostFields(n int) map[string]string {
	head, field := crdOf+versionOf+"        properties:\n", "          p#: {type: string}\n"
	return map[string]string{"old.yaml": lines(n, head, field, ""), "new.yaml": lines(1, head, field, "")}
}

// substituted returns a Kustomization of Flux, with n uses of one of its variables.
func substituted(n int) map[string]string {
	return map[string]string{"tree/flux.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
		"metadata: {name: a, namespace: flux-system}\nspec: {path: ./app, sourceRef: {kind: GitRepository, name: a}, postBuild: " +
		"{substitute: {V: " + strings.Repeat("x", 100) + "}}}\n",
		"tree/app/a.yaml": lines(n, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata:\n", "  k#: ${V}\n", "")}
}

// generated returns a kustomization with n keys of a ConfigMap that have one file.
func generated(n int) map[string]string {
	return map[string]string{"tree/a.txt": strings.Repeat("x", 100), "tree/kustomization.yaml": lines(n,
		"configMapGenerator:\n- name: a\n  files:\n", "  - k#=a.txt\n", "")}
}

// ofSubscriptions are commands that ask what OLM installs for the Subscriptions of a tree.
var ofSubscriptions = []string{
	"lint DIR/tree --policy operate-first --catalog DIR/catalog",
	"check DIR/tree --catalog DIR/catalog",
}

// subscribed returns a tree with n Subscriptions of a status, and a catalog with the packages that they ask for: q0, or n packages.
func subscribed(namespace, pkg, status string) func(n int) map[string]string {
	return func(n int) map[string]string {
		served := lines(n, "", packageOf, "")
		if pkg == "q0" {
			served = strings.ReplaceAll(packageOf, "#", "0")
		}
		group := "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: " + namespace + "}\n"
		head := group
		if strings.Contains(namespace, "#") {
			head = ""
		} else {
			group = ""
		}
		return map[string]string{
			"tree/tree.yaml": lines(n, head, group+"---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"+
				"metadata: {name: s#, namespace: "+namespace+"}\n"+
				"spec: {name: "+pkg+", channel: c, source: s, sourceNamespace: olm}\n"+status, ""),
			"catalog/catalog.yaml": served,
		}
	}
}

// bundleWith returns the example's bundle with another object.
func bundleWith(head, unit string) func(n int) map[string]string {
	return func(n int) map[string]string {
		return map[string]string{"bundle/manifests/more.yaml": lines(n, head, unit, "")}
	}
}

var ofBundles = []string{
	"render DIR/bundle -n ns -o OUT",
	"render DIR/bundle -n ns -o OUT --profile olmv1",
	"render DIR/bundle -n ns -o OUT --profile plain",
	"render DIR/bundle -n ns -o OUT --layout helm",
	"permissions DIR/bundle",
	"installer-rbac DIR/bundle -n ns --installer a/b",
	"diff DIR/bundle DIR/bundle",
	"graph DIR/bundle",
	"descope DIR/bundle -n ns -o OUT --bind-namespaces a,b",
	"validate DIR/bundle",
}

func bundleDimensions() []dimension {
	rule := "- {apiGroups: [g#], resources: [r], verbs: [get]}\n"
	role := strings.TrimPrefix(fmt.Sprintf(roleOf, ""), "---\n")
	clusterPermissions := func(n int) map[string]string {
		unit := "        - {apiGroups: [g#], resources: [r], verbs: [get]}\n"
		return map[string]string{"bundle/manifests/memcached-operator.clusterserviceversion.yaml": strings.Replace(exampleCSV(),
			"      clusterPermissions:\n      - rules:\n", lines(n, "      clusterPermissions:\n      - rules:\n", unit, ""), 1)}
	}
	accounts := func(n int) map[string]string {
		unit := "      - rules:\n        - {apiGroups: [g#], resources: [r], verbs: [get]}\n        serviceAccountName: s#\n"
		return map[string]string{"bundle/manifests/memcached-operator.clusterserviceversion.yaml": strings.Replace(exampleCSV(),
			"      clusterPermissions:\n", lines(n, "      clusterPermissions:\n", unit, ""), 1)}
	}
	namespaces := func(n int) map[string]string {
		return map[string]string{"olmgen.yaml": lines(n, "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n"+
			"- namespace: ns\n  bundles:\n  - source: bundle\n  targetNamespaces:\n", "  - t#\n", "")}
	}
	versions := func(n int) map[string]string { // each has as many fields
		unit := strings.NewReplacer("name: v1", "name: v#", "storage: true", "storage: false").Replace(versionOf) +
			"        properties:\n" + strings.Repeat("          spec: {type: object}\n", 1)
		return map[string]string{"bundle/manifests/more.yaml": lines(n, crdOf+strings.Replace(versionOf, "v1", "v0", 1), unit, "")}
	}
	patches := func(n int) map[string]string {
		return map[string]string{"olmgen.yaml": lines(n, "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n"+
			"- namespace: ns\n  bundles:\n  - source: bundle\n    patches:\n", "    - target: {kind: Deployment}\n"+
			"      patch: |\n        [{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"a\": \"b#\"}}]\n", "")}
	}
	return []dimension{
		{"fields of a CRD", 0, bundleWith(crdOf+versionOf+"        properties:\n", "          p#: {type: string}\n"), ofBundles[:7]},
		{"rules of a role", 0, bundleWith(role, rule), ofBundles},
		{"keys", 0, bundleWith(configMapOf+"data:\n", "  k#: v\n"), ofBundles},
		{"rules of an account", 0, clusterPermissions, ofBundles},
		{"accounts", 0, accounts, ofBundles},
		{"namespaces", 0, namespaces, []string{"render -f DIR/olmgen.yaml -o OUT", "permissions -f DIR/olmgen.yaml"}},
		{"groups", 64, operators, []string{"render -f DIR/olmgen.yaml -o OUT", "permissions -f DIR/olmgen.yaml", "validate -f DIR/olmgen.yaml"}},
		{"versions of a CRD", 48, versions, ofBundles},
		{"patches", 0, patches, []string{"render -f DIR/olmgen.yaml -o OUT"}},
	}
}

func exampleCSV() string {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "memcached-operator", "bundle", "manifests",
		"memcached-operator.clusterserviceversion.yaml"))
	if err != nil {
		panic(err)
	}
	return string(data)
}

// logDimensions are audit logs of many users, names, namespaces, resources, URLs and rules that an account gives on.
func logDimensions() (out []dimension) {
	const event = `{"auditID":"1","stage":"ResponseComplete","level":"Request","verb":"list","requestURI":"/apis","user":{"username":"system:serviceaccount:` +
		`memcached-operator-system:memcached-operator-controller-manager"},"objectRef":{"resource":"pods"},"requestObject":{},` +
		`"stageTimestamp":"2026-11-02T10:00:01.000001Z","annotations":{"authorization.k8s.io/decision":"allow"}}` + "\n"
	for _, d := range [][3]string{{"users", "memcached-operator-system:", "u#:"}, {"names", `"pods"`, `"pods","name":"x#"`},
		{"namespaces", `"pods"`, `"pods","namespace":"x#"`}, {"resources", `"pods"`, `"x#"`}, {"denied", `"list"`, `"v#"`},
		{"URLs", `"requestURI":"/apis","user":`, `"requestURI":"/x#","user":`},
		{"roles", `"list"`, `"create"`}} {
		unit := strings.Replace(event, d[1], d[2], 1)
		switch d[0] {
		case "denied":
			unit = strings.Replace(unit, `"allow"`, `"forbid"`, 1)
		case "URLs":
			unit = strings.Replace(unit, `"objectRef":{"resource":"pods"},`, "", 1)
		case "roles":
			unit = strings.NewReplacer(`"pods"`, `"roles","apiGroup":"rbac.authorization.k8s.io","namespace":"a"`, `"requestObject":{}`,
				`"requestObject":{"metadata":{"name":"r#"},"rules":[{"apiGroups":["g#"],"resources":["r"],"verbs":["get"]}]}`).Replace(unit)
		}
		out = append(out, dimension{d[0], 0, func(n int) map[string]string { return map[string]string{"audit.jsonl": lines(n, event, unit, "")} },
			[]string{"permissions DIR/bundle --used DIR/audit.jsonl", "render DIR/bundle --profile plain -o OUT --days 0 --only-used DIR/audit.jsonl"}})
	}
	return out
}

// TestGrowth holds that what a command needs grows no faster than its input, whatever there is more of.
func TestGrowth(t *testing.T) {
	for _, part := range []struct {
		name       string
		dimensions []dimension
	}{{"catalog", catalogDimensions()}, {"tree", treeDimensions()}, {"kind", kindDimensions()}, {"bundle", bundleDimensions()},
		{"dump", dumpDimensions()}, {"log", logDimensions()}} {
		for _, d := range part.dimensions {
			for _, command := range d.commands {
				t.Run(part.name+"/"+d.name+"/"+command, func(t *testing.T) { d.grow(t, command) })
			}
		}
	}
}

func (d dimension) grow(t *testing.T, command string) {
	most := d.most
	if most == 0 {
		most = 1 << 14
	}
	least := 64
	if strings.HasPrefix(command, "catalog resolve") {
		least = 256 // gini makes a sorting network of the entries, n log² n: in small ones this is more than the limit
	}
	if d.name == "clusters of Flux" {
		least = 256 // reading the files takes longer than a comparison of few clusters with each other
	}
	fuzztest.Growth(t, fuzztest.Linear, min(least, most/4), most, func(n int) func() {
		dir, out := t.TempDir(), t.TempDir()
		if strings.Contains(command, "bundle") || strings.Contains(command, "olmgen.yaml") {
			noError(t, os.CopyFS(filepath.Join(dir, "bundle"),
				os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle"))))
		}
		for name, text := range d.files(n) {
			noError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			noError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		round, sources := 0, "--source memcached1-operator=DIR/bundles/1"
		if d.name == "operators" {
			sources = lines(n, "", " --source memcached#-operator=DIR/bundles/#", "")
		}
		return func() {
			round++
			args := strings.ReplaceAll(command, "SOURCES", sources)
			args = strings.NewReplacer("DIR", dir, "OUT", filepath.Join(out, fmt.Sprint(round))).Replace(args)
			var printed bytes.Buffer
			if code := run(strings.Fields(args), strings.NewReader(""), &printed, &printed); code == exitUsage {
				t.Fatalf("%s: %.300s", args, printed.String())
			} else if code == exitFailed {
				t.Fatalf("n = %d: %.300s", n, printed.String())
			}
		}
	})
}
