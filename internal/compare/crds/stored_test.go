package crds

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/manifest"
)

// versionsText returns a CRD of Boats whose versions have a field of spec each: "v1 served storage size".
func versionsText(more string, versions ...string) string {
	head, _, _ := strings.Cut(crdText("{}"), "  versions:")
	head += more + "  versions:\n"
	for _, v := range versions {
		field := v[strings.LastIndex(v, " ")+1:]
		_, one, _ := strings.Cut(crdText("{type: object, properties: {"+field+": {type: integer}}}", v), "  versions:\n")
		head += one
	}
	return head
}

// TestStored holds that a field is lost where the storage version does not have it, and nothing converts.
func TestStored(t *testing.T) {
	const webhook = "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://a'}}}\n"
	const boat = "apiVersion: ferry.example.com/v1\nkind: Boat\nmetadata: {name: a, namespace: b}\nspec: {size: 7}\n"
	const lost, object = "error | storedWithoutField | v1 -> v2 | spec.size | not in v2, in which objects are stored: each write drops it", "objectStoredWithout"
	for name, tc := range map[string]struct {
		more     string
		old, now []string
		want     string // the finding; empty for none
		object   bool   // an existing one loses the field, too
	}{
		"the storage moves to a new version":       {"", []string{"v1 served storage size"}, []string{"v1 served size", "v2 served storage length"}, lost, true},
		"the storage moves to an unserved one":     {"", []string{"v1 served storage size"}, []string{"v1 served size", "v2 storage length"}, lost, false},
		"the storage moves between two versions":   {"", []string{"v1 served storage size", "v2 served length"}, []string{"v1 served size", "v2 served storage length"}, lost, true},
		"the storage version loses it":             {"", []string{"v1 served size", "v2 served storage size"}, []string{"v1 served size", "v2 served storage length"}, lost, true},
		"it was lost before":                       {"", []string{"v1 served size", "v2 served storage length"}, []string{"v1 served size", "v2 served storage width"}, "", false},
		"a webhook converts":                       {webhook, []string{"v1 served storage size"}, []string{"v1 served size", "v2 served storage length"}, "", false},
		"nothing is pruned":                        {"  preserveUnknownFields: true\n", []string{"v1 served storage size"}, []string{"v1 served size", "v2 served storage length"}, "", false},
		"the other version is no longer served":    {"", []string{"v1 served storage size"}, []string{"v1 size", "v2 served storage length"}, "", true},
		"the storage version has it":               {"", []string{"v1 served storage size"}, []string{"v1 served size", "v2 served storage size"}, "", false},
		"a new version has what is not stored":     {"", []string{"v1 served storage size"}, []string{"v1 served storage size", "v2 served length"}, "warning | storedWithoutField | v2 -> v1 | spec.length | not in v1, in which objects are stored: each write drops it", false},
		"a served version gets what is not stored": {"", []string{"v1 served size", "v2 served storage size"}, []string{"v1 served size", "v2 served storage size"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			old, now := reviewtest.Objects(t, "old.yaml", versionsText(tc.more, tc.old...)), reviewtest.Objects(t, "now.yaml", versionsText(tc.more, tc.now...))
			found, err := Compare(t.Context(), old, now, Options{Objects: reviewtest.Objects(t, "boat.yaml", boat)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			objects := 0
			for i, line := range brief(found) {
				switch found[i].Rule {
				case ruleStoredWithout:
					got = append(got, line)
				case object:
					objects++
				}
			}
			if strings.Join(got, "\n") != tc.want || (objects > 0) != tc.object {
				t.Errorf("got %q and %d objects, want %q and %t: %q", got, objects, tc.want, tc.object, brief(found))
			}
		})
	}
	alone, err := StoredWithout(t.Context(), &crs.CRD{Object: first(t, versionsText("", "v1 served size", "v2 served storage length"))})
	if len(alone) != 1 || err != nil {
		t.Errorf("got %v, %v", alone, err)
	}
}

func first(t *testing.T, text string) *manifest.Object {
	t.Helper()
	return reviewtest.Objects(t, "crd.yaml", text)[0]
}
