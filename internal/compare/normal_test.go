package compare_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	rbac "k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// normal is what counts of a set of objects: each object without noise, as JSON with sorted lists, and who may do what. It reads the list of
// noise and nothing else of the code that compares.
type normal struct {
	objects map[string]string
	rules   map[string]map[string][]rbacv1.PolicyRule // by subject and namespace
}

func (n normal) equal(o normal) bool {
	for k, v := range n.objects {
		if w, ok := o.objects[k]; ok != !strings.HasPrefix(k, "=") && !ok || ok && v != w {
			return false
		}
	}
	for k := range o.objects {
		if _, ok := n.objects[k]; !ok && !strings.HasPrefix(k, "=") {
			return false
		}
	}
	return allows(n.rules, o.rules) && allows(o.rules, n.rules)
}

func allows(a, b map[string]map[string][]rbacv1.PolicyRule) bool {
	for subject, places := range b {
		for place, rules := range places {
			if ok, _ := rbac.Covers(slices.Concat(a[subject][place], a[subject]["*"]), rules); !ok {
				return false
			}
		}
	}
	return true
}

// normalOf returns an error where an object cannot be read.
func normalOf(list []*manifest.Object) (normal, error) {
	n := normal{map[string]string{}, map[string]map[string][]rbacv1.PolicyRule{}}
	deployments := map[string]bool{}
	for _, o := range list {
		deployments[o.Kind+" "+o.Namespace+"/"+o.Name] = true
	}
	for _, o := range list {
		value, err := o.Value()
		if err != nil {
			return n, err
		}
		key := strings.Join([]string{o.Group(), o.Kind, o.Namespace, o.Name}, " ")
		switch {
		case o.Group() == rbacv1.GroupName && slices.Contains([]string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}, o.Kind):
			key = "=" + key // they count where both have them, besides what they allow
			for _, k := range []string{"rules", "subjects", "roleRef"} {
				delete(value, k)
			}
		case o.Kind == "OperatorCondition":
			key = "=" + o.Kind + o.Namespace
		case o.Kind == "ClusterServiceVersion" && o.Group() == "operators.coreos.com":
			key = "csv"
			if err := n.csv(o, value, deployments); err != nil {
				return n, err
			}
		case o.Kind == "CustomResourceDefinition" && o.Group() == "apiextensions.k8s.io":
			if value, err = crdValue(o); err != nil {
				return n, err
			}
		}
		n.objects[key] = textOf(o, value)
	}
	return n, n.permissions(list)
}

func textOf(o *manifest.Object, value map[string]any) string {
	c := cleaner{o: o}
	if m, ok := value["metadata"].(map[string]any); ok && o.Kind != "ClusterServiceVersion" {
		delete(m, "name")
	}
	filled, _ := normalize.Filled(value)
	v, _ := c.clean("", "", "", withoutFilled(value, "", filled)).(map[string]any)
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// withoutFilled returns a value without the fields that the API server fills in.
func withoutFilled(value any, at string, filled map[string]bool) any {
	switch x := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range x {
			if below := strings.TrimPrefix(at+"."+k, "."); !filled[below] {
				out[k] = withoutFilled(item, below, filled)
			}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = withoutFilled(x[i], fmt.Sprintf("%s[%d]", at, i), filled)
		}
		return out
	}
	return value
}

// inside returns the mapping below some keys; nil if there is none.
func inside(value map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		value, _ = value[k].(map[string]any)
	}
	return value
}

