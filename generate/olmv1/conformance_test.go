package olmv1

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// oracleCase is one line of the oracle: what OLM v1's renderer made of a bundle.
type oracleCase struct {
	Bundle           string           `json:"bundle"`
	Mode             string           `json:"mode"`
	Cert             string           `json:"cert"`
	InstallNamespace string           `json:"installNamespace"`
	Targets          []string         `json:"targets"`
	Objects          []map[string]any `json:"objects"`
	Error            string           `json:"error"`
}

func (c *oracleCase) String() string { return c.Bundle + " " + c.Mode + " " + c.Cert }

// difference is a class of cases in which one side refuses what the other renders, or both refuse in other words.
type difference struct {
	class string
	ours  string // a pattern of bundle.Read's or Render's error; empty: it renders
	peers string // a pattern of OLM v1's error; empty: it renders
}

// differences are all that is allowed. The reader of bundles stands for OLM v0 and the API server too, so it refuses more.
func differences() []difference {
	return []difference{
		{"both refuse: the reader names file, line and field first", `^[^ ]+(:\d+)?: `, `.`},
		{"the reader refuses an account without a name, OLM v0 can't make it; OLM v1 takes it for default", `serviceAccountName: empty`, ``},
		{"the reader refuses names that the API server refuses", `is not a valid name`, ``},
		{"the reader refuses a CSV name that OLM v0 can't write into a label", `metadata\.name: longer than 63`, ``},
		{"the reader refuses objects without a name", `metadata\.name: missing`, ``},
		{"the reader refuses two objects of one kind and name", `: a second `, ``},
		{"the reader refuses a CRD or CSV without a known apiVersion", `apiVersion: (missing|"[^"]*" is not a version)`, ``},
		{"the reader refuses rules that the API server refuses", `rule invalid|namespaced rules cannot|verbs must contain`, ``},
		{"the reader refuses an install mode that occurs twice", `InstallMode list contains duplicates`, ``},
		{"the reader refuses an unknown install strategy", `unrecognized install strategy`, ``},
		{"the reader refuses an owned CRD that differs from the shipped one", `customresourcedefinitions\.owned\[\d+\]`, ``},
		{"the reader refuses other bundle formats", `bundles can't be rendered`, ``},
		{"the reader refuses values of the wrong type that the loader lets pass", `has (the wrong type|a wrong value)|must be text|needs a type and a value`, ``},
		{"the loader refuses what olmgen carries (a CRD that Go's type can't hold) or leaves out with a warning (no manifest)", ``, `^error parsing objects in "manifests/`},
		{"the reader takes annotations from any file of metadata/", ``, `metadata/annotations\.yaml`},
		{"the wording of Go's JSON decoder", `^failed to unmarshal csv`, `^failed to unmarshal csv`},
	}
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a hundred megabytes: not with -short")
	}
	corpus, oracle := corpustest.Oracle(t)
	files := corpustest.Glob(t, oracle, "olm-v1", "*", "*.jsonl.gz")
	s := &score{cases: map[string]int{}, objects: map[string]int{}, deviating: map[string]int{}}
	var wg sync.WaitGroup
	gate := make(chan struct{}, 2)
	for _, file := range files {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			name, _ := filepath.Rel(filepath.Join(oracle, "olm-v1"), strings.TrimSuffix(file, ".jsonl.gz"))
			b, readErr := bundle.Read(os.DirFS(filepath.Join(corpus, "bundles", name)), bundle.ReadOptions{AllowUnsupported: true})
			if errors.Is(readErr, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, readErr)
				return
			}
			for _, c := range readOracle(t, file) {
				class, err := compare(s, b, readErr, &c)
				if err != nil {
					t.Errorf("%s: %v", &c, err)
				}
				s.add(class)
			}
		})
	}
	wg.Wait()
	t.Log(s)
}

// compare returns how a case came out.
func compare(s *score, b *bundle.Bundle, readErr error, c *oracleCase) (class string, err error) {
	var objects []Object
	err = readErr
	if err == nil {
		objects, err = Render(b, Options{Namespace: c.InstallNamespace, TargetNamespaces: c.Targets, Certs: c.Cert})
	}
	switch {
	case err != nil && err.Error() == c.Error:
		return "equal error", nil
	case err != nil || c.Error != "":
		return differenceOf(err, c.Error)
	}
	ours := make([]map[string]any, len(objects))
	for i, o := range objects {
		content, err := o.Content()
		if err != nil {
			return "failed", err
		}
		if ours[i], err = plain(content); err != nil {
			return "failed", err
		}
	}
	counts, err := equalise(ours, c.Objects)
	if err != nil {
		return "unequal", err
	}
	s.count(counts, len(ours))
	return "equal", nil
}

