package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/olm"
)

// identity compares what operators say of themselves.
func (r *Report) identity(pairs []pair, old, now State) ([]change.Change, error) {
	var out []change.Change
	asking, runs := r.asking(old, now), deployments(now.Objects)
	for _, p := range pairs {
		var list []change.Change
		switch {
		case p.old == nil:
			list = []change.Change{{Part: change.Operator, Change: change.Added, New: p.now.version(),
				Severity: findings.Info}}
		case p.now == nil:
			list = []change.Change{{Part: change.Operator, Change: change.Removed, Old: p.old.version(),
				Severity: findings.Warning, Message: "its custom resources have no controller any more"}}
			if p.old.runsIn(runs) {
				list[0].Message = "its Deployments go with the CSV where that is pruned, until they are applied again"
			}
		default:
			list = compareIdentity(*p.old, *p.now)
			more, err := r.compareCSV(*p.old, *p.now)
			if err != nil {
				return nil, err
			}
			asked, err := asking.compare(p)
			if err != nil {
				return nil, err
			}
			list = slices.Concat(list, more, asked)
		}
		o := cmp.Or(p.now, p.old)
		for i := range list {
			c := &list[i]
			c.Object = "ClusterServiceVersion " + o.Name
			if o.Object != nil && c.File == "" {
				c.File, c.Line = o.Object.PlaceOf(c.At)
			}
		}
		out = append(out, list...)
	}
	change.Sort(out)
	return out, nil
}

// withoutCopies leaves out what another section says: annotations of pods that are those of a ClusterServiceVersion
// (OLM: pkg/controller/install/deployment.go), where more of their object changes, and its images that pods run.
func (r *Report) withoutCopies() {
	copied, changes, run := map[string]bool{}, map[string]bool{}, map[[2]string]bool{}
	for _, c := range r.Identity {
		for _, field := range append(slices.Clone(c.Fields), c.Field) {
			if strings.HasPrefix(field, "metadata.annotations") {
				copied[fields.Last(field)] = true
			}
		}
	}
	isCopy := func(c change.Change) bool {
		return c.Severity == findings.Info && podAnnotation().MatchString(c.Field) && copied[fields.Last(c.Field)]
	}
	for _, c := range r.Workloads {
		changes[c.Object] = changes[c.Object] || !isCopy(c)
		if c.Part == change.Image {
			run[[2]string{c.Old, c.New}] = true
		}
	}
	r.Workloads = slices.DeleteFunc(r.Workloads, func(c change.Change) bool { return isCopy(c) && changes[c.Object] })
	r.Identity = slices.DeleteFunc(r.Identity, func(c change.Change) bool {
		return c.Severity == findings.Info && c.Part == change.Image && run[[2]string{c.Old, c.New}]
	})
}

// fact is one statement of an operator.
type fact struct {
	part  change.Part
	field string
}

// statement is what a fact says, and where: in a field of the CSV, or in another file.
type statement struct {
	text, at string
	file     string
	line     int
}

// compareIdentity compares two releases of an operator.
func compareIdentity(old, now Operator) []change.Change {
	before, after := factsOf(old), factsOf(now)
	both := maps.Clone(before)
	maps.Copy(both, after)
	var out []change.Change
	for f := range both {
		a, had := before[f]
		b, has := after[f]
		oneSided := f.part == change.Metadata && (old.Metadata == nil) != (now.Metadata == nil) &&
			now.Unannotated == nil // a tree has none
		if had && has && a.text == b.text || oneSided {
			continue
		}
		c := change.Change{Part: f.part, Field: f.field, Change: change.Changed, Old: a.text, New: b.text,
			Severity: findings.Info, At: b.at, File: b.file, Line: b.line}
		switch {
		case !had:
			c.Change = change.Added
		case !has:
			c.Change, c.At, c.File, c.Line = change.Removed, fields.Parent(a.at), a.file, a.line
		}
		judgeIdentity(&c, old, now)
		out = append(out, c)
	}
	if old.Name != now.Name && old.stem() == now.stem() && old.version() == now.version() {
		out = append(out, change.Change{Part: change.Version, Field: "metadata.name", Change: change.Changed,
			Old: old.Name, New: now.Name, Severity: findings.Info, At: "metadata.name"})
	}
	if old.otherPackage(now) {
		c := change.Change{Part: change.Operator, Field: "package", Change: change.Changed, Old: old.Package,
			New: now.Package, Severity: findings.Warning,
			Message: "two different packages: OLM does not update one to the other"}
		if now.Spec.Replaces == old.Name { // it is meant to
			c.Severity = findings.Error
		}
		out = append(out, c)
	}
	change.Sort(out)
	return out
}

// otherPackage reports whether two operators are of packages that are known, and not the same.
func (o Operator) otherPackage(now Operator) bool {
	return o.Package != now.Package && o.Package != "" && now.Package != ""
}

