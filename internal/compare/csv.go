package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/compare/internal/workload"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// csvRules are about fields of a CSV that are no facts. What no rule is about is the rest.
var csvRules = []workload.Rule{
	{Pattern: lazy.Regexp(`^spec\.cleanup\.enabled$`), Part: change.Cleanup, Judge: func(c *change.Change) {
		if c.New == "true" {
			c.Severity, c.Message = findings.Warning, "its custom resources are deleted when the operator is removed"
		}
	}},
	{Pattern: lazy.Regexp(`^spec\.relatedImages\[`), Part: change.Image, Judge: workload.Moved},
	{Pattern: lazy.Regexp(`^spec\.(displayName|description|provider\.[a-z]+)$`), Part: change.About},
	{Pattern: lazy.Regexp(`^metadata\.annotations\["operatorframework\.io/suggested-namespace`), Part: change.About,
		Judge: suggested},
	{Pattern: lazy.Regexp(`^metadata\.labels\["operatorframework\.io/(arch|os)\.`), Part: change.About,
		Judge: func(c *change.Change) {
			if c.Old == "supported" {
				c.Severity, c.Message = findings.Warning, "consoles do not offer it there any more"
			}
		}},
}

// suggested judges the namespace that an operator asks for: a new installation is elsewhere, and with OLM v1 after
// v1.11 the one that is there moves (operator-controller: #2925).
func suggested(c *change.Change) {
	c.Severity, c.Message = findings.Warning, "consoles, and OLM v1 from its next release on, install it elsewhere"
	var template struct {
		Metadata struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if json.Unmarshal([]byte(c.New), &template) != nil || template.Metadata.Name == "" {
		return
	}
	c.Message = "its namespace is " + template.Metadata.Name
	for _, key := range slices.Sorted(maps.Keys(template.Metadata.Labels)) {
		c.Message += fmt.Sprintf(", with %s: %s", key, template.Metadata.Labels[key])
	}
}

// csvFacts are the fields of a CSV that factsOf is about, and those that are compared as what OLM makes of them.
var csvFacts = []string{"apiVersion", "spec.version", "spec.installModes",
	"spec.minKubeVersion", "spec.maturity", "spec.nativeAPIs", "metadata.annotations.capabilities",
	"spec.install.spec"}

// compareCSV compares the fields of two CSVs that are no facts.
func (r *Report) compareCSV(old, now Operator) ([]change.Change, error) {
	if old.Object == nil || now.Object == nil ||
		reflect.DeepEqual(old.ClusterServiceVersion, now.ClusterServiceVersion) {
		return nil, nil
	}
	var sides [2]fields.Values
	for i, o := range []Operator{old, now} {
		value, err := manifest.Typed(o.ClusterServiceVersion) // as the API server keeps it
		if err != nil {
			return nil, err
		}
		v := fields.WithoutNoise(now.Object, value)
		v.Without(slices.Concat(csvFacts, apiFields(old, now, v), edgeFacts(old, now), r.webhookFacts(v))...)
		sides[i] = v
	}
	list := workload.Differences(sides[0], sides[1], csvRules, change.Rest)
	for i, c := range list {
		if c.Field == "spec.description" {
			list[i].Old, list[i].New = "", "" // pages of text
		}
	}
	return oneRest(list), nil
}

// webhookFacts returns the fields of the webhooks of a CSV whose differences are lines about what OLM makes of them.
func (r *Report) webhookFacts(v fields.Values) (out []string) {
	for key := range v {
		m := webhookField().FindStringSubmatch(key)
		if m == nil {
			continue
		}
		made := "webhooks[" + m[2] + "]." + olm.WebhookField(m[3])
		if slices.ContainsFunc(r.Workloads, func(c change.Change) bool {
			return c.Part == change.Webhook && fields.Within(c.Field, made)
		}) {
			out = append(out, m[1])
		}
	}
	return out
}

var webhookField = lazy.Regexp(`^(spec\.webhookdefinitions\[(.*?)\]\.([A-Za-z]*))`)

// edgeFields are the fields of a CSV that say which releases it updates.
var edgeFields = map[catalog.EdgeKind]string{catalog.Replaces: "spec.replaces", catalog.Skips: "spec.skips",
	catalog.SkipRange: annotation(olm.AnnotationSkipRange)}

// edgeFacts returns the fields about updates, where the catalogs of both say the same: these are facts already.
func edgeFacts(old, now Operator) []string {
	edges := maps.Clone(edgeFields)
	for _, o := range []Operator{old, now} {
		own, entry := catalog.EntryOf(o.ClusterServiceVersion), o.entry()
		said, known := own.Fields(), entry.Fields()
		maps.DeleteFunc(edges, func(kind catalog.EdgeKind, _ string) bool { return said[kind] != known[kind] })
	}
	return slices.Collect(maps.Values(edges))
}

// apiFields returns the fields of the APIs that only one of the releases has, which are facts.
func apiFields(old, now Operator, v fields.Values) (out []string) {
	before, after := factsOf(old), factsOf(now)
	for k := range v {
		m := apiKind().FindStringSubmatch(k)
		if m == nil {
			continue
		}
		at := strings.TrimSuffix(k, ".kind")
		_, group, _ := strings.Cut(v[at+".name"].Text, ".")
		if m[1] == "apiservice" {
			group = v[at+".group"].Text
		}
		f := fact{change.Provided, apiText(group, v[at+".version"].Text, v[k].Text)}
		if m[2] == "required" {
			f.part = change.Required
		}
		_, had := before[f]
		if _, has := after[f]; had != has {
			out = append(out, at)
		}
	}
	return out
}

var apiKind = lazy.Regexp(`^spec\.(customresource|apiservice)definitions\.(owned|required)\[.*\]\.kind$`)

// oneRest puts the changes of a part that is the rest of an object into one, which names their fields.
func oneRest(list []change.Change) []change.Change {
	out := lists.Filter(list, func(c change.Change) bool { return c.Part != change.Rest })
	rest := lists.Filter(list, func(c change.Change) bool { return c.Part == change.Rest })
	if len(rest) > 0 {
		out = append(out, change.Change{Part: change.Rest, Change: change.Changed, Severity: findings.Info,
			Fields: lists.Map(rest, func(c change.Change) string { return c.Field }),
			At:     lists.Find(rest, func(c change.Change) bool { return c.At != "" }).At})
	}
	return out
}

// withDeployments returns the objects of a state, with the Deployments of CSVs that are not among them: OLM makes them
// (OLM: pkg/controller/install/deployment.go). What Kubernetes makes of the template of another object, such as the
// Pods of a Deployment, has another name after each rollout and says nothing more.
func (s State) withDeployments() ([]*manifest.Object, error) {
	out, there := slices.DeleteFunc(slices.Clone(s.Objects), ofTemplate), deployments(s.Objects)
	for _, o := range s.Operators {
		if o.Object == nil {
			continue
		}
		value, err := o.Object.Get("spec", "install", "spec", "deployments")
		if err != nil {
			return nil, err
		}
		for _, item := range olm.Items(value) {
			d := olm.Mapping(item)
			name := fields.Text(d["name"])
			if d == nil || there[o.Namespace+"/"+name] {
				continue
			}
			labels := map[string]any{}
			maps.Copy(labels, olm.Mapping(d["label"]))
			labels[olm.LabelOwner] = o.Name
			metadata := map[string]any{"name": name, "labels": labels}
			if o.Namespace != "" {
				metadata["namespace"] = o.Namespace
			}
			out = append(out, manifest.New(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
				"metadata": metadata, "spec": d["spec"]}))
		}
	}
	return out, nil
}

