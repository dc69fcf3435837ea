package predict

import (
	"context"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/predict/upgrade"
)

// Refusals returns what the API server refuses of objects that a person or an engine applies: one error for each field
// at fault. existing returns what an object takes the place of, or nil; what is read from a cluster is not asked about.
// The release of the cluster may be nil. The error is that of the API.
func Refusals(ctx context.Context, api writes.Checker, release *semver.Version, objects []*manifest.Object,
	existing func(*manifest.Object) *manifest.Object) (list []findings.Finding, err error) {
	var asked []writes.Write
	var answers []writes.Answer
	var of []*manifest.Object
	for _, o := range objects {
		if api == nil || !olm.BuiltinGroup(o.Group()) || o.Has("metadata", "uid") || o.Name == "" {
			continue
		}
		w, err := writes.Of(existing(o), o)
		if err != nil { // it is reported where it is read
			continue
		}
		asked, of = append(asked, w), append(of, o)
	}
	if len(asked) > 0 {
		if answers, err = api.Check(ctx, asked); err != nil {
			return nil, err
		}
	}
	for _, o := range ofOLMv1(objects, olm.KindClusterExtension) {
		if old := existing(o); old != nil {
			answers, of = append(answers, changed(old, o)), append(of, o)
		}
	}
	for i, a := range answers {
		if len(a.Causes) == 0 {
			continue
		}
		severity, unless := level(of[i], a.Causes)
		for _, cause := range a.Causes {
			file, line := of[i].PlaceOf(cause.Field)
			list = append(list, findings.Finding{Rule: upgrade.RuleRefused.ID, Level: severity, File: file,
				Line: line, Object: of[i].Identity(),
				Message: writes.Who(release) + " refuses " + cause.String(), Hint: unless})
		}
	}
	return list, nil
}

// changed returns what the API server says to a ClusterExtension of which a field changes that its CRD fixes.
func changed(old, o *manifest.Object) (a writes.Answer) {
	for _, at := range olm.ImmutableFields(o.Group(), o.Kind) {
		path := strings.Split(at, ".")
		is, _ := o.Get(path...)
		if was, _ := old.Get(path...); was != nil && is != nil && olm.Text(was) != olm.Text(is) {
			message := field.Invalid(nil, is, path[len(path)-1]+" is immutable").ErrorBody()
			a.Causes = append(a.Causes, writes.Cause{Field: at, Message: message})
		}
	}
	return a
}

// level returns how bad it is that the API server refuses an object as it stands, and when it does not refuse it:
// another program may write into the text, and the cluster may have the rest of the object.
func level(o *manifest.Object, causes []writes.Cause) (findings.Severity, string) {
	if field := olm.Placeholder(o); field != "" {
		return findings.Note, "another program may replace what " + field + " has before it is applied"
	}
	if slices.ContainsFunc(causes, func(c writes.Cause) bool { return c.Missing }) {
		return findings.Warning, "it is taken if the cluster has the object already: an apply merges the two"
	}
	return findings.Error, ""
}