// csv leaves out of a CSV what is compared as what it becomes, and puts that into n.
func (n normal) csv(o *manifest.Object, value map[string]any, deployments map[string]bool) error {
	var typed v1alpha1.ClusterServiceVersion
	if _, err := o.Into(&typed); err != nil {
		return err
	}
	raw := inside(value, "spec", "install")
	clear(value)
	data, err := json.Marshal(typed) // the API server drops the fields that it does not know
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	install := inside(value, "spec", "install")
	spec, _ := raw["spec"].(map[string]any)
	list, _ := spec["deployments"].([]any)
	for _, x := range list {
		if d, _ := x.(map[string]any); d != nil && !deployments[fmt.Sprintf("Deployment %s/%v", o.Namespace, d["name"])] {
			m := manifest.New(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": d["spec"],
				"metadata": map[string]any{"name": fmt.Sprint(d["name"]), "labels": d["label"]}})
			v, err := m.Value()
			if err != nil {
				return err
			}
			n.objects["csv "+m.Name] = textOf(m, v)
		}
	}
	for scope, list := range map[string][]v1alpha1.StrategyDeploymentPermissions{"cluster": typed.Spec.InstallStrategy.StrategySpec.ClusterPermissions,
		"namespaced": typed.Spec.InstallStrategy.StrategySpec.Permissions} {
		for _, p := range list {
			n.allow("csv "+scope+p.ServiceAccountName, "*", p.Rules)
		}
	}
	delete(install, "spec")
	var modes, apis []string
	for _, m := range typed.Spec.InstallModes {
		if m.Supported {
			modes = append(modes, string(m.Type))
		}
	}
	for _, a := range typed.Spec.NativeAPIs {
		apis = append(apis, fmt.Sprint(a))
	}
	slices.Sort(modes)
	slices.Sort(apis)
	s := value["spec"].(map[string]any)
	s["installModes"], s["nativeAPIs"], s["version"] = fmt.Sprint(slices.Compact(modes)), fmt.Sprint(slices.Compact(apis)), typed.Spec.Version.String()
	if skipRange := typed.Annotations["olm.skipRange"]; skipRange != "" {
		s["skipRange"] = skipRange
	}
	delete(value, "apiVersion")
	if _, copied := olm.CopiedObject(o); copied { // an annotation that is noise can say so, and then it is no operator
		s["copied"] = true
	}
	return nil
}

// crdValue returns a CRD as the API server reads it.
func crdValue(o *manifest.Object) (map[string]any, error) {
	var typed apiextensionsv1.CustomResourceDefinition
	if _, err := o.Into(&typed); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&typed.Spec)
	data, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	return value, json.Unmarshal(data, &value)
}

func (n normal) allow(subject, place string, rules []rbacv1.PolicyRule) {
	if n.rules[subject] == nil {
		n.rules[subject] = map[string][]rbacv1.PolicyRule{}
	}
	n.rules[subject][place] = append(n.rules[subject][place], rules...)
}

// permissions adds who may do what.
func (n normal) permissions(list []*manifest.Object) error {
	roles, bound := map[string]rbacv1.ClusterRole{}, map[string]bool{}
	for _, o := range list {
		if o.Group() != rbacv1.GroupName || !slices.Contains([]string{"Role", "ClusterRole"}, o.Kind) {
			continue
		}
		var r rbacv1.ClusterRole
		if _, err := o.Into(&r); err != nil {
			return err
		}
		roles[strings.TrimSuffix(o.Kind+" "+o.Namespace, " ")+"/"+o.Name] = r
	}
	for _, o := range list {
		if o.Group() != rbacv1.GroupName || !slices.Contains([]string{"RoleBinding", "ClusterRoleBinding"}, o.Kind) {
			continue
		}
		var b rbacv1.RoleBinding
		if _, err := o.Into(&b); err != nil {
			return err
		}
		place, role := "*", b.RoleRef.Kind+"/"+b.RoleRef.Name
		if o.Kind == "RoleBinding" {
			if place = o.Namespace; b.RoleRef.Kind == "Role" {
				role = "Role " + o.Namespace + "/" + b.RoleRef.Name
			}
		}
		bound[role] = true
		rules := roles[role].Rules
		if _, ok := roles[role]; !ok {
			rules = []rbacv1.PolicyRule{{Verbs: []string{"unknown"}, NonResourceURLs: []string{role}}}
		}
		for _, s := range b.Subjects {
			if s.Kind == "ServiceAccount" && s.Namespace == "" && o.Kind == "RoleBinding" {
				s.Namespace = o.Namespace // Kubernetes: pkg/registry/rbac/validation/rule.go, appliesToUser
			}
			n.allow(s.Kind+" "+s.Namespace+"/"+s.Name, place, rules)
		}
	}
	for key, r := range roles {
		aggregated := false
		for label, value := range r.Labels {
			if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
				aggregated = true
				if value == "true" {
					n.allow(label, "*", r.Rules)
				}
			}
		}
		if !bound[key] && !aggregated {
			n.allow(key, "*", r.Rules)
		}
	}
	return nil
}

