package groups

import (
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/findings"
)

// Catalog returns the ClusterServiceVersions that Subscriptions install. *source.Catalog implements it.
type Catalog interface {
	Has(pkg string) bool
	CSV(pkg, channel, version string) ([]byte, error)
}

// subscription is a Subscription to a package.
type subscription struct {
	ordered
	pkg, channel, starting, approval, installed string
}

func (c *cluster) addSubscription(p ordered) *manifest.Error {
	s := &subscription{ordered: p}
	for _, f := range []struct {
		to   *string
		path []string
	}{
		{&s.pkg, []string{"spec", "name"}},
		{&s.channel, []string{"spec", "channel"}},
		{&s.starting, []string{"spec", "startingCSV"}},
		{&s.approval, []string{"spec", "installPlanApproval"}},
		{&s.installed, []string{"status", "installedCSV"}},
	} {
		if err := field(p.Object, f.to, f.path...); err != nil {
			return err
		}
	}
	c.subs = append(c.subs, s)
	return nil
}

// subscribe adds the CSV that each Subscription installs: the one in the tree, or that of the first catalog that has
// the package.
func (c *cluster) subscribe(catalogs []Catalog) {
	csvs := map[string][]*csv{}
	for _, v := range c.csvs {
		if !v.copied {
			csvs[v.namespace] = append(csvs[v.namespace], v)
		}
	}
	for _, s := range c.subs {
		if s.isInstalled(csvs[s.Namespace]) {
			continue
		}
		i := slices.IndexFunc(catalogs, func(k Catalog) bool { return k.Has(s.pkg) })
		var err error
		switch {
		case i >= 0:
			err = c.addFrom(s, catalogs[i])
		case len(catalogs) > 0:
			err = fmt.Errorf("no catalog has package %s", s.pkg)
		default:
			err = errors.New("there is no catalog")
		}
		if err != nil {
			c.blind[s.Namespace] = true
			c.note(
				ruleSubscription,
				findings.Note,
				s.Object,
				"spec.name",
				"the CSV that it installs is not checked: "+err.Error(),
				"pass its catalog",
			)
		}
	}
	slices.SortStableFunc(c.csvs, func(a, b *csv) int { return a.compare(b.ordered) })
}

// isInstalled reports whether one of the CSVs is that of the Subscription: the one that its spec or status names, one
// with OLM's label for the package, or one with the name of the package.
func (s *subscription) isInstalled(csvs []*csv) bool {
	label := olmGroup + "/" + s.pkg + "." + s.Namespace
	return slices.ContainsFunc(csvs, func(v *csv) bool {
		labels, _ := v.Get("metadata", "labels")
		set, _ := labels.(map[string]any)
		_, labelled := set[label]
		return labelled || v.name == s.installed || v.name == s.starting || bundle.BaseName(v.name, "") == s.pkg
	})
}

// addFrom adds the CSV of a catalog: the head of the channel, which OLM reaches in the end, or startingCSV if
// upgrades need approval.
func (c *cluster) addFrom(s *subscription, catalog Catalog) error {
	version := ""
	if s.approval == string(v1alpha1.ApprovalManual) {
		version = s.starting
	}
	data, err := catalog.CSV(s.pkg, s.channel, version)
	if err != nil {
		return err
	}
	docs, err := manifest.ReadFile(s.File, data, manifest.Limits{})
	if err != nil {
		return err
	}
	if len(docs) != 1 {
		return fmt.Errorf("%d documents in the catalog's ClusterServiceVersion", len(docs))
	}
	o, err := docs[0].Object()
	if err != nil {
		return err
	}
	v := &csv{ordered: s.ordered, name: o.Name, namespace: s.Namespace, sub: s, annotations: map[string]string{}}
	v.Object = o
	if err := v.read(o); err != nil {
		return err
	}
	v.given = nil
	if !c.hasOperator(v) {
		c.csvs = append(c.csvs, v)
	}
	return nil
}

// hasOperator reports whether the tree has the CSV of a catalog in the same namespace already, in any version.
func (c *cluster) hasOperator(v *csv) bool {
	return slices.ContainsFunc(c.csvs, func(other *csv) bool {
		return !other.copied && other.namespace == v.namespace &&
			bundle.BaseName(other.name, "") == bundle.BaseName(v.name, "")
	})
}

// where returns the object that findings about a CSV refer to.
func (v *csv) where() *manifest.Object {
	if v.sub != nil {
		return v.sub.Object
	}
	return v.Object
}
