package review

import (
	"errors"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/manifest"
)

// An upgrade keeps namespace and install mode of the old version, unless the user chose or the new version refuses.
func TestUpgrade(t *testing.T) {
	const own, all = v1alpha1.InstallModeTypeOwnNamespace, v1alpha1.InstallModeTypeAllNamespaces
	refused := &generate.Error{Msg: "no", Option: option.InstallMode}
	for _, c := range []struct {
		name     string
		mode     v1alpha1.InstallModeType
		keepMode bool
		refuses  error // the first time
		want     config.Group
		note     string
	}{
		{"as before", own, false, nil, config.Group{Namespace: "op", InstallMode: own}, ""},
		{"chosen by the user", own, true, nil, config.Group{Namespace: "op"}, ""},
		{"with targets", v1alpha1.InstallModeTypeMultiNamespace, false, nil, config.Group{Namespace: "op"}, ""},
		{"not supported any more", own, false, refused, config.Group{Namespace: "op"},
			"NEW does not support OwnNamespace: it is compared as it is in AllNamespaces"},
	} {
		old := &Subject{Operators: []compare.Operator{{InstallMode: c.mode}}}
		old.Operators[0].Namespace = "op"
		var got config.Group
		calls := 0
		s, err := Upgrade(old, c.keepMode, func(change func(*config.Group)) (*Subject, error) {
			got = config.Group{}
			change(&got)
			if calls++; calls == 1 && c.refuses != nil {
				return nil, c.refuses
			}
			return &Subject{Operators: []compare.Operator{{InstallMode: all}}}, nil
		})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got.Namespace != c.want.Namespace || got.InstallMode != c.want.InstallMode || s.Note != c.note {
			t.Errorf("%s: namespace %q, mode %q, note %q", c.name, got.Namespace, got.InstallMode, s.Note)
		}
		if unsupported := s.Operators[0].Unsupported; unsupported != (c.refuses != nil) {
			t.Errorf("%s: unsupported: %t", c.name, unsupported)
		}
	}
	broken := errors.New("broken")
	old := &Subject{Operators: []compare.Operator{{InstallMode: own}}}
	if _, err := Upgrade(old, false, func(func(*config.Group)) (*Subject, error) { return nil, broken }); err != broken {
		t.Errorf("another error: %v", err)
	}
}

// A file of a revision is called as Git calls it, also one that a RenderConfig names beside it.
func TestNamed(t *testing.T) {
	r := Revision{Ref: "/tmp/x/0/clusters/prod", Name: "HEAD:clusters/prod", Root: "/tmp/x/0"}
	for file, want := range map[string]string{"/tmp/x/0/clusters/prod/a.yaml": "HEAD:clusters/prod/a.yaml",
		"/tmp/x/0/clusters/bundle/b.yaml": "HEAD:clusters/bundle/b.yaml", "c.yaml": "c.yaml"} {
		if got := r.Named(file); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A note that both sides have is said once, wherever it stands, and not at all if it is what an object stands for.
func TestNotesOfTwoSides(t *testing.T) {
	asks := &manifest.Object{Kind: "Subscription", Namespace: "a", Name: "b"}
	side := func(file, release string, differs bool) *Subject {
		at := *asks
		at.File, at.Line = file, 14
		s := &Subject{parts: []Installed{{Object: &at, Name: release, plan: Planned{Object: &at, Name: release, Catalog: "olm/c"},
			Subject: &Subject{}}}}
		if differs {
			s.remark("differs ConfigMap a", "ConfigMap a (%s:1) differs", file)
		}
		return s
	}
	stands := func(file, release string) string {
		return "Subscription a/b (" + file + ":14): " + release + " from catalog olm/c"
	}
	for _, c := range []struct {
		what     string
		old, now *Subject
		want     []string
	}{
		{"the same of two files", side("old/b.yaml", "b.v1", true), side("new/b.yaml", "b.v1", true), []string{"ConfigMap a (new/b.yaml:1) differs"}},
		{"another release", side("HEAD:b.yaml", "b.v1", false), side("b.yaml", "b.v2", false), []string{stands("HEAD:b.yaml", "b.v1"), stands("b.yaml", "b.v2")}},
		{"only in the newer one", &Subject{}, side("b.yaml", "b.v1", false), []string{stands("b.yaml", "b.v1")}},
		{"only in the older one", side("a.yaml", "b.v1", true), &Subject{}, []string{"ConfigMap a (a.yaml:1) differs", stands("a.yaml", "b.v1")}},
	} {
		old, now := c.old.without(c.now, false), c.now.without(c.old, true)
		if got := slices.Concat(old.Notes, now.Notes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