// cleaner removes noise from one object.
type cleaner struct{ o *manifest.Object }

var podPrefix = map[string]string{"Pod": "", "CronJob": `spec\.jobTemplate\.spec\.template\.`, "PodTemplate": `template\.`}

// pattern returns what matches the paths of an entry, or of what has its keys, in objects of a kind.
func pattern(n fields.Noise, kind string) *regexp.Regexp {
	cached := n.Path + " " + kind
	if re, ok := patterns.Load(cached); ok {
		return re.(*regexp.Regexp)
	}
	pattern, ofPods := strings.CutPrefix(n.Path, "pod:")
	pattern = strings.Replace(regexp.QuoteMeta(pattern), "CONTAINERS", `spec\.(initC|ephemeralC|c)ontainers\[\]`, 1)
	if ofPods {
		prefix, ok := podPrefix[kind]
		if !ok {
			prefix = `spec\.template\.`
		}
		pattern = prefix + pattern
	}
	re := regexp.MustCompile("^" + pattern + "$")
	patterns.Store(cached, re)
	return re
}

var patterns sync.Map

func (c cleaner) noise(path, parent, key, text string) bool {
	return slices.ContainsFunc(fields.Ignored, func(n fields.Noise) bool {
		if len(n.Kinds) > 0 && !slices.Contains(n.Kinds, c.o.Kind) || n.Value != "" && n.Value != text ||
			n.Owned && !c.o.Has("metadata", "labels", olm.LabelOwner) {
			return false
		}
		if len(n.Keys) == 0 {
			return pattern(n, c.o.Kind).MatchString(path)
		}
		return slices.ContainsFunc(n.Keys, func(k string) bool {
			prefix, wild := strings.CutSuffix(k, "*")
			return k == key || wild && strings.HasPrefix(key, prefix)
		}) && pattern(n, c.o.Kind).MatchString(parent)
	})
}

func (c cleaner) clean(path, parent, key string, value any) any {
	switch x := value.(type) {
	case map[string]any:
		if path != "" && c.noise(path, parent, key, "") {
			return nil
		}
		out := map[string]any{}
		for k, item := range x {
			at := strings.TrimPrefix(path+"."+k, ".")
			if path == "" && k == "kind" || strings.HasSuffix(path, "schema") && c.o.Kind == "CustomResourceDefinition" {
				out[k] = unordered(item)
			} else if v := c.clean(at, path, k, item); v != nil {
				out[k] = v
			}
		}
		if len(out) == 0 && c.noise(path, parent, key, "{}") {
			return nil
		}
		return out
	case []any:
		return c.list(path, x)
	case nil:
		return nil
	}
	text, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		text = string(data)
	} else if text == "" {
		text = `""`
	}
	if c.noise(path, parent, key, text) {
		return nil
	}
	if strings.Contains(path, "resources.requests") || strings.Contains(path, "resources.limits") || strings.HasSuffix(path, ".sizeLimit") {
		if q, err := resource.ParseQuantity(strings.Trim(text, `"`)); err == nil {
			return q.String()
		}
	}
	return value
}

