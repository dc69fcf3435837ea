package transform

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/generate"
)

// maxPattern is the largest pattern of a target. Compiled, one takes a thousand times its size.
const maxPattern = 4096

type matcher struct {
	patterns [5]*regexp.Regexp
	labels   labels.Selector
}

func (t Target) compile() (*matcher, error) {
	m := &matcher{}
	for i, p := range []struct{ field, pattern string }{
		{"group", t.Group}, {"version", t.Version}, {"kind", t.Kind}, {"name", t.Name}, {"namespace", t.Namespace},
	} {
		if p.pattern == "" {
			continue
		}
		if len(p.pattern) > maxPattern {
			return nil, fmt.Errorf("target.%s: %d characters, and at most %d can be given", p.field, len(p.pattern),
				maxPattern)
		}
		var err error
		if m.patterns[i], err = regexp.Compile("^(?:" + p.pattern + ")$"); err != nil {
			return nil, fmt.Errorf("target.%s: %w", p.field, err)
		}
	}
	var err error
	if m.labels, err = labels.Parse(t.LabelSelector); err != nil {
		return nil, fmt.Errorf("target.labelSelector: %w", err)
	}
	return m, nil
}

func (m *matcher) matches(o generate.Object) (bool, error) {
	version := o.APIVersion[strings.LastIndexByte(o.APIVersion, '/')+1:]
	for i, s := range []string{o.Group(), version, o.Kind, o.Name, o.Namespace} {
		if m.patterns[i] != nil && !m.patterns[i].MatchString(s) {
			return false, nil
		}
	}
	if m.labels.Empty() {
		return true, nil
	}
	found, err := o.Get("metadata", "labels")
	if err != nil {
		return false, err
	}
	set := labels.Set{}
	if have, ok := found.(map[string]any); ok {
		for k, v := range have {
			set[k], _ = v.(string)
		}
	}
	return m.labels.Matches(set), nil
}
