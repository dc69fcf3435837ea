// Package findings is what a review finds.
//
// A check returns a list of [Finding], each with a [Severity], the id of a [Rule] and a place. [Reaches] says whether
// one is bad enough to fail. A [Baseline] leaves out those that are known.
package findings

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Severity is how bad something is, in SARIF's words. None is a threshold that no finding reaches.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"   // it breaks something, or gives a pod rights on the node
	Warning Severity = "warning" // a person should look at it
	Note    Severity = "note"
	None    Severity = "none"
)

// Info is Note in the words of the reports about changes and of KRM functions.
const Info Severity = "info"

// Severities lists the thresholds of Reaches.
var Severities = []Severity{Error, Warning, Note, None}

// Rank orders severities, the worst first.
func (s Severity) Rank() int { return slices.Index(Severities, s.SARIF()) }

// SARIF returns the severity in the words of SARIF, which has no Info.
func (s Severity) SARIF() Severity {
	if s == Info {
		return Note
	}
	return s
}

// Finding is one thing that is wrong or worth knowing.
type Finding struct {
	Source  string   `json:"source,omitempty"` // the bundle or image that contains the file; may be empty
	Rule    string   `json:"rule"`             // id of a Rule
	Level   Severity `json:"level"`
	File    string   `json:"file,omitempty"`   // slash-separated path inside the source; may be empty
	Line    int      `json:"line,omitempty"`   // 1-based; 0 if the finding is about the file
	Object  string   `json:"object,omitempty"` // kind namespace/name
	Field   string   `json:"field,omitempty"`  // dotted path, such as spec.version
	Message string   `json:"message"`          // one line, without a final period and without line numbers
	Hint    string   `json:"hint,omitempty"`   // what to do; may be empty

	// Path locates the file for the user: the source and the file in it. If empty, File does.
	Path string `json:"-"`

	// Clusters are those in which it is, one a line, where a tree has several; otherwise empty.
	Clusters string `json:"-"`

	// Flow is nil, or leads from the place of the finding to what it is about. SARIF has it as a code flow.
	Flow *Flow `json:"-"`
}

// Flow has the steps of a finding in their order.
type Flow struct{ Steps []Step }

// Step is one step of a flow. What is in no file has no place.
type Step struct {
	File    string
	Line    int
	Message string
}

func (f Finding) path() string { return cmp.Or(f.Path, f.File, ".") }

// Where returns the path of the file for the user, with the line.
func (f Finding) Where() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.path(), f.Line)
	}
	return f.path()
}

// Description returns object, field and message.
func (f Finding) Description() string {
	parts := slices.DeleteFunc([]string{f.Object, f.Field, f.Message}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// Rule explains the findings with its id.
type Rule struct {
	ID   string
	Text string // one line
	Help string // why it matters, what to do, and the source of the rule; may be empty
}

// Sort sorts findings by file, line, level, object, field, message and rule.
func Sort(list []Finding) {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.path(), b.path()),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Level.Rank(), b.Level.Rank()),
			cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Field, b.Field),
			cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.Rule, b.Rule),
		)
	})
}

// Count returns the number of findings of a severity.
func Count(list []Finding, level Severity) int {
	return lists.Count(list, func(f Finding) bool { return f.Level == level })
}

// Reaches reports whether any finding reaches a threshold.
func Reaches(list []Finding, threshold Severity) bool {
	return threshold != None &&
		slices.ContainsFunc(list, func(f Finding) bool { return f.Level.Rank() <= threshold.Rank() })
}

// Format is an output format.
type Format string

// The formats. Each report lists those that it has.
const (
	Text     Format = "text"     // for people and terminals
	Markdown Format = "markdown" // for comments on pull requests
	HTML     Format = "html"     // one page that needs no network
	JSON     Format = "json"     // for programs; a JSON Schema describes it
	SARIF    Format = "sarif"    // SARIF 2.1.0, for code review
	CSV      Format = "csv"      // for spreadsheets
	Tabular  Format = "table"    // aligned columns, for terminals
	SVG      Format = "svg"      // a picture
)

// Summary is the JSON form of findings. A command with more output embeds it.
type Summary struct {
	Findings []Finding `json:"findings"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Notes    int       `json:"notes,omitempty"`
}

// Summarize returns findings with their number per level.
func Summarize(list []Finding) Summary {
	return Summary{append([]Finding{}, list...), Count(list, Error), Count(list, Warning), Count(list, Note)}
}

// WriteJSON writes indented JSON without escaping < and >. Characters that are not printable are escapes.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(jsonWriter{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// jsonWriter writes the documents of an encoder, each in one call.
type jsonWriter struct{ io.Writer }

func (w jsonWriter) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(text.EscapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

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
	Cluster     string `json:"cluster,omitempty"` // that has the finding; empty: any
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
		f := list[i]
		for cluster := range strings.SplitSeq(f.Clusters, "\n") {
			b.entries = append(b.entries, entry{print, f.Rule, f.path(), f.Description(), cluster})
		}
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
		return nil, fmt.Errorf("not a baseline: %s", undecoded(err))
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

// undecoded returns why JSON is not a baseline, without the types of Go.
func undecoded(err error) string {
	var typed *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return "the file is empty"
	case errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF):
		return "the file is not JSON, or only its beginning"
	case errors.As(err, &typed) && typed.Field == "":
		return "it is a JSON " + typed.Value
	case errors.As(err, &typed):
		return typed.Field + " has the wrong type, a JSON " + typed.Value
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// Apply returns the findings that the baseline does not have, and its entries without one, as "file: message [rule]".
// It has a finding of several clusters if it has it for each of them.
func (b *Baseline) Apply(list []Finding) (fresh []Finding, stale []string) {
	known, found := map[string][]string{}, map[string]string{} // the clusters, by fingerprints
	for _, e := range b.entries {
		known[e.Fingerprint] = append(known[e.Fingerprint], e.Cluster)
	}
	for i, print := range Fingerprints(list) {
		in := strings.Split(list[i].Clusters, "\n")
		found[print] = list[i].Clusters
		if slices.ContainsFunc(in, func(cluster string) bool {
			return cluster != "" && !slices.Contains(known[print], cluster) && !slices.Contains(known[print], "")
		}) || known[print] == nil {
			fresh = append(fresh, list[i])
		}
	}
	for _, e := range b.entries {
		clusters, is := found[e.Fingerprint]
		in := strings.Split(clusters, "\n")
		if is && (clusters == "" || e.Cluster == "" || slices.Contains(in, e.Cluster)) {
			continue
		}
		said := fmt.Sprintf("%s: %s [%s]", e.File, e.Message, e.Rule)
		if e.Cluster != "" {
			said += " in " + e.Cluster
		}
		stale = append(stale, text.Printable(said))
	}
	return fresh, stale
}