func differenceOf(ours error, peers string) (string, error) {
	text := ""
	if ours != nil {
		text = ours.Error()
	}
	for _, d := range differences() {
		if (d.ours == "") == (text == "") && (d.peers == "") == (peers == "") &&
			regexp.MustCompile(d.ours).MatchString(text) && regexp.MustCompile(d.peers).MatchString(peers) {
			return d.class, nil
		}
	}
	return "unexplained", fmt.Errorf("errors differ\nours:  %s\ntheirs: %s", text, peers)
}

// equalise undoes the deviations, one by one, and compares what is left. It counts the deviations by object.
func equalise(ours, theirs []map[string]any) (map[string]int, error) {
	counts := map[string]int{}
	for _, u := range undoings() {
		var n, m int
		ours, n = u.undo(ours)
		theirs, m = u.undo(theirs)
		if n+m > 0 {
			counts[u.id] += max(n, m)
		}
	}
	if err := sameIdentities(ours, theirs); err != nil {
		return nil, err
	}
	for i := range ours {
		if reflect.DeepEqual(ours[i], theirs[i]) {
			continue
		}
		id := crdContent
		if ours[i]["apiVersion"] == "apiextensions.k8s.io/v1beta1" {
			id = crDv1beta1
		}
		if ours[i]["kind"] == "CustomResourceDefinition" {
			var err error
			if ours[i], err = throughType(ours[i]); err != nil {
				return nil, err
			}
			if theirs[i], err = throughType(theirs[i]); err != nil {
				return nil, err
			}
			counts[id]++
		}
		if d := cmp.Diff(theirs[i], ours[i]); d != "" {
			return nil, fmt.Errorf("%s differs (- theirs, + ours):\n%s", identity(ours[i]), clip(d))
		}
	}
	return counts, nil
}

func sameIdentities(ours, theirs []map[string]any) error {
	list := func(objects []map[string]any) (out []string) {
		for _, o := range objects {
			out = append(out, identity(o))
		}
		return out
	}
	if d := cmp.Diff(list(theirs), list(ours)); d != "" {
		return fmt.Errorf("other objects (- theirs, + ours):\n%s", clip(d))
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), 3000)] }

func identity(o map[string]any) string {
	meta, _ := o["metadata"].(map[string]any)
	return fmt.Sprintf("%v %v %v/%v", o["apiVersion"], o["kind"], meta["namespace"], meta["name"])
}

func readOracle(t *testing.T, file string) (out []oracleCase) {
	f, err := os.Open(file)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return nil
	}
	d := json.NewDecoder(z)
	d.UseNumber()
	for {
		var c oracleCase
		if err := d.Decode(&c); err == io.EOF {
			return out
		} else if err != nil {
			t.Errorf("%s: %v", file, err)
			return out
		}
		out = append(out, c)
	}
}

// plain returns a value as JSON decodes it, numbers as their text.
func plain(v any) (m map[string]any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return m, d.Decode(&m)
}

// score counts cases by class, and what the deviations touch in the equal ones.
type score struct {
	mu        sync.Mutex
	cases     map[string]int
	objects   map[string]int // by deviation
	deviating map[string]int // cases by deviation
	all       int
}

func (s *score) add(class string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cases[class]++
}

func (s *score) count(deviations map[string]int, objects int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all += objects
	for id, n := range deviations {
		s.objects[id] += n
		s.deviating[id]++
	}
}

func (s *score) String() string {
	var b strings.Builder
	b.WriteString("cases:\n")
	for _, class := range slices.Sorted(maps.Keys(s.cases)) {
		fmt.Fprintf(&b, "  %5d %s\n", s.cases[class], class)
	}
	fmt.Fprintf(&b, "%d objects compared; deviations undone in them:\n", s.all)
	for _, d := range deviations() {
		fmt.Fprintf(&b, "  %-18s %6d objects in %4d cases\n", d.ID, s.objects[d.ID], s.deviating[d.ID])
	}
	return b.String()
}
