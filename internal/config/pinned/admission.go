package pinned

import (
	"bytes"
	"errors"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/olmgen/olmgen/internal/catalog/admission"
	"github.com/olmgen/olmgen/internal/catalog/pin"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// Admission is what a lock keeps of the admission policies: what they take, and whom they do not ask.
type Admission struct {
	Exempt
	Facts    admission.Facts  `json:"facts"`
	Previous *admission.Facts `json:"previous,omitempty"` // taken too, until the change is finished
}

// Exempt are the namespaces, users and groups that the policies do not ask.
type Exempt struct {
	Namespaces []string `json:"exemptNamespaces,omitempty"`
	Users      []string `json:"exemptUsers,omitempty"`
	Groups     []string `json:"exemptGroups,omitempty"`
}

// AdmissionOptions say what becomes of the admission policies.
type AdmissionOptions struct {
	Write  bool   // policies are written; else only if the lock has them
	Drop   bool   // and not any more
	Finish bool   // only what is pinned now is taken
	Exempt Exempt // a list that is nil: as the lock has it
	File   string // what to change, as the messages of the policies name it
}

func (e *Exempt) lists() []*[]string { return []*[]string{&e.Namespaces, &e.Users, &e.Groups} }

// change takes over the lists of another one that are not nil, and reports whether there are any.
func (e *Exempt) change(to Exempt) (changed bool) {
	for i, list := range to.lists() {
		if *list != nil {
			*e.lists()[i], changed = *list, true
		}
	}
	return changed
}

const admissionFile = "admission.yaml"

// keeps reports whether there are policies, and returns what the lock has of them, which may be nil.
func (o *Options) keeps() (old *Admission, policies bool) {
	if o.Lock != nil {
		old = o.Lock.Admission
	}
	return old, !o.Admission.Drop && (old != nil || o.Admission.Write)
}

// checkAdmission refuses what is said of policies if there are none.
func (o *Options) checkAdmission() error {
	_, policies := o.keeps()
	if exempts := new(Exempt).change(o.Admission.Exempt); !policies && (o.Admission.Finish || exempts) {
		return manifest.WithHint(errors.New("there are no admission policies to finish or to exempt somebody from"),
			"have them written first")
	}
	return nil
}

// admission returns the policies as a file, and notes them in the lock; nil if there are none.
func (r *Result) admission(in *Input, o Options) ([]byte, error) {
	old, policies := o.keeps()
	if !policies {
		return nil, nil
	}
	a := o.Admission
	now := &Admission{Facts: r.facts(in)}
	if old != nil {
		now.Exempt, now.Previous = old.Exempt, old.Previous
		if !reflect.DeepEqual(old.Facts, now.Facts) {
			both := old.Facts
			if old.Previous != nil {
				both = union(*old.Previous, old.Facts)
			}
			now.Previous = &both
		}
	}
	now.change(a.Exempt)
	if a.Finish {
		now.Previous = nil
	}
	r.Lock.Admission = now
	set, err := templates.Load(nil)
	if err != nil {
		return nil, err
	}
	objects, err := admission.Objects(now.Facts, admission.Options{File: a.File, ExemptNamespaces: now.Namespaces,
		ExemptUsers: now.Users, ExemptGroups: now.Groups, Previous: now.Previous, Templates: set})
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

// facts returns what a cluster may take.
func (r *Result) facts(in *Input) (f admission.Facts) {
	csvs := map[string]bool{}
	for i := range r.Catalogs {
		c, image := &r.Catalogs[i], r.Lock.Catalogs[i].Image
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
	f.CSVs = slices.Sorted(maps.Keys(csvs))
	for i, list := range r.Namespaces {
		for _, a := range list {
			f.Subscriptions = append(f.Subscriptions, r.subscription(&in.Namespaces[i], a))
		}
	}
	for i := range in.Extensions {
		f.Extensions = append(f.Extensions, r.extension(&in.Extensions[i], r.Extensions[i]))
	}
	return f
}

// subscription returns the Subscription of a release, which is of Git or made by OLM.
func (r *Result) subscription(n *Namespace, a pin.Approval) admission.Subscription {
	to := r.to(a.Source)
	s := admission.Subscription{Namespace: n.State.Namespace, Package: a.Name, Channel: a.Channel, Source: to.Name,
		SourceNamespace: to.Namespace}
	for i := range n.State.Subscriptions {
		if sub := &n.State.Subscriptions[i]; pin.PackageOf(sub) == a.Package {
			s.Channel, s.File = sub.Channel, n.Operators[i].File
		}
	}
	return s
}

func (r *Result) extension(x *Extension, a pin.Approval) admission.Extension {
	out := admission.Extension{Name: x.Name, Package: x.Request.Package, Channels: x.Request.Channels,
		Version: x.Request.Versions, File: x.File}
	if x.Selector != nil {
		out.Selector = x.Selector.MatchLabels
	}
	if to := r.to(a.Source); to != a.Source {
		out.Selector = map[string]string{predict.LabelCatalogName: to.Name}
	}
	return out
}

// union returns the facts of both, each once.
func union(a, b admission.Facts) admission.Facts {
	return admission.Facts{CSVs: both(a.CSVs, b.CSVs), Subscriptions: both(a.Subscriptions, b.Subscriptions),
		Extensions: both(a.Extensions, b.Extensions), CatalogSources: both(a.CatalogSources, b.CatalogSources),
		ClusterCatalogs: both(a.ClusterCatalogs, b.ClusterCatalogs)}
}

func both[T any](a, b []T) []T {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.ContainsFunc(out, func(o T) bool { return reflect.DeepEqual(o, x) }) {
			out = append(out, x)
		}
	}
	return out
}

// addAdmission adds the policies to the files, and returns the name of their file as a resource; empty if there are
// none.
func (r *Result) addAdmission(in *Input, o Options) (string, error) {
	data, err := r.admission(in, o)
	if err != nil || data == nil {
		return "", err
	}
	r.add(path.Join(clusterDir, admissionFile), data)
	return admissionFile, nil
}
