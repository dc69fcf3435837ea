package world_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// objects returns objects that are written as FILE ROOT KIND VALUE and more fields. The first one of a dump has a uid.
func objects(t *testing.T, lines string) (list []*manifest.Object) {
	t.Helper()
	group := map[string]string{"ClusterRole": "rbac.authorization.k8s.io/v1"}
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		f := append(strings.Fields(line), "")
		apiVersion := group[f[2]]
		if apiVersion == "" {
			apiVersion = "v1"
		}
		text := "apiVersion: " + apiVersion + "\nkind: " + f[2] + "\nmetadata: {name: x, labels: {v: " + f[3] + "}"
		if f[1] == "dump" {
			text += ", uid: u}\nstatus: {of: cluster}"
			f[1] = ""
		} else {
			text += "}"
		}
		docs, err := manifest.ReadFile(f[0], []byte(text), manifest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := docs[0].Object()
		if err != nil {
			t.Fatal(err)
		}
		o.Root = f[1]
		list = append(list, o)
	}
	return list
}

func TestCounted(t *testing.T) {
	for name, test := range map[string]struct{ objects, want string }{
		"the last one of a root": {"a r ConfigMap 1\nb r ConfigMap 2\nc r ConfigMap 3", `c
a hidden by c
b hidden by c
`},
		"equal ones": {"a r ConfigMap 1\nb r ConfigMap 1\nc s ConfigMap 1", "c\n"},
		"two roots":  {"a r ConfigMap 1\nb s ConfigMap 2", "b\na disputed by b\n"},
		"two roots, the last one of each": {"a r ConfigMap 1\nb s ConfigMap 2\nc r ConfigMap 3\nd s ConfigMap 4", `d
a hidden by c
b hidden by d
c disputed by d
`},
		"two roots that come to the same": {"a r ConfigMap 1\nb s ConfigMap 2\nc s ConfigMap 1", "c\nb hidden by c\n"},
		"three roots":                     {"a r ConfigMap 1\nb s ConfigMap 2\nc t ConfigMap 3", "c\na disputed by b\nb disputed by c\n"},
		"roles of two roots both count":   {"a r ClusterRole 1\nb s ClusterRole 2", "a\nb\na disputed by b\n"},
		"Git over a dump":                 {"a dump ConfigMap 1\nb r ConfigMap 2", "b of cluster\n"},
		"Git over a later dump":           {"b r ConfigMap 2\na dump ConfigMap 1", "b of cluster\n"},
		"the later one of two dumps":      {"a dump ConfigMap 1\nb dump ConfigMap 2", "b of cluster\n"},
		"a dump beside two roots": {"a r ClusterRole 1\nb s ClusterRole 2\nc dump ClusterRole 3",
			"a of cluster\nb of cluster\na disputed by b\n"},
		"a dump, and two objects of a root": {"a dump ConfigMap 1\nb r ConfigMap 2\nc r ConfigMap 3", "c of cluster\nb hidden by c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			list, found := world.Counted(objects(t, test.objects), "")
			var got strings.Builder
			for _, o := range list {
				got.WriteString(o.File)
				if of, _ := o.Get("status", "of"); of != nil {
					got.WriteString(" of cluster")
				}
				got.WriteString("\n")
			}
			for _, d := range found {
				how := " hidden by "
				if d.Roots {
					how = " disputed by "
				}
				got.WriteString(d.Object.File + how + d.Other.File + "\n")
			}
			if d := cmp.Diff(test.want, got.String()); d != "" {
				t.Error(d)
			}
			if again, more := world.Counted(list, ""); len(again) != len(list) || len(more) > len(found) {
				t.Errorf("what counts does not count again: %v, %v", again, more)
			}
		})
	}
}
