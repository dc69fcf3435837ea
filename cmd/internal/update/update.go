// Package update takes the operators of a RenderConfig along their paths of upgrade.
package update

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/predict"
)

// Options say what to update.
type Options struct {
	config.Options
	File     string             // of the RenderConfig
	Catalogs []*catalog.Catalog // for operators whose source is an image
	ToHead   bool               // take all steps, not one
}

// Status is what happens to an operator.
type Status string

// The statuses.
const (
	Updated Status = "updated" // its version changes
	Current Status = "current" // there is no update
	Held    Status = "held"    // OLM does not make the update that the catalog has
	Left    Status = "left"    // it has no version that a catalog knows
	// Withdrawn: the catalog does not have its version, and nothing updates it.
	Withdrawn Status = "withdrawn"
)

// Operator is an operator of the RenderConfig.
type Operator struct {
	Name     string   `json:"name"`
	Package  string   `json:"package,omitempty"`
	Channel  string   `json:"channel,omitempty"`
	From     string   `json:"from,omitempty"`  // CSV
	To       string   `json:"to,omitempty"`    // CSV, if it is updated
	Steps    []string `json:"steps,omitempty"` // the CSVs on the way, To last
	Status   Status   `json:"status"`
	Reason   string   `json:"reason,omitempty"`
	Requires []string `json:"requires,omitempty"` // CSVs that OLM installs with the update and the file does not have

	// Of an operator of a tree.
	Object     string `json:"object,omitempty"` // that asks for it
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	NewChannel string `json:"newChannel,omitempty"`

	place  config.CatalogPlace
	behind bool // with all steps, it does not get to the head, for Reason
}

// Place returns the group of the operator in the file, and the index of its bundle there.
func (o *Operator) Place() (group, bundle int) { return o.place.Group, o.place.Index }

// Plan is what changes in a RenderConfig, or in the files of a tree.
type Plan struct {
	Operators []Operator     // in the order of the file; of a tree by file and line
	Notes     []string       // what else a reader must know
	Files     []File         // that change
	Moves     []predict.Move // of a tree: what the changes have OLM do
	Unknown   int            // how many operators are unknown
}

// File is a file that changes.
type File struct {
	Name          string
	Before, After []byte
}

// Changed reports whether a file changes.
func (p *Plan) Changed() bool { return len(p.Files) > 0 }

// Held reports whether an operator stays behind although its channel goes on, or is not in the catalog any more.
func (p *Plan) Held() bool {
	return slices.ContainsFunc(p.Operators, func(o Operator) bool {
		return o.Status == Held || o.Status == Withdrawn || o.behind
	})
}

// NewPlan plans the update of a RenderConfig, which was read from data. OLM's resolver decides, with all operators of a
// group together: each goes to the version that OLM would update it to.
func NewPlan(ctx context.Context, c *config.Config, data []byte, o Options) (*Plan, error) {
	places, err := c.InCatalogs(ctx, o.Options, o.Catalogs...)
	if err != nil {
		return nil, err
	}
	u := &updater{config: c, places: places, options: o, plan: &Plan{}}
	for _, place := range places.All() {
		if place.Fault != nil {
			return nil, place.Fault
		}
		u.plan.Operators = append(u.plan.Operators, u.begin(place))
	}
	for group := range c.Groups {
		if err := u.group(ctx, group); err != nil {
			return nil, err
		}
	}
	var changes []config.Change
	for i := range u.plan.Operators {
		changes = append(changes, u.changes(&u.plan.Operators[i])...)
	}
	if len(changes) > 0 {
		text, err := c.Edit(data, changes)
		if err != nil {
			return nil, err
		}
		u.plan.Files = []File{{Name: o.File, Before: data, After: text}}
	}
	return u.plan, nil
}

type updater struct {
	config  *config.Config
	places  *config.CatalogPlaces
	options Options
	plan    *Plan
}

func (u *updater) begin(place config.CatalogPlace) Operator {
	o := Operator{Name: place.Name, Status: Current, place: place}
	if place.Why != nil && !place.Withdrawn {
		if o.Status, o.Reason = Left, place.Why.Error(); place.Source != "" { // render refuses it
			o.Status = Withdrawn
		}
		return o
	}
	o.Package, o.From = place.Package.Name, place.Bundle.Name
	b := u.bundle(&o)
	switch {
	case place.Catalog != nil && place.Catalog.Packages[o.Package] == nil: // its update graph is refused
		u.plan.Unknown++
		o.Status, o.Reason = Left, fmt.Sprintf("not known: %v", place.Catalog.Missing(o.Package))
	case place.Channel == nil:
		o.Status, o.Reason = Left, fmt.Sprintf("%s is in no channel", o.From)
	case place.Source != "" && b.Version == "":
		o.Status, o.Reason = Left, "it has no version: it always is the head of its channel"
	}
	if place.Channel != nil && (b.Channel != "" || !u.places.OfOLMv1(&place)) {
		o.Channel = place.Channel.Name
	}
	return o
}

