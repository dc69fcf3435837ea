package pin

import (
	"bytes"
	"errors"
	"reflect"

	"github.com/olmgen/olmgen/cmd/internal/pin/admission"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
)

// AdmissionOptions say what becomes of the admission policies.
type AdmissionOptions struct {
	Write  bool             // policies are written; else only if the lock has them
	Drop   bool             // and not any more
	Finish bool             // only what is pinned now is taken
	Exempt admission.Exempt // a list that is nil: as the lock has it
	File   string           // what to change, as the messages of the policies name it
}

// change takes over the lists of another one that are not nil, and reports whether there are any.
func change(e *admission.Exempt, to admission.Exempt) (changed bool) {
	from := []*[]string{&to.Namespaces, &to.Users, &to.Groups}
	for i, list := range []*[]string{&e.Namespaces, &e.Users, &e.Groups} {
		if *from[i] != nil {
			*list, changed = *from[i], true
		}
	}
	return changed
}

const admissionFile = "admission.yaml"

// keepsPolicies reports whether there are policies, and returns what the old lock has of them, which may be nil.
func (m *maker) keepsPolicies() (old *admission.Policies, policies bool) {
	if m.old != nil {
		old = m.old.Admission
	}
	a := m.options.Admission
	return old, !a.Drop && (old != nil || a.Write)
}

// checkAdmission refuses what is said of policies if there are none.
func (m *maker) checkAdmission() error {
	_, policies := m.keepsPolicies()
	a := m.options.Admission
	if exempts := change(&admission.Exempt{}, a.Exempt); !policies && (a.Finish || exempts) {
		return manifest.WithHint(errors.New("there are no admission policies to finish or to exempt somebody from"),
			"have them written first")
	}
	return nil
}

// policies returns the policies as a file, and notes them in the lock; nil if there are none.
func (m *maker) policies() ([]byte, error) {
	old, policies := m.keepsPolicies()
	if !policies {
		return nil, nil
	}
	a := m.options.Admission
	now := &admission.Policies{Facts: m.facts()}
	if old != nil {
		now.Exempt, now.Previous = old.Exempt, old.Previous
		if !reflect.DeepEqual(old.Facts, now.Facts) {
			both := old.Facts
			if old.Previous != nil {
				both = old.Previous.Union(old.Facts)
			}
			now.Previous = &both
		}
	}
	change(&now.Exempt, a.Exempt)
	if a.Finish {
		now.Previous = nil
	}
	m.Lock.Admission = now
	objects, err := now.Objects(a.File)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, x := range objects {
		v1 := x.Of.Group == olm.GroupV1
		if v1 && len(now.Facts.ClusterCatalogs) == 0 || !v1 && len(now.Facts.CatalogSources) == 0 {
			continue // nothing of that OLM is pinned, so the policies leave it alone
		}
		out.WriteString("---\n")
		out.Write(x.YAML)
	}
	return out.Bytes(), nil
}

func (m *maker) facts() (f admission.Facts) {
	csvs := map[string]bool{}
	for i := range m.Catalogs {
		c, image := &m.Catalogs[i], m.Lock.Catalogs[i].Image
		if c.To.Namespace == "" {
			f.ClusterCatalogs = append(f.ClusterCatalogs, admission.ClusterCatalog{Name: c.To.Name, Image: image})
			continue
		}
		f.CatalogSources = append(f.CatalogSources, admission.CatalogSource{Namespace: c.To.Namespace, Name: c.To.Name,
			Image: image})
		for _, p := range c.Packages {
			for _, b := range p.Bundles {
				csvs[b.Name] = true
			}
		}
	}
	f.CSVs = lists.Keys(csvs)
	for _, n := range m.input.Namespaces {
		for _, o := range n.locked() {
			to := m.to(o.pkg().Source)
			s := admission.Subscription{Namespace: o.Namespace, Package: o.Package, Channel: o.Channel,
				Source: to.Name, SourceNamespace: to.Namespace}
			if git, by := n.subscription(o.pkg()); git != nil {
				s.Channel, s.File = git.Channel, by.File
			}
			f.Subscriptions = append(f.Subscriptions, s)
		}
	}
	f.Extensions = lists.Map(m.input.Extensions, m.extension)
	return f
}

func (m *maker) extension(x *Extension) admission.Extension {
	out := admission.Extension{Name: x.Name, Package: x.Request.Package, Channels: x.Request.Channels,
		Version: x.Request.Versions, File: x.File}
	if x.Selector != nil {
		out.Selector = x.Selector.MatchLabels
	}
	from := x.key().Source
	if to := m.to(from); to != from {
		out.Selector = map[string]string{predict.LabelCatalogName: to.Name}
	}
	return out
}
