package bundle_test

import (
	"archive/zip"
	"bytes"
	"os"
	"testing"

	"github.com/olmgen/olmgen/bundle"
)

// A file of an archive is read to its end: what its checksum does not fit is refused.
func TestChecksum(t *testing.T) {
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	if err := w.AddFS(os.DirFS("../examples/memcached-operator/bundle")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(wrong uint32) error {
		z, err := zip.NewReader(bytes.NewReader(text.Bytes()), int64(text.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			f.CRC32 += wrong
		}
		_, err = bundle.Read(z, bundle.ReadOptions{})
		return err
	}
	if err := read(0); err != nil {
		t.Errorf("an archive that is right: %v", err)
	}
	if err := read(1); err == nil {
		t.Error("checksums that do not fit are not seen")
	}
}
