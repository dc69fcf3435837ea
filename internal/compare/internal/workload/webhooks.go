package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/olm"
)

const groupAdmission = "admissionregistration.k8s.io"

// compareWebhooks compares the webhooks of a configuration by their names.
func compareWebhooks(sides [2]map[string]any, before, after fields.Values, kinds []olm.Kind) (
	out []change.Change) {
	old, now := webhooksOf(sides[0]), webhooksOf(sides[1])
	for _, name := range lists.Keys(old, now) {
		at := "webhooks[" + name + "]"
		a, had := old[name]
		b, has := now[name]
		switch {
		case !had:
			c := change.Change{Field: at, Change: change.Added, New: requestNames(requestsOf(b, kinds)),
				Severity: findings.Info, At: after[at].At}
			if why := seriousReason(requestsOf(b, kinds)); why != "" {
				c.Severity, c.Message = findings.Warning, why
			}
			out = append(out, c)
		case !has:
			out = append(out, change.Change{Field: at, Change: change.Removed, Old: requestNames(requestsOf(a, kinds)),
				Severity: findings.Warning, Message: "nothing checks or changes these objects any more"})
		default:
			for _, c := range compareRules(at, requestsOf(a, kinds), requestsOf(b, kinds)) {
				c.At = after[at].At + ".rules"
				out = append(out, c)
			}
			out = append(out, compareSelectors(at, a, b, before, after)...)
		}
		for _, v := range []fields.Values{before, after} {
			if had != has {
				v.Without(at)
			} else if _, ok := v[at+".failurePolicy"]; !ok {
				v[at+".failurePolicy"] = fields.Value{Text: "Fail", Default: true} // for a person
			}
			v.Without(at + ".rules")
		}
	}
	if len(old) != len(now) {
		for _, v := range []fields.Values{before, after} {
			v.Without("webhooks" + fields.OrderOf)
		}
	}
	out = append(out, Differences(before, after, webhookRules, change.Webhook)...)
	for i := range out {
		out[i].Part = change.Webhook
	}
	return out
}

// webhooksOf returns webhooks by the names that package fields gives to items of a list.
func webhooksOf(value map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	seen := map[string]int{}
	for i, x := range olm.Items(value["webhooks"]) {
		if m, ok := x.(map[string]any); ok {
			name := cmp.Or(fields.Text(m["name"]), strconv.Itoa(i))
			if seen[name]++; seen[name] > 1 {
				name += "#" + strconv.Itoa(seen[name])
			}
			out[name] = m
		}
	}
	return out
}

const otherObjects = "it sees other objects"

// selectorText returns a label selector as kubectl takes it. One that is missing or empty selects everything
// (Kubernetes: pkg/apis/admissionregistration/v1/defaults.go). It is empty for what is no selector.
func selectorText(value any) string {
	var s metav1.LabelSelector
	data, err := json.Marshal(value)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return ""
	}
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return "everything"
	}
	return metav1.FormatLabelSelector(&s)
}

// compareSelectors returns the changed selectors of a webhook, whole, and takes them out of the fields of both sides.
func compareSelectors(at string, a, b map[string]any, before, after fields.Values) (out []change.Change) {
	for _, field := range []string{"namespaceSelector", "objectSelector"} {
		path := at + "." + field
		old, now := selectorText(a[field]), selectorText(b[field])
		if old == now || !slices.ContainsFunc(fields.Differences(before, after), func(d fields.Difference) bool {
			return strings.HasPrefix(d.Path, path)
		}) {
			continue
		}
		out = append(out, change.Change{Field: path, Change: change.Changed, Old: old, New: now,
			Severity: findings.Warning, Message: otherObjects, At: after[at].At + "." + field})
		before.Without(path)
		after.Without(path)
	}
	return out
}

var webhookRules = []Rule{
	{field(`\.failurePolicy$`), change.Webhook, func(c *change.Change) {
		c.Severity, c.Message = findings.Warning, "nothing can be written that it sees while it does not answer"
		if c.New == "Ignore" {
			c.Message = "what it sees is written unchecked while it does not answer"
		}
	}},
	{field(`\.(namespaceSelector|objectSelector|matchConditions)\b`), change.Webhook, always(findings.Warning,
		otherObjects)},
	{field(`\.matchPolicy$`), change.Webhook, func(c *change.Change) {
		c.Severity, c.Message = findings.Warning, "it sees these objects in every version and group that serves them"
		if c.New == "Exact" {
			c.Message = "what is written in another version or group passes it by"
		}
	}},
	{field(`\.clientConfig\.url$`), change.Webhook, given(findings.Warning, "it is outside of the cluster's Services")},
	{field(`.`), change.Webhook, nil},
}

