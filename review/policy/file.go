package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/review/findings"
)

// APIVersion and Kind are those of a policy file.
const (
	APIVersion = "olmgen.dev/v1alpha1"
	Kind       = "Policy"
)

// file is a policy file as it is written.
type file struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Extends      []string      `json:"extends"`
	ClusterScope []string      `json:"clusterScope"`
	Rules        []ruleSetting `json:"rules"`
	Limits       []limit       `json:"limits"`
	CEL          []expression  `json:"cel"`
	Exceptions   []exception   `json:"exceptions"`
}

// ruleSetting turns a built-in rule on or off, or gives it another level.
type ruleSetting struct {
	ID      string         `json:"id"`
	Enabled *bool          `json:"enabled"`
	Level   findings.Level `json:"level"`
}

// Parse reads a policy file; name is what it is called in errors. The error, a *manifest.Error, names line and field: no policy is used in
// part.
func Parse(name string, data []byte) (*Policy, error) {
	docs, err := manifest.ReadFile(name, data, manifest.DefaultLimits)
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d *manifest.Document) bool { return d.Root == nil })
	switch {
	case len(docs) == 0:
		return nil, &manifest.Error{File: name, Msg: "there is no policy in it",
			Tip: "it starts with apiVersion: " + APIVersion + ", kind: " + Kind}
	case len(docs) > 1:
		return nil, &manifest.Error{File: name, Line: docs[1].Line, Msg: "a second document, a policy is one"}
	}
	o, err := docs[0].Object()
	if err != nil {
		return nil, err
	}
	p := &parser{Object: o}
	if o.APIVersion != APIVersion || o.Kind != Kind {
		return nil, p.fail(cmp.Or(wrongField(o), "kind"), "start it with apiVersion: "+APIVersion+", kind: "+Kind,
			"this is %s %s, not a policy", cmp.Or(o.APIVersion, "of no apiVersion"), cmp.Or(o.Kind, "and no kind"))
	}
	if dups := o.Duplicates(); len(dups) > 0 {
		return nil, &manifest.Error{File: name, Line: dups[0].Line, Field: dups[0].Key, Msg: "the key occurs twice", Tip: "remove one"}
	}
	var f file
	unknown, err := o.Into(&f)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		return nil, p.unknownField(unknown)
	}
	return p.policy(&f)
}

func wrongField(o *manifest.Object) string {
	if o.APIVersion != APIVersion && o.APIVersion != "" {
		return "apiVersion"
	}
	return ""
}

// parser makes a policy of a file.
type parser struct {
	*manifest.Object
	names map[string]string // of rules, with the field that made them
}

func (p *parser) fail(field, tip, format string, args ...any) error {
	err := p.Errorf(field, format, args...)
	err.Tip = tip
	return err
}

func (p *parser) policy(f *file) (*Policy, error) {
	policy := &Policy{clusterScope: defaultClusterScope()}
	p.names = map[string]string{}
	for _, r := range BuiltinRules() {
		p.names[r.ID] = "a rule of olmgen"
	}
	if err := p.rules(f, policy); err != nil {
		return nil, err
	}
	if err := p.limits(f, policy); err != nil {
		return nil, err
	}
	if err := p.expressions(f, policy); err != nil {
		return nil, err
	}
	if len(policy.rules)+len(policy.limits)+len(policy.expressions) == 0 {
		return nil, p.fail("", "extend "+OperateFirst+", or write limits or cel", "the policy has no rules")
	}
	if err := p.exceptions(f, policy); err != nil {
		return nil, err
	}
	if len(f.ClusterScope) > 0 {
		policy.clusterScope = nil
	}
	for i, text := range f.ClusterScope {
		g, err := p.glob(fmt.Sprintf("clusterScope[%d]", i), text)
		if err != nil {
			return nil, err
		}
		policy.clusterScope = append(policy.clusterScope, g)
	}
	return policy, nil
}

// defaultClusterScope is where Operate First has its cluster-scope application.
func defaultClusterScope() []glob {
	g, err := newGlob("**/cluster-scope/**")
	if err != nil {
		return nil // it is valid
	}
	return []glob{g}
}

func (p *parser) glob(field, text string) (glob, error) {
	if text == "" {
		return glob{}, p.fail(field, "", "must not be empty")
	}
	g, err := newGlob(text)
	if err != nil {
		return glob{}, p.fail(field, "", "no pattern: %s", oneLine(err.Error()))
	}
	return g, nil
}