// factsOf returns what an operator says of itself.
func factsOf(o Operator) map[fact]statement {
	out := map[fact]statement{}
	set := func(part change.Part, field, value, at string) {
		if value != "" {
			out[fact{part, field}] = statement{text: value, at: at}
		}
	}
	spec := o.Spec
	set(change.Version, "version", o.version(), "spec.version")
	set(change.Operator, "name", o.stem(), "metadata.name")
	set(change.Operator, "namespace", o.Namespace, "metadata.namespace")
	entry := o.entry()
	for kind, text := range entry.Fields() {
		set(change.Upgrade, string(kind), text, edgeFields[kind])
	}
	set(change.Kubernetes, "minKubeVersion", spec.MinKubeVersion, "spec.minKubeVersion")
	set(change.Maturity, "maturity", spec.Maturity, "spec.maturity")
	set(change.Maturity, "capabilities", o.Annotations["capabilities"], annotation("capabilities"))
	for i, m := range spec.InstallModes {
		if m.Supported {
			out[fact{change.InstallModes, string(m.Type)}] = statement{at: fmt.Sprintf("spec.installModes[%d]", i)}
		}
	}
	o.addAPIs(out)
	for _, p := range slices.Concat(o.Dependencies, lists.Filter(o.Properties, catalog.Property.Requires)) {
		f, version := dependency(p)
		if other := out[f].text; other != "" && other != version {
			version = other + "; " + version
		}
		out[f] = statement{text: version, file: p.File, line: p.Line}
	}
	for _, p := range o.Properties {
		if p.Type == olm.PropertyMaxOpenShift || !strings.HasPrefix(p.Type, "olm.") &&
			!strings.HasSuffix(p.Type, ".required") {
			f := fact{change.Metadata, p.Type}
			out[f] = statement{text: strings.TrimPrefix(out[f].text+"; "+jsonText(p.Value), "; "), file: p.File,
				line: p.Line, at: annotation(olm.AnnotationBundleProperties)}
		}
		if p.Type == olm.PropertyDeprecated {
			out[fact{change.Deprecation, "deprecated in its catalog"}] = statement{}
		}
	}
	for _, key := range metadata {
		if value := o.Metadata[key]; value != "" {
			out[fact{change.Metadata, key}] = statement{text: value, file: o.MetadataFile}
		}
	}
	for _, message := range o.Deprecated {
		out[fact{change.Deprecation, "deprecated: " + message}] = statement{}
	}
	return out
}

// dependency returns what an operator depends on, and in which versions if it is a package.
func dependency(p catalog.Property) (f fact, version string) {
	var v struct{ PackageName, Version, VersionRange string }
	if json.Unmarshal(p.Value, &v) == nil && v.PackageName != "" {
		return fact{change.Dependencies, p.Type + " " + v.PackageName}, cmp.Or(v.VersionRange, v.Version)
	}
	if p.Type == olm.PropertyConstraint { // too long for the name of what comes or goes
		return fact{change.Dependencies, p.Type}, jsonText(p.Value)
	}
	return fact{change.Dependencies, p.Type + " " + jsonText(p.Value)}, ""
}

// metadata are the annotations of a bundle that say which catalogs offer it, and where in them.
var metadata = []string{olm.BundleChannels, olm.BundleDefaultChannel, olm.AnnotationOpenShiftVersions}

// widens reports whether the catalogs of all releases of OpenShift that had a bundle have it still.
func widens(old, now string) bool {
	first, last, err := olm.OpenShiftCatalogs(old)
	newFirst, newLast, err2 := olm.OpenShiftCatalogs(now)
	return err == nil && err2 == nil && newFirst.LE(first) && newLast.GE(last)
}

// follows reports whether a release says that it takes the place of another one.
func (o Operator) follows(old Operator) bool {
	entry := o.entry()
	return entry.Updates(old.Name, &old.Spec.Version.Version) != catalog.NoEdge
}

// ofKubernetes ends the name of an API that the cluster itself has to serve.
const ofKubernetes = " of Kubernetes"

func annotation(key string) string { return `metadata.annotations["` + key + `"]` }

