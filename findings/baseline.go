package findings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Fingerprints returns an identifier for each finding. It does not change when lines are added above the finding, or
// when its level changes. Equal findings about the same object are numbered.
func Fingerprints(list []Finding) []string {
	prints := make([]string, len(list))
	seen := map[string]int{}
	for i, f := range list {
		parts := []string{f.Rule, f.path(), f.Field, f.Message}
		if f.Object != "" {
			parts = append(parts, f.Object)
		}
		key := strings.Join(parts, "\x00")
		seen[key]++
		sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(seen[key])))
		prints[i] = hex.EncodeToString(sum[:16])
	}
	return prints
}

// Baseline is a list of accepted findings, so that a repository can adopt a check before it has fixed all of them.
type Baseline struct {
	entries []entry
}

type entry struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"` // this and the following fields are for readers
	File        string `json:"file"`
	Message     string `json:"message"`
}

type baselineFile struct {
	Version  int     `json:"version"`
	Findings []entry `json:"findings"`
}

const baselineVersion = 1

// NewBaseline returns a baseline of all findings of a list.
func NewBaseline(list []Finding) *Baseline {
	b := &Baseline{}
	for i, print := range Fingerprints(list) {
		b.entries = append(b.entries, entry{print, list[i].Rule, list[i].path(), list[i].Description()})
	}
	return b
}

// Encode returns the content of a baseline file, for ParseBaseline.
func (b *Baseline) Encode() []byte {
	var out bytes.Buffer
	// Encoding strings and numbers to a buffer cannot fail.
	_ = WriteJSON(&out, baselineFile{baselineVersion, append([]entry{}, b.entries...)})
	return out.Bytes()
}

// ParseBaseline reads a baseline file.
func ParseBaseline(data []byte) (*Baseline, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var file baselineFile
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("not a baseline: %w", err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a baseline: text after its end")
	}
	if file.Version != baselineVersion {
		return nil,
			fmt.Errorf("the baseline has version %d, this olmgen reads version %d", file.Version, baselineVersion)
	}
	for i, e := range file.Findings {
		if e.Fingerprint == "" {
			return nil, fmt.Errorf("not a baseline: findings[%d]: no fingerprint", i)
		}
	}
	return &Baseline{file.Findings}, nil
}

// Apply returns the findings that the baseline does not have, and its entries without one, as "file: message [rule]".
func (b *Baseline) Apply(list []Finding) (fresh []Finding, stale []string) {
	known := lists.Set(b.entries, func(e entry) string { return e.Fingerprint })
	found := map[string]bool{}
	for i, print := range Fingerprints(list) {
		found[print] = true
		if !known[print] {
			fresh = append(fresh, list[i])
		}
	}
	for _, e := range b.entries {
		if !found[e.Fingerprint] {
			stale = append(stale, text.Printable(fmt.Sprintf("%s: %s [%s]", e.File, e.Message, e.Rule)))
		}
	}
	return fresh, stale
}