// rules takes the built-in rules of what the file extends, and changes them as it says.
func (p *parser) rules(f *file, policy *Policy) error {
	on := map[string]bool{}
	for i, name := range f.Extends {
		base := Builtin(name)
		if base == nil {
			return p.fail(fmt.Sprintf("extends[%d]", i), "there is "+strings.Join(Names(), ", "), "there is no policy %q", name)
		}
		for _, r := range base.rules {
			on[r.ID] = true
		}
	}
	all := recordRules()
	set := map[string]bool{}
	for i, s := range f.Rules {
		field := fmt.Sprintf("rules[%d]", i)
		at := slices.IndexFunc(all, func(r Rule) bool { return r.ID == s.ID })
		switch {
		case s.ID == "":
			return p.fail(field, "olmgen lint can list the rules", "id is missing")
		case at < 0:
			return p.fail(field+".id", "olmgen lint can list the rules", "there is no rule %q%s", s.ID, didYouMean(s.ID, idsOf(all)))
		case set[s.ID]:
			return p.fail(field+".id", "", "%s is set twice", s.ID)
		}
		set[s.ID] = true
		on[s.ID] = s.Enabled == nil || *s.Enabled
		if s.Level != "" {
			if err := p.level(field, &s.Level); err != nil {
				return err
			}
			all[at].Level = s.Level
		}
	}
	for _, r := range all {
		if on[r.ID] {
			policy.rules = append(policy.rules, r)
		}
	}
	return nil
}

func idsOf(rules []Rule) []string {
	ids := make([]string, len(rules))
	for i, r := range rules {
		ids[i] = r.ID
	}
	return ids
}

// level checks a level; none is an error's.
func (p *parser) level(field string, l *findings.Level) error {
	*l = cmp.Or(*l, findings.Error)
	if *l == findings.None || !slices.Contains(findings.Levels, *l) {
		return p.fail(field+".level", "", "must be error, warning or note, not %q", string(*l))
	}
	return nil
}

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// name checks what a rule of the file is called.
func (p *parser) name(field, name string) error {
	switch other := p.names[name]; {
	case name == "":
		return p.fail(field, "", "name is missing")
	case !validName.MatchString(name):
		return p.fail(field+".name", "lower-case letters, digits and single hyphens", "%q is no name for a rule", name)
	case other != "":
		return p.fail(field+".name", "", "%s is the name of %s", name, other)
	}
	p.names[name] = field
	return nil
}

func (p *parser) expressions(f *file, policy *Policy) error {
	if len(f.CEL) == 0 {
		return nil // an environment takes longer to make than a policy to read
	}
	env, err := newEnvironment()
	if err != nil {
		return err
	}
	for i := range f.CEL {
		e := &f.CEL[i]
		field := fmt.Sprintf("cel[%d]", i)
		if err := p.name(field, e.Name); err != nil {
			return err
		}
		if err := p.level(field, &e.Level); err != nil {
			return err
		}
		e.Message = oneLine(e.Message)
		if e.Expression == "" {
			return p.fail(field, "true means that the object is as it should be", "expression is missing")
		}
		if e.holds, err = compile(env, e.Expression, boolean); err != nil {
			return p.fail(field+".expression", "", "%v", err)
		}
		if e.MessageExpression == "" {
			continue
		}
		if e.says, err = compile(env, e.MessageExpression, text); err != nil {
			return p.fail(field+".messageExpression", "", "%v", err)
		}
	}
	for i := range f.CEL {
		policy.expressions = append(policy.expressions, &f.CEL[i])
	}
	return nil
}

func (p *parser) exceptions(f *file, policy *Policy) error {
	ids := idsOf(policy.Rules())
	for i, e := range f.Exceptions {
		e.file, e.field = p.File, fmt.Sprintf("exceptions[%d]", i)
		e.line = p.LineOf(e.field)
		if e.Rule == "" {
			return p.fail(e.field, "the id of a rule, or a pattern such as of-*", "rule is missing")
		}
		if strings.TrimSpace(e.Reason) == "" {
			return p.fail(e.field, "say why it is right, for who reads the policy later", "reason is missing")
		}
		e.globs = map[string]glob{}
		for field, text := range map[string]string{"rule": e.Rule, "kind": e.Kind, "namespace": e.Namespace, "name": e.Name, "path": e.Path} {
			if text == "" {
				continue
			}
			g, err := newGlob(text)
			if err != nil {
				return p.fail(e.field+"."+field, "", "no pattern")
			}
			e.globs[field] = g
		}
		if !slices.ContainsFunc(ids, e.globs["rule"].match) {
			return p.fail(e.field+".rule", "olmgen lint can list the rules of a policy", "the policy has no rule %q%s",
				e.Rule, didYouMean(e.Rule, ids))
		}
		policy.exceptions = append(policy.exceptions, e)
	}
	return nil
}
