package versions

import (
	"encoding/json"
	"flag"
	"slices"
)

// Update is set where the tests write their files anew.
var Update = flag.Bool("update", false, "write the generated files anew")

// Products are all products.
var Products = []Product{OLM, OperatorController, OpenShift, OPM}

// Fields returns what facts are about: each kind, with each field of it and an empty one for itself.
func Fields() (list [][2]string) {
	for _, f := range Facts() {
		if pair := [2]string{f.Kind, f.Field}; f.Kind != "" && !slices.Contains(list, pair) {
			list = append(list, pair)
		}
	}
	return list
}

// Next returns what no release has yet.
func Next() []Fact { return facts().Next }

// Gates returns the names of all feature gates of which facts are known.
func Gates() (list []string) {
	for _, f := range Facts() {
		if f.Gate != "" && !slices.Contains(list, f.Gate) {
			list = append(list, f.Gate)
		}
	}
	return list
}

// ReadData returns read.json.
func ReadData() (list []Read, err error) { return list, json.Unmarshal(read, &list) }
