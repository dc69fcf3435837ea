package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Inspected is a release with all that is known about it.
type Inspected struct {
	Row
	Release *Release

	CSV         *v1alpha1.ClusterServiceVersion // nil if it could not be read; of metadata only if not Complete
	Bundle      *bundle.Bundle                  // nil if not Complete
	Permissions *permissions.Report             // nil if it could not be rendered
	State       *compare.State                  // nil if it could not be rendered
	Findings    []findings.Finding
	Target      string // that Unfit is about
}

type job struct {
	pkg     *Package
	release *Release
	found   *collected // of the package
	slot    int        // of the release in it
}

// inspect reads a release. What cannot be read is an Error of the row.
func (j job) inspect(ctx context.Context, o Options) *Inspected {
	r := j.release
	x := &Inspected{Release: r, Target: o.target(), Row: Row{Source: r.place, Package: j.pkg.Name, Name: r.Name,
		Version: r.Version, Channels: r.Channels, Head: r.Head, Deprecated: r.Deprecated, Matches: j.pkg.matches,
		InstallModes: []string{}, Upgradeable: true, Reaches: []Reach{}, Unsupported: []string{}, Unfit: []string{},
		Verdict: fit.Unseen()}}
	if r.cluster != nil {
		x.Cluster = r.cluster.name
	}
	var err error
	switch {
	case r.installed != nil:
		x.CSV = r.installed.ClusterServiceVersion
		x.ofCSV(x.CSV)
		x.Upgradeable = !r.held
		x.ofTree()
	case r.open != nil:
		err = x.read(ctx, r.open, o, true)
	case r.bundle.Objects || o.Pull && r.bundle.Image != "":
		err = x.read(ctx, func(ctx context.Context) (*source.Source, error) {
			chosen := catalog.Choice{Package: j.pkg.Package, Bundle: r.bundle}
			return chosen.Files(ctx, catalog.Options{Source: o.Source})
		}, o, false)
	case r.bundle.HasCSV() || r.bundle.Image == "": // else OLM reads the image
		err = x.metadata(ctx)
	}
	if err != nil {
		x.Error = text.OneLine(err.Error())
	}
	for _, p := range r.bundle.Properties { // what the catalog says of the release
		x.maxOpenShift(p.Type, p.Value)
	}
	x.Upgradeable = x.Upgradeable && x.MaxOpenShiftVersion == ""
	if s := j.pkg.life.Of(r.Version); s != nil {
		x.Support = s.Phases
	}
	x.fit(o, j.pkg.life)
	if refused := validate.Refusals(x.Findings); len(refused) > 0 {
		x.Verdict = fit.Verdict{Answer: fit.Refused, Reason: refused[0].Message}
	}
	x.Row.Findings = Counts{findings.Count(x.Findings, findings.Error), findings.Count(x.Findings, findings.Warning),
		findings.Count(x.Findings, findings.Note)}
	return x
}

// read reads the bundle and evaluates what it renders to.
func (x *Inspected) read(ctx context.Context, open func(context.Context) (*source.Source, error), o Options,
	located bool) error {
	src, err := open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	b := x.Release.read
	x.Release.read = nil
	if b == nil {
		b, err = bundle.Read(src.FS, readOptions(src))
	}
	if err != nil {
		x.Findings = validate.Refused(err)
		x.placeFindings(located)
		return err
	}
	if x.Findings, err = validate.Read(ctx, src, b, validate.Options{}); err != nil {
		return err
	}
	x.Complete, x.Bundle, x.CSV = true, b, b.CSV
	x.ofCSV(b.CSV)
	if err = x.ofBundle(b); err == nil {
		err = x.render(ctx, b, o)
	}
	x.placeFindings(located)
	return err
}

func readOptions(src *source.Source) bundle.ReadOptions {
	return bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true, Workers: 1}
}

// placeFindings sets where findings are: in a catalog at the olm.bundle, because the bundle's files are not on disk.
func (x *Inspected) placeFindings(onDisk bool) {
	for i := range x.Findings {
		f := &x.Findings[i]
		f.Source, f.Object = x.Source, strings.TrimPrefix(x.Name+": "+f.Object, ": ")
		f.Object = strings.TrimSuffix(f.Object, ": ")
		if onDisk {
			f.Path = path.Join(x.Source, f.File)
			continue
		}
		f.Path, f.Line = filepath.ToSlash(x.Release.location.File), x.Release.location.Line
	}
}