func (u *updater) bundle(o *Operator) config.Bundle {
	return u.config.Groups[o.place.Group].Bundles[o.place.Index]
}

func (u *updater) group(ctx context.Context, group int) error {
	var list []*Operator
	for i := range u.plan.Operators {
		if o := &u.plan.Operators[i]; o.place.Group == group && o.Status != Left {
			if u.places.OfOLMv1(&o.place) {
				u.alone(o)
				continue
			}
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return nil
	}
	state, errs := u.places.State(ctx, group, true)
	u.plan.Notes = append(u.plan.Notes, lists.Map(errs, error.Error)...)
	r, err := resolve.Run(ctx, state, resolve.Options{})
	if err != nil {
		return err
	}
	taken := r
	if !u.options.ToHead {
		if taken, err = resolve.Run(ctx, state, resolve.Options{Steps: 1}); err != nil {
			return err
		}
	}
	for _, o := range list {
		u.decide(o, state, taken, r)
		o.sayWithdrawn()
	}
	for _, f := range taken.Findings {
		if strings.HasPrefix(f.Object, "Namespace ") && r.Failure == nil {
			u.plan.Notes = append(u.plan.Notes, f.Object+": "+f.Message)
		}
	}
	return nil
}

// alone takes an operator of OLM v1 along its path: OLM v1 resolves no dependencies.
func (u *updater) alone(o *Operator) {
	sources := []extension.Source{{Name: "catalog", Catalog: o.place.Catalog}}
	asked := u.places.Request(&o.place)
	p, err := extension.PathOf(sources, asked, o.From, "")
	if err != nil {
		o.Status, o.Reason = Held, err.Error()
		return
	}
	versions := asked.Versions
	asked.Versions = ""
	switch o.take(p.Steps, u.options.ToHead); {
	case o.place.Withdrawn:
	case !p.Good():
		o.stays(p.Text, u.options.ToHead)
	case o.Status == Current && versions != "":
		if free, err := extension.PathOf(sources, asked, o.From, ""); err == nil && len(free.Steps) > 0 {
			o.Reason = fmt.Sprintf("%s follows, and versionRange %s leaves it out", free.Steps[0].To, versions)
		}
	}
	o.sayWithdrawn()
}

// sayWithdrawn notes that the catalog no longer has the version of the operator.
func (o *Operator) sayWithdrawn() {
	switch {
	case !o.place.Withdrawn:
	case o.Status == Updated && o.place.Package != nil && o.place.Package.Bundle(o.From) != nil:
		o.Reason = fmt.Sprintf("%s is not%s", o.From, inChannel(o.place.Channel.Name))
	case o.Status == Updated:
		o.Reason = fmt.Sprintf("the catalog no longer has %s", o.From)
	case o.Status == Current && o.Reason == "":
		o.Status, o.Reason = Withdrawn, fmt.Sprintf("the catalog does not have it, and nothing%s updates it: "+
			"withdrawn from the catalog, or a typing error", inChannel(o.Channel))
	}
}

func inChannel(channel string) string {
	if channel == "" {
		return ""
	}
	return " in channel " + channel
}

// decide takes over what OLM does with a Subscription: the steps that are taken, and from all of them why none is.
func (u *updater) decide(o *Operator, state *resolve.State, taken, r *resolve.Result) {
	switch f := r.Failure; {
	case f != nil:
		o.Status, o.Reason = Held, "OLM updates nothing in its group: "+f.Why()
		return
	case r.Outcome == resolve.Cycle && u.options.ToHead:
		o.Status, o.Reason = Held, "the updates of its group form a cycle"
		return
	}
	o.take(taken.StepsOf(o.Name), true)
	for _, step := range taken.Steps {
		for _, n := range step.NewSubscriptions { // of dependencies, which rendering adds if it resolves
			for _, p := range step.CSVs {
				if p.Name == n.StartingCSV && slices.Contains(o.Steps, p.RequiredBy) && !u.config.Resolve {
					o.Requires = append(o.Requires, p.Name)
				}
			}
		}
	}
	goesOn := len(r.StepsOf(o.Name)) > len(o.Steps)
	switch why := r.HeldBack(state.Namespace, o.Name); {
	case goesOn && o.Status == Current:
		o.Reason = "OLM updates it after the others of its group"
	case !goesOn && why != "":
		o.stays(why, u.options.ToHead)
	}
}

// take takes over updates: all, or the first.
func (o *Operator) take(steps []resolve.PathStep, all bool) (taken []resolve.PathStep) {
	if !all {
		steps = steps[:min(1, len(steps))]
	}
	o.Steps = lists.Map(steps, func(s resolve.PathStep) string { return s.To })
	if n := len(o.Steps); n > 0 {
		o.Status, o.To = Updated, o.Steps[n-1]
	}
	return steps
}

// stays takes over why an operator does not go on. After one step, the next run says it.
func (o *Operator) stays(why string, toHead bool) {
	switch {
	case o.Status == Current:
		o.Status, o.Reason = Held, why
	case o.Status == Updated && toHead:
		o.behind, o.Reason = true, "held back there: "+why
	}
}

// changes returns what changes in the file for an operator. Where the file cannot say it, the operator is left alone.
func (u *updater) changes(o *Operator) (list []config.Change) {
	if o.Status != Updated {
		return nil
	}
	b, next := u.bundle(o), o.place.Package.Bundle(o.To)
	change := func(field, value string) config.Change {
		return config.Change{Group: o.place.Group, Bundle: o.place.Index, Field: field, Value: value}
	}
	if b.Version != "" {
		list = append(list, change("version", versionLike(b, o, next)))
	}
	if o.place.Source == "" { // an image
		image, err := imageLike(b.Source, next)
		if err != nil {
			o.Status, o.Reason, o.To, o.Steps, o.Requires = Left, err.Error(), "", nil, nil
			return nil
		}
		list = append(list, change("source", image))
	}
	i := b.Installed
	if i != nil && i.Properties != "" {
		list = append(list, change("installed.properties", resolve.PropertiesAnnotation(next, o.Package)))
	}
	if i != nil && i.Replaces != nil {
		if e := o.place.Channel.Entry(o.To); e != nil {
			list = append(list, change("installed.replaces", e.Replaces))
		}
	}
	return list
}

// versionLike returns the version of a bundle in the form of the old one: a version, with v or not, or a name.
func versionLike(b config.Bundle, o *Operator, next *catalog.Bundle) string {
	v, ok := next.Version()
	version := v.String()
	if strings.HasPrefix(b.Version, "v") {
		version = "v" + version
	}
	choice, err := o.place.Catalog.Choose(o.Package, b.Channel, version)
	if b.Version == o.From || !ok || err != nil || choice.Bundle != next { // another bundle may have this version too
		return next.Name
	}
	return version
}

// imageLike returns the image of a bundle as a source, in the repository of the old source.
func imageLike(old string, next *catalog.Bundle) (string, error) {
	prefix := old[:strings.Index(old, "://")+len("://")]
	if next.Image == "" {
		return "", fmt.Errorf("the catalog has no image of %s", next.Name)
	}
	repository, tagged := repositoryOf(strings.TrimPrefix(old, prefix))
	newRepository, _ := repositoryOf(next.Image)
	_, digest, hasDigest := strings.Cut(next.Image, "@")
	switch {
	case repository == newRepository:
		return prefix + next.Image, nil
	case hasDigest && tagged != "":
		return prefix + repository + "@" + digest, nil
	}
	return "", errors.New("the catalog has the image " + next.Image + ", which is in another repository")
}

// repositoryOf splits an image into its repository, and its tag or digest.
func repositoryOf(image string) (repository, rest string) {
	if name, digest, ok := strings.Cut(image, "@"); ok {
		image, rest = name, digest
	}
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[:i], cmp.Or(rest, image[i+1:])
	}
	return image, rest
}

