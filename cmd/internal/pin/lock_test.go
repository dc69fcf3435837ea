package pin

import (
	"bytes"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

const lockText = `apiVersion: olmgen.dev/v1alpha1
kind: CatalogPin
catalogs:
- source: olm/community
  name: olm/community-pinned
  image: example.com/c@sha256:6666666666666666666666666666666666666666666666666666666666666666
operators:
- namespace: operators
  subscription: app
  catalog: olm/community
  package: app
  approved: app.v1.1.0
  installed: [app.v1.0.0]
- clusterExtension: storage
  catalog: community
  package: storage
  approved: storage.v4.16.1
admission:
  exemptGroups: [system:masters]
  facts:
    csvs: [app.v1.1.0]
`

// FuzzLock reads a lock, writes it, and reads it again.
func FuzzLock(f *testing.F) {
	f.Add([]byte(lockText))
	f.Add([]byte("kind: CatalogPin\n"))
	f.Add([]byte("operators: [{}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		l, err := parseLock("pin.yaml", data)
		if err != nil {
			return
		}
		text, err := l.bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseLock("pin.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if twice, err := again.bytes(); err != nil || !bytes.Equal(twice, text) {
			t.Errorf("%v: printed once:\n%s\nand again:\n%s", err, text, twice)
		}
	})
}

func TestIsRelease(t *testing.T) {
	for _, test := range []struct {
		name, written string
		want          bool
	}{{"app.v1.1.0", "app.v1.1.0", true}, {"app.v1.1.0", "1.1.0", true}, {"app.v1.1.0", "v1.1.0", true},
		{"app.1.1.0", "1.1.0", true}, {"app.v11.1.0", "1.1.0", false}, {"app.v1.1.0", "1.0", false}} {
		if got := isRelease(test.name, test.written); got != test.want {
			t.Errorf("%s is written %s: %v", test.name, test.written, got)
		}
	}
}