func (x *Inspected) metadata(ctx context.Context) error {
	b := x.Release.bundle
	data, err := b.CSV(ctx)
	if err != nil {
		return err
	}
	var csv v1alpha1.ClusterServiceVersion
	if err := json.Unmarshal(data, &csv); err != nil {
		return fmt.Errorf("%s:%d: olm.csv.metadata: %w", b.File, b.Line, err)
	}
	x.CSV = &csv
	x.ofCSV(&csv)
	return nil
}

func (x *Inspected) ofCSV(csv *v1alpha1.ClusterServiceVersion) {
	x.DisplayName = text.OneLine(csv.Spec.DisplayName)
	x.InstallModes = slices.Sorted(slices.Values(text.Words(bundle.SupportedModes(csv))))
	for _, w := range csv.Spec.WebhookDefinitions {
		switch w.Type {
		case v1alpha1.ValidatingAdmissionWebhook:
			x.Webhooks.Validating++
		case v1alpha1.MutatingAdmissionWebhook:
			x.Webhooks.Mutating++
		case v1alpha1.ConversionWebhook:
			x.Webhooks.Conversion++
		}
	}
	x.CRDs.Count = len(owned(csv)) // each served version is an entry
	if max := csv.Annotations[olm.PropertyMaxOpenShift]; max != "" {
		x.MaxOpenShiftVersion = text.OneLine(max)
	}
}

func (x *Inspected) ofBundle(b *bundle.Bundle) error {
	x.CRDs = CRDs{Count: len(b.CRDs)}
	for _, c := range b.CRDs {
		x.CRDs.Bytes += len(c.Raw())
	}
	x.Unsupported = append(x.Unsupported, b.Unsupported()...)
	list, err := images.List(b)
	if err != nil {
		return err
	}
	x.count(list)
	for _, p := range b.DeclaredProperties() {
		x.maxOpenShift(p.Type, p.Value)
	}
	return nil
}

func (x *Inspected) count(list []images.Image) {
	pinned := map[string]bool{}
	for _, i := range list {
		if i.Pulled() {
			pinned[i.Image] = i.Pinned
		}
	}
	for _, p := range pinned {
		if p {
			x.Images.Digest++
		} else {
			x.Images.Tag++
		}
	}
}

// owned returns the names of the CRDs that an operator owns.
func owned(csv *v1alpha1.ClusterServiceVersion) map[string]bool {
	return lists.Set(csv.Spec.CustomResourceDefinitions.Owned, func(d v1alpha1.CRDDescription) string { return d.Name })
}

// ofTree evaluates what a tree grants to the accounts of an installed operator. Without a grant to one of them, it is
// not known: the tree has not all of the cluster.
func (x *Inspected) ofTree() {
	r := x.Release
	var crds CRDs
	for _, o := range r.cluster.crdsOf(x.CSV) {
		crds.Count++
		crds.Bytes += len(o.Raw())
	}
	if crds.Count > 0 {
		x.CRDs = crds
	}
	granted := r.cluster.rights[r.installed.Namespace]
	if granted == nil {
		return
	}
	accounts := permissions.Accounts(*r.installed, false)
	of := granted.Of(func(s permissions.Subject) bool { return accounts[s] })
	list, err := images.ListObjects([]*manifest.Object{r.installed.Object})
	if x.Complete = len(of.Permissions) > 0 && err == nil; x.Complete {
		x.count(list)
		x.reach(of)
	}
}

// maxOpenShift takes the property that holds back upgrades of OpenShift.
func (x *Inspected) maxOpenShift(property string, value json.RawMessage) {
	if property != olm.PropertyMaxOpenShift {
		return
	}
	var version any
	if json.Unmarshal(value, &version) == nil {
		x.MaxOpenShiftVersion = text.OneLine(fmt.Sprint(version))
	}
}

// result returns what OLM makes of the release where a tree asks for it, or else what olmgen render would write.
func (x *Inspected) result(ctx context.Context, b *bundle.Bundle, o Options) (*generate.Result, error) {
	if p := x.Release.planned; p != nil {
		installed, err := p.Render(ctx, o.Source)
		if err != nil {
			return nil, err
		}
		return installed.Operator.Result, nil
	}
	return compare.Render(b)
}

func (x *Inspected) render(ctx context.Context, b *bundle.Bundle, o Options) error {
	result, err := x.result(ctx, b, o)
	if err != nil {
		return err
	}
	state, err := compare.StateOf(b, result)
	if err != nil {
		return err
	}
	state.Name = x.Name
	x.State = &state
	x.reach(state.Permissions)
	return nil
}

func (x *Inspected) reach(report *permissions.Report) {
	x.Permissions, x.Reaches = report, reachesOf(report)
	x.Findings = append(x.Findings, report.Findings...)
}

