package review

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// An upgrade keeps namespace and install mode of the old version, unless the user chose or the new version refuses.
func TestUpgrade(t *testing.T) {
	const own, all = v1alpha1.InstallModeTypeOwnNamespace, v1alpha1.InstallModeTypeAllNamespaces
	refused := &generate.Error{Msg: "no", Option: generate.OptionInstallMode}
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

func TestNameRevision(t *testing.T) {
	in, beside, other := &manifest.Object{File: "/tmp/x/0/clusters/prod/a.yaml"},
		&manifest.Object{File: "/tmp/x/0/clusters/bundle/b.yaml"}, &manifest.Object{File: "c.yaml"}
	const note = "Subscription a/b (/tmp/x/0/clusters/prod/a.yaml:3): b.v1"
	s := &Subject{All: []*manifest.Object{in, in, beside, other}, parts: []Installed{{note: note}}}
	s.Notes = []string{note}
	s.NameRevision("/tmp/x/0/clusters/prod", "HEAD:clusters/prod")
	for o, want := range map[*manifest.Object]string{in: "HEAD:clusters/prod/a.yaml",
		beside: "HEAD:clusters/bundle/b.yaml", other: "c.yaml"} {
		if o.File != want {
			t.Errorf("%s, want %s", o.File, want)
		}
	}
	for _, got := range []string{s.Notes[0], s.parts[0].note} {
		if want := "Subscription a/b (HEAD:clusters/prod/a.yaml:3): b.v1"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A note on a file that is the same on both sides is said once, and not at all if it is what an object stands for.
func TestNotesOf(t *testing.T) {
	stands := func(at, release string) string {
		return "Subscription a/b (" + at + "base/b.yaml:14): " + release + " from catalog olm/c"
	}
	differs := func(at string) string {
		return "ConfigMap a (" + at + "x.yaml:1) differs from an earlier object of the same name, which counts"
	}
	for _, c := range []struct {
		what       string
		names      [2]string
		list, want []string
	}{
		{"a revision and the work tree", [2]string{"HEAD:clusters", "clusters"},
			[]string{stands("HEAD:", "b.v1"), differs("HEAD:"), stands("", "b.v1"), differs("")}, []string{differs("")}},
		{"two revisions", [2]string{"HEAD~1:clusters", "HEAD:clusters"},
			[]string{stands("HEAD~1:", "b.v1"), stands("HEAD:", "b.v1")}, nil},
		{"two directories", [2]string{"old", "new"}, []string{stands("old/", "b.v1"), stands("new/", "b.v1")}, nil},
		{"another release", [2]string{"HEAD:clusters", "clusters"},
			[]string{stands("HEAD:", "b.v1"), stands("", "b.v2")}, []string{stands("HEAD:", "b.v1"), stands("", "b.v2")}},
		{"only in the newer one", [2]string{"HEAD:clusters", "clusters"},
			[]string{stands("", "b.v1")}, []string{stands("", "b.v1")}},
	} {
		var parts []Installed
		for _, n := range c.list {
			if strings.HasPrefix(n, "Subscription") {
				parts = append(parts, Installed{note: n})
			}
		}
		if got := notesOf(slices.Clone(c.list), parts, c.names); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