// compareRules compares what a webhook sees.
func compareRules(at string, before, after []request) []change.Change {
	var out []change.Change
	more, less := uncovered(after, before), uncovered(before, after)
	if len(more) > 0 {
		c := change.Change{Field: at + ".rules", Change: change.Added, New: requestNames(more), Severity: findings.Info,
			Message: "it sees more"}
		known := func(s request) bool {
			return slices.ContainsFunc(before, func(o request) bool { return o.group == s.group })
		}
		if why := seriousReason(more); why != "" || !slices.ContainsFunc(more, known) {
			c.Severity, c.Message = findings.Warning, cmp.Or(why, "it sees objects of another API group")
		}
		out = append(out, c)
	}
	if len(less) > 0 {
		c := change.Change{Field: at + ".rules", Change: change.Removed, Old: requestNames(less),
			Severity: findings.Info, Message: "it does not see these any more"}
		if len(after) == 0 {
			c.Severity, c.Message = findings.Warning, "it sees nothing any more"
		}
		out = append(out, c)
	}
	return out
}

// request is one kind of request that a webhook is asked about.
type request struct{ operation, group, version, resource, scope string }

// requestsOf returns what a webhook is asked about, sorted.
func requestsOf(webhook map[string]any, kinds []olm.Kind) []request {
	found := map[request]bool{}
	for _, x := range olm.Items(webhook["rules"]) {
		r := olm.Mapping(x)
		scope := cmp.Or(olm.Text(r["scope"]), "*")
		for _, operation := range words(r["operations"]) {
			for _, group := range words(r["apiGroups"]) {
				for _, version := range words(r["apiVersions"]) {
					for _, resource := range words(r["resources"]) {
						if scope, any := scopeOf(group, resource, scope, kinds); any {
							found[request{operation, group, version, resource, scope}] = true
						}
					}
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b request) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.version, b.version),
			cmp.Compare(a.resource, b.resource), cmp.Compare(a.scope, b.scope), cmp.Compare(a.operation, b.operation))
	})
}

// scopeOf returns the scope of a rule for a resource, * if it takes none away, and whether it leaves any (Kubernetes:
// staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go, Matcher.scope).
func scopeOf(group, resource, scope string, kinds []olm.Kind) (string, bool) {
	plural, _, _ := strings.Cut(resource, "/")
	namespaced, known := olm.NamespacedResource(group, plural)
	if k := lists.Find(kinds, func(k olm.Kind) bool { return k.Group == group && k.Plural == plural }); k.Name != "" {
		namespaced, known = k.Namespaced, true
	}
	if !known || plural == "*" || scope == "*" {
		return scope, true
	}
	return "*", namespaced == (scope == "Namespaced")
}

func words(value any) []string { return lists.Map(olm.Items(value), fields.Text) }

// uncovered returns what no other one covers, wildcards included.
func uncovered(list, others []request) []request {
	covers := func(wide, one string) bool { return wide == "*" || wide == one }
	return slices.DeleteFunc(slices.Clone(list), func(s request) bool {
		return slices.ContainsFunc(others, func(o request) bool {
			return covers(o.operation, s.operation) && covers(o.group, s.group) && covers(o.version, s.version) &&
				(o.resource == "*/*" || covers(o.resource, s.resource)) && covers(o.scope, s.scope)
		})
	})
}

// requestNames names requests for a person: "CREATE, UPDATE pods (core/v1)".
func requestNames(list []request) string {
	var out []string
	for _, same := range lists.Groups(list, func(s request) request {
		s.operation = ""
		return s
	}) {
		s, operations := same[0], lists.Map(same, func(s request) string { return s.operation })
		line := fmt.Sprintf("%s %s (%s/%s)", strings.Join(operations, ","), s.resource, cmp.Or(s.group, "core"),
			s.version)
		if s.scope != "*" {
			line += " " + s.scope
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

// seriousReason returns what is worth a warning in what a webhook sees. Secrets and pods are of the core group, in
// namespaces.
func seriousReason(list []request) string {
	core := lists.Filter(list, func(s request) bool {
		return (s.group == "" || s.group == "*") && s.scope != "Cluster"
	})
	sees := func(resources ...string) bool {
		return slices.ContainsFunc(core, func(s request) bool { return slices.Contains(resources, s.resource) })
	}
	switch {
	case sees("*", "*/*"):
		return "it sees every object of the core group, Secrets among them"
	case sees("secrets", "secrets/*"):
		return "it sees Secrets"
	case slices.ContainsFunc(core, func(s request) bool { return strings.HasPrefix(s.resource, "pods") }):
		return "it sees pods"
	}
	if slices.ContainsFunc(list, func(s request) bool { return s.operation == "*" }) {
		return "it sees all operations, DELETE and CONNECT among them"
	}
	return ""
}
