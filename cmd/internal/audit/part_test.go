package audit

import (
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

func FuzzReadPart(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"olmgen.dev/v1alpha1","kind":"AuditPart","shard":"1/1","packages":[{"rows":[{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		if p, err := ReadPart(data); err == nil {
			_, _ = MergeParts([]*Part{p})
		}
	})
}
