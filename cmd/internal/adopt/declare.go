// Package adopt brings the operators that OLM v0 runs in a cluster to Git.
package adopt

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
	"github.com/olmgen/olmgen/templates"
)

//go:embed adopt.yaml
var adoptText string

// Options say what is written.
type Options struct {
	File      string            // that is written, for its comments
	Dir       string            // of the file: sources that are paths are made relative to it
	Directory string            // that the file renders to
	Parts     []string          // directories below it that are applied apart, such as those of tenants
	Sources   map[string]string // where bundles are, by package or by CSV
	To        generate.Profile  // default: olm
	Commands  Commands          // of olmgen, for a plan
	Dumps     []string          // the files of the dump, for a plan
	Plan      string            // the file of the plan
}

// Commands are command lines of olmgen, which the front end knows.
type Commands struct {
	Since  string   // fails if the operators in the cluster are not those of the dump any more
	Backup string   // writes before/, before-olm/ and before-subscriptions/ of the dump
	Render string   // renders the file
	Part   []string // renders the operators that leave OLM to PartDirectory, if OLM v1 takes others over
	Verify string   // compares the dump with the file
	// VerifyKnown is Verify that accepts what Known names, the file that gets Known of the plan as a baseline.
	VerifyKnown, Known string
	Again              string // compares the cluster with the file, later
}

type view struct {
	Options
	Schema, APIVersion, Kind, ToWhy string
	OLMVersion, OpenShiftVersion    string
	KeepNames, WithoutNamespaces    bool
	Groups                          []groupView
	Shared                          []groupView // groups that operators have too which are not adopted
	Refused                         [][]string  // comments
}

type groupView struct {
	*Group
	Called             string // its name in the file; empty if that has none
	Itself             bool   // it is rendered as OLM v0 knows it
	WithUID, AllCopies bool
	InstallMode        string
	Watches            []string
	Selector           map[string]any
	ClusterObjectsFrom string
	Roles              string // a pattern for the names of the group's ClusterRoles
	Bundles            []bundleView
}

type bundleView struct {
	Comments                               []string
	Source, Name, Package, Channel         string
	Version                                string
	RefusedByV1                            string // why OLM v1 refuses it, and it becomes plain
	CertManager                            bool   // makes the certificates from now on
	Installed                              map[string]any
	Subscription, ClusterExtension, Config map[string]any
	ConfigOf                               string
	Scaled                                 []string // Deployments whose replicas stay
}

// toWhy is what each profile means for somebody who adopts.
var toWhy = map[generate.Profile]string{
	generate.ProfileOLM:              "the objects as OLM made them, those of OLM's own APIs among them",
	generate.ProfilePlain:            "the same operators without OLM",
	generate.ProfileDescoped:         "the operators without OLM, bound only where a group says",
	generate.ProfileOLMv1:            "what OLM v1 would make of the bundles",
	generate.ProfileSubscription:     "OLM v0 goes on; Git has what a user of OLM writes",
	generate.ProfileClusterExtension: "OLM v1 takes over",
}

