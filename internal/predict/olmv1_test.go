package predict

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/crdtest"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// TestCRDsOfOLMv1 compares olmv1.json with the CRDs that the newest release ships.
func TestCRDsOfOLMv1(t *testing.T) {
	shipped := crdtest.Of(t, versions.Newest(versions.OperatorController), versions.Experimental)
	var items []any
	for _, kind := range []string{olm.KindClusterCatalog, olm.KindClusterExtension} {
		data, err := json.Marshal(shipped[kind])
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := json.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		delete(crd, "status")
		items = append(items, undescribed(crd))
	}
	want, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if flag.Lookup("update").Value.(flag.Getter).Get() == true {
		if err := os.WriteFile("olmv1.json", want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, olmV1) {
		t.Errorf("the CRDs of OLM v1 have changed; -update writes the file anew:\n%s", cmp.Diff(string(want), string(olmV1)))
	}
}

// undescribed returns a value without the descriptions of its schemas.
func undescribed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, text := v["description"].(string); text {
			delete(v, "description")
		}
		for name, x := range v {
			v[name] = undescribed(x)
		}
	case []any:
		for i, x := range v {
			v[i] = undescribed(x)
		}
	}
	return v
}
