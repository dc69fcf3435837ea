package audit

import "testing"

func FuzzReadPart(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"olmgen.dev/v1alpha1","kind":"AuditPart","shard":"1/1","packages":[{"rows":[{}]}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if p, err := ReadPart(data); err == nil {
			_, _ = MergeParts([]*Part{p})
		}
	})
}