// Summary returns how many operators are in each status, on one line.
func (p *Plan) Summary() string {
	words := map[Status]string{Current: "up to date", Held: "held back", Left: "left alone"}
	if len(p.Operators) == 0 {
		return "no operators"
	}
	var parts []string
	for _, s := range []Status{Updated, Current, Held, Withdrawn, Left} {
		if n := lists.Count(p.Operators, func(o Operator) bool { return o.Status == s }); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, cmp.Or(words[s], string(s))))
		}
	}
	if n := lists.Count(p.Operators, func(o Operator) bool { return o.behind }); n > 0 {
		parts = append(parts, fmt.Sprintf("%d held back on the way", n))
	}
	return strings.TrimSuffix(text.Count(len(p.Operators), "operator")+": "+strings.Join(parts, ", "), ": ")
}

// Report is what is printed about a Plan.
type Report struct {
	File      string     `json:"file"`    // or the paths of a tree
	Updated   bool       `json:"updated"` // a file changes
	Operators []Operator `json:"operators"`
	Notes     []string   `json:"notes,omitempty"`
	// Changes is how what the file renders to changes; nil if nothing changes, or if the bundles are not at hand.
	Changes *compare.Report `json:"changes,omitempty"`
	// Reviews are about the operators of a tree that are updated, the worst first.
	Reviews []review.OperatorMove `json:"reviews,omitempty"`
	Patch   string                `json:"patch,omitempty"` // what changes in the files, if they are not written
}