// ofTemplate reports whether an object has pods, and a controller of Kubernetes made it for another that has.
func ofTemplate(o *manifest.Object) bool {
	var owners []metav1.OwnerReference
	return images.HasPods(o.Group(), o.Kind) && o.Field(&owners, "metadata", "ownerReferences") == nil &&
		slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool {
			return r.Controller != nil && *r.Controller && images.HasPods(manifest.GroupOf(r.APIVersion), r.Kind)
		})
}

// deployments returns the Deployments among objects: "namespace/name", and "/name" for that of any namespace.
func deployments(objects []*manifest.Object) map[string]bool {
	out := map[string]bool{}
	for _, o := range objects {
		if o.Kind == "Deployment" {
			out[o.Namespace+"/"+o.Name], out["/"+o.Name] = true, true
		}
	}
	return out
}

const operatorCondition = "OperatorCondition"

// compareRBAC compares what permissions do not depend on: labels and annotations of roles and bindings. Where nobody
// gains or loses anything, it says which bindings changed nevertheless. It compares OperatorConditions, too,
// whose names OLM gives.
func (r *Report) compareRBAC(old, now State, locate func(o *manifest.Object, field string) (string, int)) (
	[]change.Change, error) {
	var out []change.Change
	pairs := workload.PairsOf(old.Objects, now.Objects, func(o *manifest.Object) bool {
		return o.Group() == rbacv1.GroupName && strings.Contains(o.Kind, "Role") || o.Kind == operatorCondition
	})
	// Where each release has one, they are of one operator, which may have another name.
	alike := func(_, _ *manifest.Object) bool { return true }
	for _, p := range workload.Lone(pairs, operatorCondition, alike) {
		if p.Old == nil || p.New == nil {
			continue
		}
		list, err := workload.ComparePair(p, "rules", "subjects", "roleRef")
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Part = change.Rest
		}
		list = oneRest(list)
		if len(r.Permissions)+len(r.Users) == 0 {
			without, err := withoutEffect(p)
			if err != nil {
				return nil, err
			}
			list = append(list, without...)
		}
		file, line := locate(p.New, "")
		for _, c := range list {
			c.Object, c.File, c.Line = p.New.Identity(), file, line
			out = append(out, c)
		}
	}
	return append(out, unknownRoles(old, now)...), nil
}

