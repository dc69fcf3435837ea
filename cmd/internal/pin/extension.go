package pin

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/predict"
)

// Extension is a ClusterExtension.
type Extension struct {
	Operator
	Request   extension.Request
	Sources   []extension.Source
	Selector  *metav1.LabelSelector // of catalogs; nil if it names none
	Installed []string              // names of other releases that clusters may have

	source  *extension.Source // that has what is approved
	refused error             // why nothing is approved
}

func (x *Extension) key() Package {
	return Package{Source{Name: x.source.Name}, x.Request.Package}
}

func (x *Extension) pkg() *catalog.Package {
	return x.source.Catalog.Packages[x.Request.Package]
}

// settle finds the approved release: the one that is given, else the one that OLM v1 installs in a new cluster.
func (x *Extension) settle() error {
	if x.Approved == "" {
		path, err := extension.PathOf(x.Sources, x.Request, "", "")
		switch {
		case err != nil:
			return x.refuse(err.Error(), "", "")
		case len(path.Steps) == 0:
			return x.refuse("OLM v1 installs nothing: "+path.Text, "", "")
		}
		x.Approved = path.Steps[len(path.Steps)-1].To
	}
	for i := range x.Sources {
		s := &x.Sources[i]
		p := s.Catalog.Packages[x.Request.Package]
		if p != nil && p.Bundle(x.Approved) != nil && (x.source == nil || s.Priority > x.source.Priority) {
			x.source = s
		}
	}
	if x.source == nil {
		return x.refuse(fmt.Sprintf("no catalog has %s of package %s", x.Approved, x.Request.Package),
			"approve a release that a catalog has, or pass the content that still has it", "")
	}
	return nil
}

// channels returns the channels of the package that the ClusterExtension looks at.
func (x *Extension) channels() []*catalog.Channel {
	return lists.Filter(x.pkg().Channels, func(ch *catalog.Channel) bool {
		return len(x.Request.Channels) == 0 || slices.Contains(x.Request.Channels, ch.Name)
	})
}

func (x *Extension) with(release string) []*catalog.Channel {
	return lists.Filter(x.channels(), func(ch *catalog.Channel) bool { return ch.Entry(release) != nil })
}

// upTo returns the package without the releases from which no update leads to what is approved.
func (x *Extension) upTo() *catalog.Package {
	p := x.pkg()
	channels := x.channels()
	leads := map[string]bool{x.Approved: true}
	for todo := []string{x.Approved}; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		for _, ch := range channels {
			e := ch.Entry(name)
			if e == nil {
				continue
			}
			for _, from := range p.Bundles {
				if !leads[from.Name] && updates(p, e, from.Name) {
					leads[from.Name] = true
					todo = append(todo, from.Name)
				}
			}
		}
	}
	cut := &catalog.Package{Place: p.Place, Name: p.Name, Declared: p.Declared, DefaultChannel: p.DefaultChannel,
		Deprecations: p.Deprecations}
	for _, ch := range channels {
		withChannel(cut, p, ch, lists.Filter(ch.Entries, func(e catalog.Entry) bool { return leads[e.Name] }))
	}
	return cut
}

// walks collects what OLM v1 installs on the way to what is approved.
func (x *Extension) walks(b *builder) error {
	if err := cmp.Or(x.refused, x.settle()); err != nil {
		return err
	}
	channels := x.with(x.Approved)
	for _, ch := range channels {
		by := asker{"ClusterExtension " + x.Name, &x.Operator}
		if err := b.approve(x.key(), x.pkg(), Release{ch.Name, x.Approved}, whyApproved, by); err != nil {
			return err
		}
	}
	if len(channels) == 0 {
		return x.refuse(x.Approved+" is in none of its channels", "name a channel that has it",
			"spec.source.catalog.channels")
	}
	cut := &catalog.Catalog{Packages: map[string]*catalog.Package{x.Request.Package: x.upTo()}}
	sources := []extension.Source{{Name: x.source.Name, Priority: x.source.Priority, Catalog: cut}}
	for _, from := range append([]string{""}, x.Installed...) {
		if from == x.Approved {
			continue
		}
		path, err := x.play(sources, from)
		if err != nil {
			return err
		}
		for _, s := range path.Steps {
			if x.pkg().Bundle(s.To).Image == "" {
				return x.refuse("nothing says the image of "+s.To+", which OLM v1 installs it from",
					"pin a catalog whose olm.bundle names it, or name it in catalog-templates beside ci.yaml", "")
			}
			x.keep(b, s)
		}
	}
	return nil
}

