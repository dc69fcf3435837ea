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
)

// fingerprints gives for each finding what stays the same when lines are added above it, or when it gets another level. A second finding
// of the same words about the same object in a file gets another one.
func fingerprints(list []Finding) []string {
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

// Baseline holds findings that are known and accepted, so that a check can be adopted where they cannot be mended at once.
type Baseline struct {
	entries []entry
}

type entry struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"` // this and what follows is for people
	File        string `json:"file"`
	Message     string `json:"message"`
}

type baselineFile struct {
	Version  int     `json:"version"`
	Findings []entry `json:"findings"`
}

const baselineVersion = 1

// NewBaseline takes findings as known.
func NewBaseline(list []Finding) *Baseline {
	b := &Baseline{}
	for i, print := range fingerprints(list) {
		b.entries = append(b.entries, entry{print, list[i].Rule, list[i].path(), list[i].text()})
	}
	return b
}

// Encode gives the text of a baseline file, which ParseBaseline reads.
func (b *Baseline) Encode() []byte {
	var out bytes.Buffer
	// A struct of strings and numbers cannot fail to be encoded, nor a buffer to be written.
	_ = WriteJSON(&out, baselineFile{baselineVersion, append([]entry{}, b.entries...)})
	return out.Bytes()
}

// ParseBaseline reads a baseline file. The error says what is wrong with it.
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
		return nil, fmt.Errorf("a baseline of version %d, this olmgen reads version %d", file.Version, baselineVersion)
	}
	for i, e := range file.Findings {
		if e.Fingerprint == "" {
			return nil, fmt.Errorf("not a baseline: findings[%d]: no fingerprint", i)
		}
	}
	return &Baseline{file.Findings}, nil
}

// Apply gives the findings that are not known, in their order, and what is known but was not found again: "file: message [rule]".
func (b *Baseline) Apply(list []Finding) (fresh []Finding, stale []string) {
	known := map[string]bool{}
	for _, e := range b.entries {
		known[e.Fingerprint] = true
	}
	found := map[string]bool{}
	for i, print := range fingerprints(list) {
		found[print] = true
		if !known[print] {
			fresh = append(fresh, list[i])
		}
	}
	for _, e := range b.entries {
		if !found[e.Fingerprint] {
			stale = append(stale, Printable(fmt.Sprintf("%s: %s [%s]", e.File, e.Message, e.Rule)))
		}
	}
	return fresh, stale
}
