package permissions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

const (
	pageBegin = "<!-- consequences: written by make docs -->\n"
	pageEnd   = "<!-- end of consequences -->\n"
)

// TestPage keeps the list of what follows from a right equal to the rules; make docs writes it.
func TestPage(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "reference", "rights.md")
	golden.CheckPart(t, name, pageBegin, pageEnd, page(), *update)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before := string(data)
	for _, risk := range danger.Risks {
		if !strings.Contains(before, "`"+string(risk)+"`") {
			t.Errorf("the page does not explain the risk %s", risk)
		}
	}
	for _, why := range permissions.Whys {
		if !strings.Contains(before, "`"+string(why)+"`") {
			t.Errorf("the page does not explain the reason %s", why)
		}
	}
}

func page() string {
	var b strings.Builder
	fmt.Fprint(&b, "| Rule | In the cluster | In a namespace | Who has it | More |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range permissions.Rules() {
		level := func(s string) string {
			s, _, _ = strings.Cut(s, " ")
			if s == "" {
				return "no"
			}
			return s
		}
		c, ok := cases[r.ID]
		cluster, namespace := strangers[r.ID], strangers[r.ID]
		if ok {
			cluster, namespace = level(c.cluster), level(c.namespace)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.ID, cluster, namespace, r.Text, r.Help)
	}
	return b.String()
}

// strangers are the levels of the rules that are not about permissions of an account.
var strangers = map[string]string{"role-unknown": "warning", "account-missing": "warning", "users-gain": "error or warning", "everyone-gains": "error or warning"}

// The line about users names a few resources, and counts those of a group that has many.
func TestUsersGain(t *testing.T) {
	gain := func(groups, resources string) permissions.Item {
		return permissions.Item{Subject: permissions.Subject{Name: "admin"}, Verbs: []string{"get"},
			APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ",")}
	}
	named := gain("apiextensions.k8s.io", "customresourcedefinitions")
	named.ResourceNames = []string{"a.example.com"}
	for want, users := range map[string][]permissions.Item{
		"admin: a, b, c (x.io)":                          {gain("x.io", "a,b"), named, gain("x.io", "c")},
		"admin: 4 resources of x.io, d (y.io)":           {gain("x.io", "a,b,c"), gain("y.io", "d"), gain("x.io", "a,d")},
		"admin: all resources of x.io, y.io and 2 more":  {gain("x.io,y.io,z.io,w.io", "a,*")},
		"admin: URLs, a (core)":                          {{Subject: permissions.Subject{Name: "admin"}, NonResourceURLs: []string{"/a"}}, gain("", "a")},
		"admin: a (1.io), a (2.io), a (3.io) and 1 more": {gain("1.io", "a"), gain("2.io", "a"), gain("3.io", "a"), gain("4.io", "a")},
		"": {named},
	} {
		got := ""
		for _, r := range (&permissions.Report{Users: users}).Document().Sections[0].Remarks {
			if r.Label == "users gain" {
				got = r.Text
			}
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
