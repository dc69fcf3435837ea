// Package refused lists upgrades, most of which a real OLM refuses.
package refused

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Case is an upgrade in a cluster.
type Case struct {
	Name    string `json:"-"`
	From    string `json:"from"`    // a directory of bundles/
	To      string `json:"to"`      // a directory of bundles/
	Cluster string `json:"cluster"` // a file of cluster/ with what is there before the upgrade
	Rule    string `json:"rule"`    // by which olmgen predicts the refusal; empty if OLM upgrades
}

// dir is the directory of the cases below golden/.
const dir = "refused"

// Bundle returns the directory of a bundle.
func Bundle(golden, name string) string { return filepath.Join(golden, dir, "bundles", name) }

// ClusterFile returns the file with what is in the cluster; empty if that is nothing.
func (c Case) ClusterFile(golden string) string {
	if c.Cluster == "" {
		return ""
	}
	return filepath.Join(golden, dir, "cluster", c.Cluster)
}

// Cases returns the cases of golden/refused/cases.yaml by name.
func Cases(golden string) ([]Case, error) {
	byName := map[string]Case{}
	data, err := os.ReadFile(filepath.Join(golden, dir, "cases.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(data, &byName)
	}
	if err != nil {
		return nil, fmt.Errorf("golden/refused/cases.yaml: %w", err)
	}
	var list []Case
	for name, c := range byName {
		c.Name = name
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Upgraded begins what OLM says of an upgrade that it does.
const Upgraded = "upgraded"

// Answers returns what OLM said to the cases by name (golden/refused/olm.txt).
func Answers(golden string) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(golden, dir, "olm.txt"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		out[name] = said
	}
	return out, nil
}

// WriteAnswers writes what Answers reads.
func WriteAnswers(golden string, answers map[string]string) error {
	var b bytes.Buffer
	names := make([]string, 0, len(answers))
	for name := range answers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, answers[name])
	}
	return os.WriteFile(filepath.Join(golden, dir, "olm.txt"), b.Bytes(), 0o644)
}
