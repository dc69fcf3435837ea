package predict

import (
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// subscription is a Subscription to a package.
type subscription struct {
	ordered
	pkg, channel, source, sourceNamespace, starting, approval, installed string
}

func (c *cluster) addSubscription(p ordered) *manifest.Error {
	s := &subscription{ordered: p}
	for _, f := range []struct {
		to   *string
		path []string
	}{
		{&s.pkg, []string{"spec", "name"}},
		{&s.channel, []string{"spec", "channel"}},
		{&s.source, []string{"spec", "source"}},
		{&s.sourceNamespace, []string{"spec", "sourceNamespace"}},
		{&s.starting, []string{"spec", "startingCSV"}},
		{&s.approval, []string{"spec", "installPlanApproval"}},
		{&s.installed, []string{"status", "installedCSV"}},
	} {
		if err := field(p.Object, f.to, f.path...); err != nil {
			return err
		}
	}
	c.subs = append(c.subs, s)
	// operator-lifecycle-manager#1298: the type has it, nothing in pkg reads it
	if p.Has("spec", "config", "selector") {
		c.note(ruleIgnoredField, findings.Note, p.Object, "spec.config.selector",
			"OLM does not read the selector: the rest of the config applies to every Deployment of the operator", "")
	}
	return nil
}

// ofSubscription returns the CSV of a Subscription, if it is one of these: the one that its status names, or one
// without a cluster's status that its spec names, that has OLM's label for the package, or the name of the package.
func (s *subscription) ofSubscription(csvs []*csv) *csv {
	label := olm.Group + "/" + s.pkg + "." + s.Namespace
	for _, named := range []func(*csv) bool{
		func(v *csv) bool { return v.name == s.installed },
		func(v *csv) bool {
			if v.observed {
				return false
			}
			labels, _ := v.Get("metadata", "labels")
			set, _ := labels.(map[string]any)
			_, labelled := set[label]
			return labelled || v.name == s.starting || bundle.BaseName(v.name, "") == s.pkg
		},
	} {
		if i := slices.IndexFunc(csvs, named); i >= 0 {
			return csvs[i]
		}
	}
	return nil
}

// where returns the object that findings about a CSV refer to.
func (v *csv) where() *manifest.Object {
	if v.sub != nil {
		return v.sub.Object
	}
	return v.Object
}