// unordered returns a schema without an order of required fields and of enums.
func unordered(value any) any {
	switch x := value.(type) {
	case map[string]any:
		for k, item := range x {
			list, ok := item.([]any)
			x[k] = unordered(item)
			if ok && (k == "required" || k == "enum") {
				x[k] = slices.CompactFunc(sorted(list), func(a, b any) bool { return jsonOf(a) == jsonOf(b) })
			}
		}
	case []any:
		for i := range x {
			x[i] = unordered(x[i])
		}
	}
	return value
}

func sorted(list []any) []any {
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(jsonOf(a), jsonOf(b)) })
	return list
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (c cleaner) list(path string, list []any) any {
	group := c.o.Group()
	builtin := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || group == "operators.coreos.com"
	last := path[strings.LastIndexByte(path, '.')+1:]
	if len(list) == 0 && builtin || c.noise(path, "", "", "") {
		return nil
	}
	switch last {
	case "args":
		return argsOf(list)
	case "command":
		return list
	case "rules":
		if strings.HasSuffix(c.o.Kind, "WebhookConfiguration") {
			return sights(list)
		}
	}
	raw := slices.Contains([]string{"tolerations", "topologySpreadConstraints", "ingress", "egress", "matchConditions", "matchExpressions",
		"nodeSelectorTerms", "envFrom", "rules"}, last)
	ordered := !builtin || last == "initContainers" || last == "webhooks" || last == "env" && strings.Contains(jsonOf(list), "$(")
	out := []any{}
	for _, item := range list {
		m, isMap := item.(map[string]any)
		if isMap && c.noise(path+"["+fmt.Sprint(m["name"])+"]", "", "", "") {
			continue
		}
		if isMap && !raw {
			item = c.clean(path+"[]", "", "", item)
			ordered = ordered || !slices.ContainsFunc([]string{"name", "generateName", "mountPath", "containerPort", "port", "key", "path", "ip"},
				func(k string) bool { return m[k] != nil && m[k] != "" })
		}
		out = append(out, item)
	}
	if len(out) == 0 && builtin {
		return nil
	}
	if ordered {
		return out
	}
	return sorted(out)
}

// argsOf returns flags without an order, and what is given in two words with it.
func argsOf(list []any) any {
	var flags, order []any
	word := false
	for _, x := range list {
		s, ok := x.(string)
		flag, _, has := strings.Cut(s, "=")
		isFlag := ok && strings.HasPrefix(s, "-") && !strings.ContainsAny(flag, " \n")
		word = word || !isFlag
		if isFlag {
			flags = append(flags, x)
		}
		if !isFlag || !has {
			order = append(order, x)
		}
	}
	if !word {
		return sorted(flags)
	}
	return []any{sorted(flags), order}
}

// sights returns what a webhook sees, without what a wildcard sees, too.
func sights(list []any) any {
	type sight [5]string
	all := map[sight]bool{}
	words := func(v any) []string {
		var out []string
		l, _ := v.([]any)
		for _, x := range l {
			s, _ := x.(string) // null is empty text in a list of texts
			out = append(out, s)
		}
		return out
	}
	for _, x := range list {
		r, _ := x.(map[string]any)
		scope, _ := r["scope"].(string)
		if scope == "" {
			scope = "*"
		}
		for _, a := range words(r["operations"]) {
			for _, b := range words(r["apiGroups"]) {
				for _, c := range words(r["apiVersions"]) {
					for _, d := range words(r["resources"]) {
						all[sight{a, b, c, d, scope}] = true
					}
				}
			}
		}
	}
	var out []string
	for s := range all {
		covered := false
		for o := range all {
			wider := o != s
			for i := range s {
				wider = wider && (o[i] == s[i] || o[i] == "*" || i == 3 && o[i] == "*/*")
			}
			covered = covered || wider
		}
		if !covered {
			out = append(out, strings.Join(s[:], "|"))
		}
	}
	slices.Sort(out)
	return out
}