// Declare returns a RenderConfig with comments for the operators of a cluster.
func Declare(s *State, o Options) ([]byte, error) {
	if o.To == "" {
		o.To = generate.ProfileOLM
	}
	if err := s.checkSome(); err != nil {
		return nil, err
	}
	d := declarer{Options: o, state: s, first: map[string]string{}, names: map[string]int{},
		asking: map[string]int{}}
	v := view{Schema: config.SchemaFile, APIVersion: config.APIVersion, Kind: config.Kind, Options: o,
		ToWhy: toWhy[o.To], KeepNames: o.To == generate.ProfileOLM || o.To == generate.ProfilePlain}
	v.OLMVersion, v.OpenShiftVersion = s.releases(o.To)
	v.WithoutNamespaces = o.To == generate.ProfileSubscription &&
		slices.ContainsFunc(s.Groups, func(g *Group) bool {
			return len(g.Operators) > 0 && !olm.HasGlobalGroup(g.Namespace)
		})
	for _, op := range s.All() {
		d.names[op.Package]++
		if op.Subscription != nil {
			d.asking[op.Subscription.Name]++
		}
	}
	v.Refused = lists.Map(s.Waiting, func(comment string) []string { return []string{comment} })
	for _, g := range s.Groups {
		v.Refused = append(v.Refused, s.refusedOf(g.Others)...)
		if len(g.Operators) == 0 {
			continue
		}
		if len(g.Others) > 0 && (d.likeOLM(g) || o.To == generate.ProfileSubscription) {
			roles := lists.Map(groupRoles, func(suffix string) string {
				return regexp.QuoteMeta(generate.GroupRoleName(g.Namespace, g.Name, suffix))
			})
			v.Shared = append(v.Shared, groupView{Group: g, Roles: strings.Join(roles, "|")})
		}
		gv, err := d.group(g)
		if err != nil {
			return nil, err
		}
		v.Groups = append(v.Groups, gv)
	}
	for _, name := range lists.Keys(o.Sources) {
		if err := s.CheckName(name); err != nil {
			return nil, err
		}
	}
	t, err := template.New("adopt.yaml").Funcs(templates.Functions()).Parse(adoptText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil || len(v.Groups) == 0 { // every operator is a comment
		return out.Bytes(), err
	}
	if _, err := config.Read(o.File, out.Bytes()); err != nil {
		return nil, fmt.Errorf("the new file would not be valid: %w", err)
	}
	return out.Bytes(), nil
}

// groupRoles end the names of the ClusterRoles of a group.
var groupRoles = []string{"admin", "edit", "view"}

// refusedOf returns the comments about operators that are not adopted although they were chosen.
func (s *State) refusedOf(operators []*Operator) (comments [][]string) {
	for _, o := range operators {
		if o.Refused != "" && s.choice.has(o) {
			comments = append(comments, append(describe(o), "Namespace "+o.Group.Namespace+
				". It is not adopted: "+oneLine(o.Refused)))
		}
	}
	return comments
}

type declarer struct {
	Options
	state *State
	first map[string]string // the first namespace of each operator, by package
	names map[string]int    // how many operators are of a package

	asking map[string]int // how many operators have a Subscription of a name
}

// likeOLM reports whether OLM v0's objects are rendered for all operators of a group, or for those that OLM v1 refuses.
func (d *declarer) likeOLM(g *Group) bool {
	refused := func(o *Operator) bool { return !d.state.Migration(o).Possible() }
	return d.To == generate.ProfileOLM || d.To == generate.ProfilePlain ||
		d.To == generate.ProfileClusterExtension && slices.ContainsFunc(g.Operators, refused)
}

func (d *declarer) group(g *Group) (groupView, error) {
	v := groupView{Group: g, Itself: d.likeOLM(g) || d.To == generate.ProfileSubscription}
	switch same := func(o *Group) bool { return o.Name == g.Name }; {
	case d.To == generate.ProfileDescoped && lists.Count(d.state.Groups, same) > 1:
		v.Called = g.Namespace + "-" + g.Name // without OLM's hash, both would share their ClusterRoles
	case v.Itself, d.To == generate.ProfileDescoped:
		v.Called = g.Name
	}
	// OLM v1 does not watch several namespaces: after the migration, the operators watch all
	several := len(g.Targets) > 1 && d.To == generate.ProfileClusterExtension && !d.likeOLM(g)
	if !g.Global() && !several {
		v.Watches = g.Targets
	} else if d.To != generate.ProfileDescoped {
		v.InstallMode = string(v1alpha1.InstallModeTypeAllNamespaces)
	}
	if v.Itself && olm.TargetsOf(&g.Spec).BySelector() && !g.Global() {
		var err error
		if v.Selector, err = manifest.Typed(g.Spec.Selector); err != nil {
			return v, err
		}
	}
	if d.To == generate.ProfileOLM {
		// Without OLM, webhooks select namespaces by name: nobody labels them any more, and an OLM that runs for
		// others removes the labels of groups that it does not know (operators/olm/operator.go, syncNamespace).
		webhooks := func(o *Operator) bool { return len(o.Webhooks) > 0 }
		v.WithUID = slices.ContainsFunc(g.Operators, webhooks) && len(g.Spec.TargetNamespaces) > 0
		v.AllCopies = g.Global()
	}
	if d.To != generate.ProfileOLMv1 && d.To != generate.ProfileSubscription &&
		d.To != generate.ProfileClusterExtension {
		v.ClusterObjectsFrom = d.shared(g)
	}
	for _, o := range g.Operators {
		b, err := d.bundle(o)
		if err != nil {
			return v, err
		}
		v.Bundles = append(v.Bundles, b)
	}
	return v, nil
}

// shared returns the namespace of another group that has all operators of this one.
func (d *declarer) shared(g *Group) string {
	var from []string
	for _, o := range g.Operators {
		from = lists.Add(from, d.first[o.Package])
		d.first[o.Package] = cmp.Or(d.first[o.Package], g.Namespace)
	}
	if len(from) != 1 {
		return ""
	}
	return from[0]
}

// OtherAPIs returns the APIs of a static group that its operators do not provide themselves.
func (g *Group) OtherAPIs() []any {
	own := func(api string) bool {
		return slices.ContainsFunc(g.Operators, func(o *Operator) bool {
			return slices.ContainsFunc(olm.OwnedAPIs(&o.CSV.Spec), func(a olm.API) bool { return a.String() == api })
		})
	}
	return text.Values(slices.DeleteFunc(olm.ListedAPIs(g.Annotations[olm.AnnotationProvidedAPIs]), own))
}

func (d *declarer) bundle(o *Operator) (bundleView, error) {
	v := bundleView{Comments: describe(o)}
	d.source(&v, o)
	if d.names[o.Package] > 1 {
		v.Name = o.Package + "-" + o.Group.Namespace
	}
	profile := d.To
	if d.To == generate.ProfileClusterExtension {
		if m := d.state.Migration(o); !m.Possible() {
			profile, v.RefusedByV1 = generate.ProfilePlain, strings.Join(m.Refusals(), ", ")
		}
	}
	v.CertManager = o.certified() && (profile == generate.ProfilePlain || profile == generate.ProfileDescoped ||
		profile == generate.ProfileOLMv1)
	if d.To == generate.ProfileOLM || profile == generate.ProfilePlain {
		v.Installed = installed(o)
	}
	if d.To != generate.ProfileOLM { // OLM wrote the properties into the pods, which restart without them
		delete(v.Installed, "replaces")
	}
	d.handOver(&v, o, profile)
	if !profile.HandsOver() {
		v.Scaled = d.state.scaled(o)
	}
	if o.Subscription != nil {
		var err error
		if v.Config, err = generate.ConfigValue(o.Subscription.Spec.Config); err != nil {
			return v, err
		}
		v.ConfigOf = o.Group.Namespace + "/" + o.Subscription.Name
	}
	return v, nil
}

func describe(o *Operator) []string {
	csv, s := oneLine(fmt.Sprintf("ClusterServiceVersion %s, %s", o.CSV.Name, o.CSV.Status.Phase)), o.Subscription
	if s == nil {
		return []string{csv + ", without a Subscription."}
	}
	channel := "channel " + s.Spec.Channel
	if s.Spec.Channel == "" {
		channel = "the default channel"
	}
	return []string{csv + ".", oneLine(fmt.Sprintf("Subscription %s: package %s, %s, catalog %s/%s.", s.Name,
		s.Spec.Package, channel, s.Spec.CatalogSourceNamespace, s.Spec.CatalogSource))}
}

func oneLine(s string) string { return text.Printable(text.OneLine(s)) }

// SourceIn returns the name by which sources have one for the operator: its CSV, or its package.
func (o *Operator) SourceIn(sources map[string]string) string {
	if sources[o.CSV.Name] != "" {
		return o.CSV.Name
	}
	return o.Package
}

// CheckBundle refuses what a source has if it is not the operator's bundle: of another release, or of another operator.
func (o *Operator) CheckBundle(ref, csv string) error {
	if csv == o.CSV.Name {
		return nil
	}
	return manifest.WithHint(fmt.Errorf("%s is %s", ref, csv), "name the bundle of that: --source "+
		o.CSV.Name+"=SOURCE; in a catalog, catalog:PATH finds it")
}

// source sets where the bundle comes from, or how one finds out.
func (d *declarer) source(v *bundleView, o *Operator) {
	if ref := d.Sources[o.SourceIn(d.Sources)]; ref != "" {
		v.Source = source.From(d.Dir, ref)
		if source.Several(ref) != "" {
			v.Package, v.Version = o.Package, o.Version()
		}
		return
	}
	if o.Image != "" {
		v.Source = "oci://" + o.Image
		v.Comments = append(v.Comments, oneLine("The image is in "+o.ImageFrom+"."))
		if !strings.Contains(o.Image, "@") {
			v.Comments = append(v.Comments, "A tag can be moved: write the digest. crane digest "+oneLine(o.Image))
		}
		return
	}
	v.Source = "bundles/" + o.CSV.Name
	v.Comments = append(v.Comments, "The image of the bundle is unknown: no InstallPlan with it is left. To find it:")
	if c := o.Catalog; c != nil && c.Spec.Image != "" {
		v.Comments = append(v.Comments, fmt.Sprintf("opm render %s | jq -r 'select(.name == %q) | .image'",
			oneLine(c.Spec.Image), o.CSV.Name), "and write it as oci://IMAGE@sha256:..., or put the bundle there.")
		return
	}
	if s := o.Subscription; s != nil {
		v.Comments = append(v.Comments, oneLine(fmt.Sprintf("kubectl port-forward -n %s service/%s 50051, and",
			s.Spec.CatalogSourceNamespace, s.Spec.CatalogSource)), oneLine(fmt.Sprintf("grpcurl -plaintext -d "+
			"'{\"pkgName\": %q, \"channelName\": %q, \"csvName\": %q}' localhost:50051 api.Registry/GetBundle: "+
			"bundlePath;", o.Package, cmp.Or(s.Spec.Channel, "CHANNEL"), o.CSV.Name)))
		if s.Spec.Channel == "" {
			v.Comments = append(v.Comments, oneLine(fmt.Sprintf("CHANNEL is defaultChannelName in: grpcurl -plaintext "+
				"-d '{\"name\": %q}' localhost:50051 api.Registry/GetPackage;", o.Package)))
		}
	}
	v.Comments = append(v.Comments, fmt.Sprintf("or ask the maker of %s; write oci://IMAGE@sha256:... or put the "+
		"bundle there.", o.CSV.Name))
}

// scaled returns the Deployments of an operator whose replicas are written through the subresource scale.
func (s *State) scaled(o *Operator) (names []string) {
	for _, d := range o.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if there := s.Dump.Get("Deployment", o.Group.Namespace, d.Name); there != nil && scaled(there) {
			names = append(names, d.Name)
		}
	}
	return names
}