// keep keeps the bundle of a step in the channel that makes it an update, else in each channel that has it.
func (x *Extension) keep(b *builder, s resolve.PathStep) {
	if s.To == x.Approved {
		return
	}
	for _, ch := range x.with(s.To) {
		if s.Channel == "" || s.Channel == ch.Name {
			b.channel(x.key(), x.pkg(), ch.Name).why(s.To, whyOnTheWay+x.Approved)
		}
	}
}

// wayTip returns what to do where no update leads from a release that clusters may have; empty for a new cluster.
func wayTip(from string) string {
	if from == "" {
		return ""
	}
	return "approve a release between " + from + " and this one first, or forget " + from + " once no cluster has it"
}

// play follows the updates from a release, or in a new cluster. The error says why they do not end at what is approved.
func (x *Extension) play(sources []extension.Source, from string) (*resolve.Path, error) {
	path, err := extension.PathOf(sources, x.Request, from, "")
	if err != nil {
		return nil, x.refuse(err.Error(), wayTip(from), x.versionField())
	}
	at, where := path.From, "from "+path.From
	if from == "" {
		where = "in a new cluster"
	}
	if n := len(path.Steps); n > 0 {
		at = path.Steps[n-1].To
	}
	switch {
	case at == x.Approved && path.End != resolve.GoesRound:
		return path, nil
	case at == "":
		return nil, x.refuse(fmt.Sprintf("%s is approved; %s, OLM v1 installs nothing: %s", x.Approved, where,
			path.Text), wayTip(from), x.versionField())
	case path.From != "" && compareVersions(x.pkg(), path.From, x.Approved) > 0:
		return nil, x.refuse(fmt.Sprintf("%s is approved, and a cluster may have %s", x.Approved, path.From),
			"OLM does not downgrade: approve "+path.From+" or a newer release", "")
	}
	return nil, x.refuse(fmt.Sprintf("%s is approved; %s, OLM v1 comes to rest at %s: %s", x.Approved, where, at,
		path.Text), x.tip(), x.versionField())
}

// FieldVersion is the field of a ClusterExtension with its version or range.
const FieldVersion = "spec.source.catalog.version"

// versionField returns the field that decides which version OLM v1 takes, if it does not say exactly one.
func (x *Extension) versionField() string {
	if _, exact := extension.ExactVersion(x.Request.Versions); exact {
		return ""
	}
	return FieldVersion
}

func (x *Extension) tip() string {
	v := version(x.pkg(), x.Approved)
	if v == nil || x.versionField() == "" {
		return ""
	}
	return "write " + v.String() + " into " + FieldVersion
}

func (x *Extension) locked() Locked {
	o := Locked{ClusterExtension: x.Name, Catalog: x.key().Source.String(), Package: x.Request.Package,
		Approved: x.Approved, ApprovedBy: x.By, Installed: slices.Clone(x.Installed)}
	if channels := x.with(x.Approved); len(channels) > 0 {
		o.Channel = channels[0].Name
	}
	return o
}

const fieldSelector = "spec.source.catalog.selector"

// checkSelectors refuses ClusterExtensions that do not select their pinned catalog, or that the admission policies,
// which compare labels, would refuse. Where the pinned catalog has a name of its own, the selector is replaced.
func (m *maker) checkSelectors() error {
	_, policies := m.keepsPolicies()
	for _, x := range m.input.Extensions {
		from := x.key().Source
		if !x.InGit || m.to(from) != from {
			continue
		}
		tip := fmt.Sprintf("write matchLabels with %s: %s, and nothing else", predict.LabelCatalogName, from.Name)
		switch {
		case !predict.SelectsByName(x.Selector, from.Name):
			return x.refuse(fmt.Sprintf("the pinned ClusterCatalog %s has no label but %s, and is not selected",
				from.Name, predict.LabelCatalogName), tip, fieldSelector)
		case policies && x.Selector != nil && len(x.Selector.MatchExpressions) > 0:
			return x.refuse("the admission policies compare labels, and would refuse matchExpressions", tip,
				fieldSelector)
		}
	}
	return nil
}
