package workload

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/manifest"
)

func comparePods(o *manifest.Object, sides [2]map[string]any, old, now fields.Values) ([]change.Change, error) {
	path, _ := fields.PodPath(o.Group(), o.Kind)
	for _, v := range []fields.Values{old, now} { // serviceAccount is the old name of serviceAccountName
		was, is := path+"spec.serviceAccount", path+"spec.serviceAccountName"
		if account, ok := v[was]; ok {
			if _, named := v[is]; !named {
				v[is] = account
			}
			delete(v, was)
		}
	}
	list := Differences(old, now, podRules, change.Workload)
	c, err := levels(o, sides)
	if c != nil {
		list = append(list, *c)
	}
	return list, err
}

var newEvaluator = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// levels compares the strictest Pod Security Standards that the pods of a workload fit.
func levels(o *manifest.Object, sides [2]map[string]any) (*change.Change, error) {
	podPath, _ := fields.PodPath(o.Group(), o.Kind)
	before, _, err := PodSecurity(o.Group(), o.Kind, sides[0])
	if err != nil {
		return nil, err
	}
	after, reason, err := PodSecurity(o.Group(), o.Kind, sides[1])
	if err != nil || after == "" || before == after {
		return nil, err
	}
	c := &change.Change{Part: change.Security, Field: change.PodSecurity, Change: change.Changed, Old: string(before),
		New: string(after), Severity: findings.Info, At: podPath + "spec"}
	if before == "" {
		c.Change, before = change.Added, psa.LevelRestricted
	}
	if psa.CompareLevels(after, before) < 0 {
		c.Severity, c.Message = findings.Warning, reason
		if after == psa.LevelPrivileged {
			c.Severity = findings.Error
		}
	}
	return c, nil
}

// PodSecurity returns the strictest Pod Security Standard that the pods of a decoded workload fit, and what the next
// stricter one does not allow. The level is empty without pods, and for an object that the API server refuses.
func PodSecurity(group, kind string, value map[string]any) (level psa.Level, reason string, err error) {
	e, err := newEvaluator()
	if err != nil {
		return "", "", err
	}
	path, ok := fields.PodPath(group, kind)
	if !ok {
		return "", "", nil
	}
	at, _ := decoded.At(value, strings.FieldsFunc(path, func(r rune) bool { return r == '.' }))
	data, err := json.Marshal(at)
	if m, _ := at.(map[string]any); err != nil || m == nil {
		return "", "", err
	}
	var pod corev1.PodTemplateSpec
	if err := json.Unmarshal(data, &pod); err != nil {
		return "", "", nil //nolint:nilerr // the API server refuses the object
	}
	for _, level := range []psa.Level{psa.LevelRestricted, psa.LevelBaseline} {
		version := psa.LevelVersion{Level: level, Version: psa.LatestVersion()}
		result := policy.AggregateCheckResults(e.EvaluatePod(version, &pod.ObjectMeta, &pod.Spec))
		if result.Allowed {
			return level, reason, nil
		}
		reason = fmt.Sprintf("%s does not allow: %s", level, strings.Join(result.ForbiddenReasons, ", "))
	}
	return psa.LevelPrivileged, reason, nil
}