// installed is what the bundle does not say of the operator in the cluster.
func installed(o *Operator) map[string]any {
	v := map[string]any{"replaces": o.CSV.Spec.Replaces}
	if o.Properties != "" {
		v["properties"] = o.Properties
	}
	if len(o.Webhooks) > 0 {
		v["webhooks"] = o.Webhooks
	}
	return v
}

// handOver fills what OLM is told, of v0 and of v1.
func (d *declarer) handOver(v *bundleView, o *Operator, profile generate.Profile) {
	sub := o.Subscription
	if sub == nil || !profile.HandsOver() {
		return
	}
	v.Channel = sub.Spec.Channel
	manual := sub.Spec.InstallPlanApproval == v1alpha1.ApprovalManual
	if profile == generate.ProfileSubscription {
		v.Subscription = map[string]any{"name": sub.Name, "startingCSV": true, "catalogSource": map[string]any{
			"namespace": sub.Spec.CatalogSourceNamespace, "name": sub.Spec.CatalogSource}}
		if manual {
			v.Subscription["approval"] = string(v1alpha1.ApprovalManual)
		}
		return
	}
	name := sub.Name
	if d.asking[name] > 1 { // a ClusterExtension is in no namespace
		name += "-" + sub.Namespace
	}
	v.ClusterExtension = map[string]any{"name": name}
	if manual {
		v.ClusterExtension["versionRange"] = o.Version()
	}
}
