package repos_test

import (
	"testing"

	"github.com/olmgen/olmgen/internal/repos"
)

// One repository has many addresses.
func TestNormal(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/o/r":                "github.com/o/r",
		"HTTPS://user@GitHub.com/o/r.git/":      "github.com/o/r",
		"git@github.com:o/r.git":                "github.com/o/r",
		"ssh://git@github.com/o/r":              "github.com/o/r",
		"github.com/o/r":                        "github.com/o/r",
		"https://github.com/O/r":                "github.com/O/r",
		"https://charts.example.com":            "charts.example.com/",
		"oci://registry.example.com:5000/a/b/":  "registry.example.com:5000/a/b",
		"registry.example.com:5000/a/b":         "registry.example.com:5000/a/b",
		"https://u:secret@git.example.com/a/b":  "git.example.com/a/b",
		"https://dev.azure.com/org/p/_git/repo": "dev.azure.com/org/p/_git/repo",
	} {
		if got := repos.Normal(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// The wanted parts are those of NewRepoSpecFromURL in sigs.k8s.io/kustomize/api.
func TestEntry(t *testing.T) {
	for entry, want := range map[string][2]string{
		"https://github.com/o/r//a/b?ref=v1":                             {"https://github.com/o/r", "a/b"},
		"https://github.com/o/r/a/b?ref=v1":                              {"https://github.com/o/r", "a/b"},
		"https://github.com/o/r.git/a":                                   {"https://github.com/o/r.git", "a"},
		"github.com/o/r?ref=v1":                                          {"github.com/o/r", "."},
		"git@github.com:o/r//a":                                          {"git@github.com:o/r", "a"},
		"git::https://gitlab.com/a/b/c.git//d":                           {"https://gitlab.com/a/b/c.git", "d"},
		"ssh://git@git.example.com:22/o/r.git//a":                        {"ssh://git@git.example.com:22/o/r.git", "a"},
		"https://u@dev.azure.com/o/p/_git/r/a/b":                         {"https://u@dev.azure.com/o/p/_git/r", "a/b"},
		"https://raw.githubusercontent.com/o/r/v1/a.yaml":                {"https://github.com/o/r", "a.yaml"},
		"https://raw.githubusercontent.com/o/r/refs/heads/main/d/a.yaml": {"https://github.com/o/r", "d/a.yaml"},
		"https://github.com/o/r//../a":                                   {},
		"https://github.com/o":                                           {},
		"../base":                                                        {},
		"base":                                                           {},
		"file:///repo//a":                                                {},
	} {
		address, dir, ok := repos.Entry(entry)
		if !ok {
			address, dir = "", ""
		}
		if got := [2]string{address, dir}; got != want {
			t.Errorf("%s: %v, want %v", entry, got, want)
		}
	}
}