// withoutEffect returns what changed of a binding, where this gives and takes nothing.
func withoutEffect(p workload.Pair) (out []change.Change, err error) {
	var sides [2]rbac.Binding
	for i, o := range []*manifest.Object{p.Old, p.New} {
		read, err := rbac.Read([]*manifest.Object{o}, o.Namespace)
		if err != nil {
			return nil, err
		}
		if len(read.Bindings) > 0 {
			sides[i] = *read.Bindings[0]
		}
	}
	text := func(list []rbacv1.Subject) string {
		names := lists.Set(list, func(s rbacv1.Subject) string {
			return permissions.Subject{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}.String()
		})
		return strings.Join(lists.Keys(names), ", ")
	}
	add := func(field, old, now string) {
		if old != now {
			out = append(out, change.Change{Part: change.Account, Field: field, Change: kindOf(old, now), Old: old,
				New: now, Severity: findings.Info, Message: grantsTheSame})
		}
	}
	add("roleRef", sides[0].Role.String(), sides[1].Role.String())
	add("subjects", text(sides[0].Subjects), text(sides[1].Subjects))
	return out, nil
}

// kindOf returns what happened to a text, which is empty where there is none.
func kindOf(old, now string) change.Kind {
	switch {
	case old == "":
		return change.Added
	case now == "":
		return change.Removed
	}
	return change.Changed
}

// unknownRoles finds the bindings of roles that are not among the objects: nobody can say what they grant.
func unknownRoles(old, now State) []change.Change {
	var out []change.Change
	key := func(u permissions.Unknown) string { return fmt.Sprint(u.Subject, u.Role, u.Namespaces) }
	before, after := lists.Set(old.Permissions.Unknown, key), lists.Set(now.Permissions.Unknown, key)
	known := sync.OnceValue(func() map[string]bool { return lists.Set(old.Objects, (*manifest.Object).Identity) })
	for _, u := range slices.Concat(now.Permissions.Unknown, old.Permissions.Unknown) {
		c := change.Change{Object: u.Source.Object, Part: change.Account, Field: "roleRef", Change: change.Added,
			New: u.Role, Severity: findings.Warning, File: u.Source.File, Line: u.Source.Line,
			Message: fmt.Sprintf("%s gets this role, which is not among the objects", u.Subject)}
		if !after[key(u)] {
			c.Change, c.Old, c.New, c.Severity = change.Removed, u.Role, "", findings.Info
			c.Message = fmt.Sprintf("%s loses this role, which is not among the objects", u.Subject)
		}
		if after[key(u)] && known()[u.Role] {
			c.Change, c.Old, c.New = change.Removed, u.Role, ""
			c.Message = fmt.Sprintf("%s is bound to this role, which is gone", u.Subject)
		}
		if before[key(u)] != after[key(u)] {
			out = append(out, c)
		}
	}
	return out
}
