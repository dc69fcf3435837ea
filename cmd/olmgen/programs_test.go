package main

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/internal/writes"
)

// What has an answer is not asked again, and who gets the answer may change it.
func TestAsksOnce(t *testing.T) {
	object := writes.Write{Object: []byte(`{"kind":"A"}`)}
	strict, update := object, object
	strict.Strict, update.Existing = true, []byte(`{"kind":"A"}`)
	want := []writes.Answer{}
	k := &kubernetes{Kubernetes: beside.Kubernetes{Program: &beside.Program{Name: "none", Path: "none"}},
		known: map[[sha256.Size]byte]writes.Answer{}}
	for i, w := range []writes.Write{object, strict, update} {
		answer := writes.Answer{Known: true, Causes: []writes.Cause{{Message: string(rune('a' + i))}}}
		k.known[w.Key()], want = answer, append(want, answer)
	}
	asked := []writes.Write{object, strict, update, object}
	want = append(want, want[0])
	for range 2 {
		got, err := k.Check(t.Context(), asked)
		if err != nil || !cmp.Equal(got, want) {
			t.Fatal(err, cmp.Diff(want, got))
		}
		got[0].Causes[0] = writes.Cause{}
	}
	if _, err := k.Check(t.Context(), []writes.Write{{Object: []byte(`{"kind":"B"}`)}}); err == nil {
		t.Error("a new question has an answer without the program")
	}
}
