package olmv1

import (
	"strings"
	"testing"
)

// The rule of operator-controller's pull request 2925, by its text: no released OLM v1 has run it.
func TestManagedNamespace(t *testing.T) {
	const template, suggested = "operatorframework.io/suggested-namespace-template", "operatorframework.io/suggested-namespace"
	long := strings.Repeat("a", 57)
	for _, tt := range []struct {
		name, pkg   string
		annotations map[string]string
		want        string
	}{
		{"by the template first", "boats", map[string]string{template: `{"metadata":{"name":"harbor"}}`, suggested: "sea"}, "harbor"},
		{"a template without a name", "boats", map[string]string{template: `{"metadata":{}}`, suggested: "sea"}, "sea"},
		{"suggested", "boats", map[string]string{suggested: "sea"}, "sea"},
		{"the package", "boats", nil, "boats-system"},
		{"the longest", long[:56], nil, long[:56] + "-system"},
		{"too long", long, nil, long[:47] + "-HASH-system"},
		{"a dot", "my.boats", nil, "my-boats-HASH-system"},
		{"capitals", "Boats", nil, "boats-HASH-system"},
		{"two hyphens", "my--boats", nil, "my-boats-HASH-system"},
		{"nothing left", "...", nil, "HASH-system"},
		{"not JSON", "boats", map[string]string{template: "kind: Namespace"}, "failed to parse namespace template: invalid"},
		{"not a name", "boats", map[string]string{suggested: "My Sea"}, `resolved namespace name "My Sea" is not a valid DNS1123 label`},
	} {
		got, err := ManagedNamespace(tt.pkg, tt.annotations)
		if err != nil {
			got = err.Error()
		}
		digest := hash(tt.pkg)
		if want := strings.Replace(tt.want, "HASH", digest[:8], 1); !strings.HasPrefix(got, want) || len(got) > 63 && err == nil {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
	}
}
