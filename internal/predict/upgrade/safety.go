package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations/property"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// unsafe finds CRDs that OLM v1 does not put in the place of those of the cluster.
func (j *judge) unsafe(p Pair) {
	if !p.New.CRDSafety || p.Old.Name == p.New.Name {
		return
	}
	for _, now := range ownedCRDs(p.New, j.rendered[1]) {
		before := j.inCluster(now.Name)
		if before == nil {
			continue
		}
		words, err := CRDSafety(before, now)
		switch {
		case err != nil:
			j.addAt(p.New, RuleCRDSafety, findings.Warning, now, "", "has a CRD %s of which it is not known whether "+
				"OLM v1 changes it: %v", now.Name, err)
		case len(words) > 0:
			j.addAt(p.New, RuleCRDSafety, findings.Error, now, "", "is not installed by OLM v1: %s",
				strings.Join(words, ", ")+ByCRDSafety)
		}
	}
}

// crdUpgradeSafety is how OLM v1.11 asks crdify (operator-controller:
// internal/operator-controller/rukpak/preflights/crdupgradesafety/crdupgradesafety.go, defaultConfig).
var crdUpgradeSafety = config.Config{Conversion: config.ConversionPolicyIgnore, Validations: []config.ValidationConfig{
	{Name: "description", Enforcement: config.EnforcementPolicyNone},
	{Name: "enum", Enforcement: config.EnforcementPolicyError,
		Configuration: map[string]any{"additionPolicy": property.AdditionPolicyAllow}},
}}

// ByCRDSafety is who refuses a CRD, as the end of a sentence.
const ByCRDSafety = " (preflight crdUpgradeSafety)"

// AsksCRDSafety reports whether OLM v1 asks crdUpgradeSafety before it changes a CRD for a ClusterExtension.
func AsksCRDSafety(extension *manifest.Object) bool {
	enforcement, _ := extension.Get("spec", "install", "preflight", "crdUpgradeSafety", "enforcement")
	return enforcement != "None"
}

// CRDSafety returns why OLM v1 does not put a CRD in the place of a live one, in its words and sorted. Of changes that
// crdify does not know it has no details.
func CRDSafety(live, now *manifest.Object) (words []string, err error) {
	asked, err := runner.New(&crdUpgradeSafety, runner.DefaultRegistry())
	before, errBefore := (&crs.CRD{Object: live}).Decode()
	after, errAfter := (&crs.CRD{Object: now}).Decode()
	if err := cmp.Or(err, errBefore, errAfter); err != nil {
		return nil, err
	}
	for _, v := range slices.Concat(before.Spec.Versions, after.Spec.Versions) {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return nil, fmt.Errorf("version %s has no schema", v.Name)
		}
	}
	before.Status.StoredVersions, _ = olm.StoredVersions(live)
	words = refusals(asked.Run(before, after))
	if slices.ContainsFunc(words, unsettled) {
		none, was := before.DeepCopy(), before.DeepCopy()
		none.Spec.Versions, was.Spec.Conversion = nil, nil
		known := refusals(asked.Run(none, was))
		words = slices.DeleteFunc(words, func(w string) bool { return unsettled(w) && slices.Contains(known, w) })
	}
	slices.Sort(words)
	if len(words) > 0 {
		words[0] = fmt.Sprintf("validating upgrade for CRD %q: %s", now.Name, words[0])
	}
	return words, nil
}

// refusals returns the errors of crdify, apart from the details.
func refusals(r *runner.Results) (words []string) {
	for line := range strings.Lines(r.RenderPlainText()) {
		// an error is: - VERSION - FIELD - CHECK - ERROR - TEXT; details have tabs
		at, why, is := strings.Cut(strings.TrimPrefix(line, "- "), " - ERROR - ")
		if is && !strings.Contains(at, "\t") {
			why = unordered().ReplaceAllStringFunc(strings.TrimSuffix(strings.TrimSpace(why), " :"), inOrder)
			words = append(words, strings.ReplaceAll(at, " - ", ": ")+": "+why)
		}
	}
	return words
}

// unsettled reports whether crdify may say one time and not another what is between two versions of one CRD: it leaves
// out what the live one has word by word, and its lists have another order each time. OLM v1 asks until none is left
// (crdify: pkg/validators/version/served/served.go).
func unsettled(word string) bool {
	version, _, _ := strings.Cut(word, ": ")
	return strings.Contains(version, " -> ") && unordered().MatchString(word)
}

// unordered finds the lists of crdify that have no order (crdify: pkg/validations/property, enum.go and required.go).
var unordered = lazy.Regexp(`(required fields|enum [^:]*) ?: \[.*\]$`)

// inOrder sorts the words of a list in brackets at the end of a text.
func inOrder(s string) string {
	what, list, _ := strings.Cut(strings.TrimSuffix(s, "]"), "[")
	words := strings.Fields(list)
	slices.Sort(words)
	return what + "[" + strings.Join(words, " ") + "]"
}
