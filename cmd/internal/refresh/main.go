// Command refresh reads from clones what the releases of OLM v1 and of OpenShift take, and writes it for package
// versions, each fact with the repository, commit, file and line that say so:
//
//	refresh read.json DIR
//
// DIR/OWNER/NAME is a clone of each repository with its tags and release branches, bare or not. What refresh does not
// understand it refuses.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

// The repositories that are read.
const (
	upstream = "operator-framework/operator-controller"
	operand  = "openshift/operator-framework-operator-controller"
	operator = "openshift/cluster-olm-operator"
	api      = "openshift/api"
)

// products have releases with v1 of the API: each is a ref of every repository, which is followed by a commit.
var products = []struct {
	name         versions.Product
	refs         *regexp.Regexp
	repositories []string
	read         func(*release)
}{
	{versions.OperatorController, regexp.MustCompile(`(?m)^refs/tags/(v[1-9]\d*\.\d+)\.\d+ .*\b(\w{40})`),
		[]string{upstream}, (*release).upstream},
	{versions.OpenShift, regexp.MustCompile(`(?m)^refs/(?:heads|remotes/origin)/release-` +
		`(4\.1[89]|4\.[2-9]\d|[5-9]\.\d+) (\w{40})`), []string{operand, operator, api}, (*release).openshift},
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("refresh read.json DIR")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(file, dir string) error {
	var list []versions.Read
	for _, p := range products {
		var numbers []string
		commits := map[string]map[string]string{} // by release and repository
		for _, name := range p.repositories {
			refs, err := git(dir, name, "for-each-ref", "--sort=version:refname:lstrip=-1",
				"--format=%(refname) %(objectname) %(*objectname)")
			if err != nil {
				return err
			}
			for _, m := range p.refs.FindAllStringSubmatch(refs, -1) {
				if commits[m[1]] == nil {
					numbers, commits[m[1]] = append(numbers, m[1]), map[string]string{}
				}
				commits[m[1]][name] = m[2]
			}
		}
		for _, number := range numbers {
			r := release{Read: versions.Read{Of: p.name, Number: number, Commits: commits[number]}, dir: dir}
			if len(r.Commits) < len(p.repositories) {
				log.Printf("%s %s is left out: only %v have it", p.name, number, slices.Sorted(maps.Keys(r.Commits)))
				continue
			}
			if p.read(&r); r.err != nil {
				return r.err
			}
			list = append(list, r.Read)
		}
	}
	out, err := json.Marshal(list)
	if err != nil {
		return err
	}
	out = bytes.ReplaceAll(out, []byte("},{"), []byte("},\n{")) // a fact, a line
	return os.WriteFile(file, append(out, '\n'), 0o644)         //nolint:gosec // a file of the repository
}

// git returns what git prints of a repository. What it complains of goes to stderr.
func git(dir, repository string, args ...string) (string, error) {
	args = append([]string{"-C", filepath.Join(dir, repository)}, args...)
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

type release struct {
	versions.Read
	dir string
	err error // the first one; what was read then does not count
}

type file struct{ name, text string }

func (f file) line(n int) string { return fmt.Sprintf("%s:%d", f.name, n) }

// files returns the files of a repository whose paths have a pattern.
func (r *release) files(repository, paths string) (list []file) {
	commit := r.Commits[repository]
	names, err := git(r.dir, repository, "ls-tree", "-r", "--name-only", commit)
	for _, path := range regexp.MustCompile(`(?m)^(?:`+paths+`)$`).FindAllString(names, -1) {
		text, e := git(r.dir, repository, "show", commit+":"+path)
		list, err = append(list, file{repository + ":" + path, text}), cmp.Or(err, e)
	}
	r.err = cmp.Or(r.err, err)
	return list
}

// match is what a pattern found: its groups, and the source.
type match struct {
	groups []string
	source string
}

// find returns what a pattern finds in files of a repository. That they have nothing is an error.
func (r *release) find(repository, pattern, paths string) (list []match) {
	files := r.files(repository, paths)
	for _, f := range files {
		for _, at := range regexp.MustCompile(pattern).FindAllStringSubmatchIndex(f.text, -1) {
			m := match{source: f.line(strings.Count(f.text[:at[0]], "\n") + 1)}
			for i := 2; i < len(at); i += 2 {
				m.groups = append(m.groups, f.text[max(at[i], 0):max(at[i+1], 0)])
			}
			list = append(list, m)
		}
	}
	if len(list) == 0 && len(files) > 0 {
		r.err = cmp.Or(r.err, fmt.Errorf("%s of %s has nothing that refresh understands: read it, and change the "+
			"pattern %s", files[0].name, r.Number, pattern))
	}
	return list
}