// JSONKind returns the kind of the report.
func (*Report) JSONKind() string { return "UpdateReport" }

// Following returns the patch, and how what the file renders to changes or the reviews.
func (r *Report) Following(findings.Format) (list []any) {
	if r.Patch != "" {
		list = append(list, patch(r.Patch))
	}
	if r.Changes != nil {
		list = append(list, r.Changes)
	}
	for _, m := range r.Reviews {
		if m.Diff != nil {
			list = append(list, m.Diff)
		}
	}
	return list
}

type patch string

// Formats returns the patch, in Markdown between fences that it does not contain.
func (p patch) Formats() map[findings.Format]func(io.Writer) error {
	fence := "```"
	for strings.Contains(string(p), fence) {
		fence += "`"
	}
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	return map[findings.Format]func(io.Writer) error{findings.Text: write(string(p)),
		findings.Markdown: write(fence + "diff\n" + string(p) + fence + "\n")}
}

// Document returns the report for people: in text some lines for each operator, otherwise a table.
func (r *Report) Document() *document.Document {
	lines := document.Section{Formats: []findings.Format{findings.Text}}
	table := document.Table{Columns: []document.Column{{Title: "Operator"}, {Title: "Channel"}, {Title: "From"},
		{Title: "To"}, {}}}
	for _, o := range r.Operators {
		title := o.Name
		if o.File != "" { // of its object in a tree
			title = fmt.Sprintf("%s:%d: %s", o.File, o.Line, o.Name)
		}
		t := document.Table{Title: title + ": " + o.statusLine(), Columns: document.Columns("More"), Indent: 4}
		says := string(o.Status)
		if o.Reason != "" {
			says += ": " + o.Reason
		}
		steps := strings.Join(o.Steps, ", ")
		if o.Status == Updated && o.Reason != "" {
			t.Rows = append(t.Rows, document.Cells(o.Reason))
		}
		if len(o.Steps) > 1 {
			t.Rows = append(t.Rows, document.Cells("by "+steps))
		}
		if len(o.Requires) > 0 {
			also := "OLM also installs " + text.And(o.Requires)
			t.Rows = append(t.Rows, document.Cells(also+", which the file does not have"))
			says += "; " + also
		}
		lines.Tables = append(lines.Tables, t)
		table.Rows = append(table.Rows, document.Cells(title, o.channels(), o.From, steps, says))
	}
	for _, m := range r.Reviews {
		if m.Diff == nil {
			lines.Remarks = append(lines.Remarks, document.Remark{Label: "not reviewed",
				Text: m.Object + ": " + m.Unknown})
		}
	}
	tables := document.Section{Formats: []findings.Format{findings.Markdown, findings.HTML}}
	if len(table.Rows) > 0 {
		tables.Tables = append(tables.Tables, table)
	}
	lines.Remarks = append(lines.Remarks, lists.Map(r.Notes, func(n string) document.Remark {
		return document.Remark{Label: "note", Text: n}
	})...)
	tables.Remarks = lines.Remarks
	return &document.Document{Kind: "Update", Title: r.File, Sections: []document.Section{lines, tables}}
}

func (o *Operator) channels() string {
	if o.NewChannel != "" {
		return o.Channel + " -> " + o.NewChannel
	}
	return o.Channel
}

func (o *Operator) statusLine() string {
	at := o.From
	if o.Status == Updated && o.To != "" {
		at += " -> " + o.To
	}
	if o.Channel != "" {
		at += ", channel "
	}
	if at += o.channels(); at == "" && o.Status != Held { // no catalog says what it is
		at = "not known"
	}
	switch o.Status {
	case Updated:
		return at
	case Current:
		return at + ": " + cmp.Or(o.Reason, "up to date")
	case Held:
		return strings.TrimPrefix(at+": held back: "+o.Reason, ": ")
	case Withdrawn:
		return at + ": warning: " + o.Reason
	}
	return "left alone: " + o.Reason
}
