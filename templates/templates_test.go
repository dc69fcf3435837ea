package templates

import "testing"

func TestLoadEmbedded(t *testing.T) {
	if _, err := Load(nil); err != nil {
		t.Fatal(err)
	}
}