func reachesOf(report *permissions.Report) []Reach {
	list := []Reach{}
	way := report.Worst()
	every := way != nil && way.Reaches == permissions.EveryRight
	if every {
		list = append(list, Reach{permissions.Everything, true, way.String()})
	}
	for _, f := range report.Reaches() {
		if every && f.Risk == permissions.Everything {
			continue
		}
		list = append(list, Reach{f.Risk, slices.Contains(f.Namespaces, permissions.Everywhere), f.Text})
	}
	return list
}

// fit notes what keeps the release from working in the cluster. These are findings only if somebody asks about a
// cluster: what the newest OLM v1 does not take is no mistake.
func (x *Inspected) fit(o Options, life *fit.Lifecycle) {
	if x.CSV == nil {
		return
	}
	var asked []findings.Finding
	operator, form := x.operator(), x.Release.form(o)
	if life != nil {
		operator.Lifecycle = life
	}
	verdict, found := fit.Judge(operator, form, o.Cluster)
	x.Verdict = verdict
	if s := x.Release.state(); form == fit.OLMv0 && verdict.Answer != fit.Refused &&
		slices.Contains([]string{string(v1alpha1.CSVPhaseFailed), string(v1alpha1.CSVPhasePending)}, s.Phase) {
		x.Verdict = fit.Verdict{Answer: fit.Stays, Rule: s.Reason, Remedy: "see olmgen check of the same tree",
			Reason: fmt.Sprintf("it becomes %s in the cluster (%s): %s", s.Phase, s.Reason, text.OneLine(s.Message))}
		x.Unfit = append(x.Unfit, s.Reason)
	}
	for _, f := range found {
		id := strings.TrimPrefix(f.Rule, fit.Prefix)
		if f.Level != findings.Note {
			x.Unfit = lists.Add(x.Unfit, id)
		}
		if !o.Cluster.Known() && o.Form == "" && (f.Rule != fit.RuleSupport.ID ||
			f.Level == findings.Note && o.Cluster.Date == "") {
			continue
		}
		asked = append(asked, f)
	}
	slices.Sort(x.Unfit)
	others := x.Findings
	x.Findings = asked
	x.placeFindings(x.Release.open != nil)
	x.Findings = append(others, x.Findings...)
}

// operator returns what is known of the release, with the properties that its catalog has.
func (x *Inspected) operator() fit.Operator {
	r := x.Release
	if r.installed != nil {
		operator := fit.Installed(x.CSV, r.installed.Object)
		operator.Shipped = r.cluster.shipped(r.installed)
		return operator
	}
	operator := fit.Operator{CSV: x.CSV}
	if x.Bundle != nil {
		operator = fit.OfBundle(x.Bundle)
	}
	return operator.With(r.bundle.Properties)
}

// form returns who installs the release: as the options say, or as the tree does.
func (r *Release) form(o Options) fit.Form {
	switch {
	case o.Form != "":
		return o.Form
	case r.planned != nil && r.planned.Object.Kind == olm.KindClusterExtension:
		return fit.OLMv1
	case r.planned != nil || r.installed != nil:
		return fit.OLMv0
	}
	return o.Cluster.Form()
}

// state returns what OLM v0 makes of the operator in a cluster, as olmgen check says it.
func (r *Release) state() (state predict.CSV) {
	if r.installed != nil {
		return r.cluster.states[r.installed.Namespace+"/"+r.Name]
	}
	if r.planned != nil {
		return r.cluster.states[r.planned.Namespace+"/"+r.Name]
	}
	return state
}

// target returns what the verdicts are about.
func (s *Set) target() string {
	o := s.options
	if o.Form != "" || o.Cluster.Known() {
		return o.target()
	}
	forms := map[fit.Form]bool{}
	for _, p := range s.Packages {
		maps.Copy(forms, lists.Set(p.Releases, func(r *Release) fit.Form { return r.form(o) }))
	}
	names := lists.Map(lists.Keys(forms), func(form fit.Form) string {
		of := o
		of.Form = form
		return of.target()
	})
	return cmp.Or(text.And(lists.SortedUnique(names)), o.target())
}

func (o Options) target() string {
	switch {
	case o.Form == fit.Plain && !o.Cluster.Known():
		return "a cluster without OLM"
	case o.Form == fit.OLMv0 && !o.Cluster.Known():
		return string(o.Form)
	case o.Form != "" && o.Cluster.Form() != o.Form:
		return o.Cluster.String() + " (" + string(o.Form) + ")"
	}
	return o.Cluster.String()
}