// addAPIs adds the APIs that an operator provides, those that it requires, and those of Kubernetes.
func (o Operator) addAPIs(out map[fact]statement) {
	spec := o.Spec
	add := func(part change.Part, a olm.API, list string, of []v1alpha1.CRDDescription,
		served []v1alpha1.APIServiceDescription) {
		crds := "spec.customresourcedefinitions." + list
		at, named := crds, false
		for i, d := range of {
			if d.Name == a.CRD && d.Kind == a.Kind && (at == crds || d.Version == a.Version) { // it may serve others
				at, named = fmt.Sprintf("%s[%d]", crds, i), d.Version == a.Version
			}
		}
		for i, d := range served {
			if a.CRD == "" && d.Kind == a.Kind && d.Group == a.Group && d.Version == a.Version {
				at = fmt.Sprintf("spec.apiservicedefinitions.%s[%d]", list, i)
			}
		}
		said := statement{at: at}
		if crd := o.crds[a.CRD]; crd != nil && !named {
			i := slices.IndexFunc(olm.CRDVersions(crd), func(v olm.CRDVersion) bool { return v.Name == a.Version })
			said.file, said.line = crd.PlaceOf(fmt.Sprintf("spec.versions[%d]", i))
		}
		out[fact{part, apiText(a.Group, a.Version, a.Kind)}] = said
	}
	for _, a := range olm.ServedAPIs(&spec, o.crds) {
		add(change.Provided, a, "owned", spec.CustomResourceDefinitions.Owned, spec.APIServiceDefinitions.Owned)
	}
	for _, a := range olm.RequiredAPIs(&spec) {
		add(change.Required, a, "required", spec.CustomResourceDefinitions.Required,
			spec.APIServiceDefinitions.Required)
	}
	for i, d := range spec.NativeAPIs {
		out[fact{change.Dependencies, apiText(d.Group, d.Version, d.Kind) + ofKubernetes}] = statement{
			at: fmt.Sprintf("spec.nativeAPIs[%d]", i)}
	}
}

func apiText(group, version, kind string) string {
	return fmt.Sprintf("%s (%s/%s)", kind, group, version)
}

// jsonText returns JSON with sorted keys.
func jsonText(data json.RawMessage) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	if m, ok := v.(map[string]any); ok {
		parts := lists.Map(lists.Keys(m), func(k string) string { return k + ": " + fields.Text(m[k]) })
		return strings.Join(parts, ", ")
	}
	return fields.Text(v)
}

// comesOrGoes says what it means that a part of the identity comes or goes.
var comesOrGoes = map[change.Part]map[change.Kind]string{
	change.InstallModes: {change.Removed: "OperatorGroups that ask for it fail"},
	change.Provided:     {change.Removed: "whoever uses this API loses it"},
	change.Required:     {change.Added: "OLM installs an operator that provides it, or refuses this one"},
	change.Dependencies: {change.Added: "OLM installs an operator that provides it, or refuses this one",
		change.Changed: "OLM updates the operator that provides it, or refuses this one"},
	change.Deprecation: {change.Added: "whoever publishes it advises against it"},
}

// withoutOLM says it of an operator that no OLM installs.
var withoutOLM = map[change.Part]string{
	change.InstallModes: "it does not support these namespaces any more",
	change.Required:     "somebody has to install an operator that provides it",
	change.Dependencies: "the cluster has to provide it",
	change.Kubernetes:   "it is for newer clusters only",
}

// ofCluster returns what an API that is new means to the cluster, or "".
func ofCluster(c *change.Change) string {
	switch {
	case strings.HasSuffix(c.Field, ofKubernetes): // OLM: pkg/controller/operators/olm/requirements.go
		return "OLM starts the operator only where the cluster serves this API"
	case c.Part == change.Provided && strings.Contains(c.Field, "metrics.k8s.io/"):
		// Kubernetes: cmd/kube-controller-manager/app/autoscaling.go
		return "autoscalers read this API: the operator answers in place of who does now"
	}
	return ""
}

// judgeIdentity fills in how bad a change is.
func judgeIdentity(c *change.Change, old, now Operator) {
	warn := func(why string) { c.Severity, c.Message = findings.Warning, why }
	if why := comesOrGoes[c.Part][c.Change]; why != "" {
		warn(why)
	}
	before, err := semver.ParseTolerant(c.Old)
	after, err2 := semver.ParseTolerant(c.New)
	switch {
	case c.Change == change.Added && ofCluster(c) != "":
		warn(ofCluster(c))
	case c.Part == change.Version && now.Spec.Version.LT(old.Spec.Version.Version):
		warn("it is an older version")
	case c.Part == change.Operator && c.Field == "name" && now.follows(old):
		c.Message = "it follows the older one"
	case c.Part == change.Operator && c.Field == "name":
		warn("they are two different operators")
	case c.Part == change.Kubernetes && err2 == nil && (err != nil || after.GT(before)):
		warn("OLM installs it in newer clusters only")
	case c.Field == olm.PropertyMaxOpenShift && c.Change != change.Removed &&
		(err != nil || err2 != nil || after.LT(before)):
		warn("OpenShift is not updated beyond it while the operator is installed")
	case c.Field == olm.AnnotationOpenShiftVersions && !widens(c.Old, c.New):
		warn("the catalogs of other releases of OpenShift do not have it")
	}
	if now.WithoutOLM && c.Severity == findings.Warning {
		c.Message = cmp.Or(withoutOLM[c.Part], c.Message)
	}
}
