package equal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Case is a recording: what was installed and how, which the harness reads from case.yaml, and the result.
type Case struct {
	Name   string `json:"-"`
	Bundle string `json:"bundle"` // relative to golden/
	// more bundles in the same OperatorGroup, each with a Subscription of its own
	With             []string `json:"with,omitempty"`
	Namespace        string   `json:"namespace"`
	OperatorGroup    string   `json:"operatorGroup"`
	InstallMode      string   `json:"installMode"`
	TargetNamespaces []string `json:"targetNamespaces,omitempty"`
	// of the OperatorGroup, in place of its targetNamespaces
	Selector        string            `json:"selector,omitempty"`
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"` // of the targets
	// spec.staticProvidedAPIs, with exactly the bundle's
	Static         bool   `json:"static,omitempty"`
	ServiceAccount string `json:"serviceAccount,omitempty"` // of the OperatorGroup
	// a Subscription whose spec.config counts; relative to golden/
	Config string `json:"config,omitempty"`
	// CRDs that the cluster has before; relative to golden/
	CRDs string `json:"crds,omitempty"`
	// whose copied CSVs are recorded, of a global group
	Copies []string `json:"copiedNamespaces,omitempty"`

	// The result.
	CSV      string   `json:"csv,omitempty"`
	Phase    string   `json:"phase,omitempty"`    // of the CSV in the end; empty if there was none
	Plan     string   `json:"plan,omitempty"`     // phase of the InstallPlan in the end
	Message  string   `json:"message,omitempty"`  // of the CSV or InstallPlan, if it went wrong
	Optional []string `json:"optional,omitempty"` // objects that OLM makes or not by chance
	Objects  int      `json:"objects,omitempty"`
}

// Input returns what was installed and how, without the result.
func (c Case) Input() Case {
	c.CSV, c.Phase, c.Plan, c.Message, c.Optional, c.Objects = "", "", "", "", nil, 0
	return c
}

// Options say how to compare with the case.
func (c Case) Options() Options {
	return Options{Optional: c.Optional, Incomplete: c.Phase != "Succeeded" || c.Plan != "Complete",
		Targets: c.TargetNamespaces}
}

// ReadCase reads golden/live/<name>.
func ReadCase(dir string) (Case, []Object, error) {
	c := Case{Name: filepath.Base(dir)}
	data, err := os.ReadFile(filepath.Join(dir, "case.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(data, &c)
	}
	if err != nil {
		return c, nil, fmt.Errorf("%s: %w", dir, err)
	}
	if data, err = os.ReadFile(filepath.Join(dir, "expected.yaml")); errors.Is(err, os.ErrNotExist) {
		return c, nil, nil // OLM made nothing
	} else if err != nil {
		return c, nil, err
	}
	objects, err := ReadObjects(data)
	return c, objects, err
}

// ReadObjects reads documents as WriteCase writes them.
func ReadObjects(data []byte) (objects []Object, err error) {
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		o, err := Decode(doc)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// WriteCase writes case.yaml and expected.yaml.
func WriteCase(dir string, c Case, objects []Object) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	c.Objects = len(objects)
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "case.yaml"), data, 0o644); err != nil || len(objects) == 0 {
		return err
	}
	objects = slices.Clone(objects)
	Sort(objects)
	var docs []string
	for _, o := range objects {
		doc, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		docs = append(docs, string(doc))
	}
	return os.WriteFile(filepath.Join(dir, "expected.yaml"), []byte(strings.Join(docs, "---\n")), 0o644)
}
