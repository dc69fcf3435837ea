// Package repos knows the directory of a tree, those that stand for other repositories, and the addresses of these.
package repos

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/manifest"
)

// Checkout is a directory with one revision of a repository of Git, or with charts of a repository of charts.
type Checkout struct{ Address, Dir string }

// Repos are the checkouts that stand for repositories, and the addresses that a tree names.
type Repos struct {
	dirs  map[string]string // absolute, without symbolic links, by Normal of their addresses
	given map[string]string // the same as somebody gave them
	named map[string]string // the addresses that the tree names, by Normal

	Give string // the option of the front end that gives a checkout, for hints
}

// New returns the repositories of a tree.
func New(list []Checkout) *Repos {
	r := &Repos{dirs: map[string]string{}, given: map[string]string{}, named: map[string]string{}}
	for _, c := range list {
		real, err := filepath.EvalSymlinks(c.Dir)
		if abs, bad := filepath.Abs(real); err == nil && bad == nil {
			r.dirs[Normal(c.Address)], r.given[abs] = abs, c.Dir
		}
	}
	return r
}

// Dir returns the checkout of an address that the tree names, or "".
func (r *Repos) Dir(address string) string {
	if n := Normal(address); address != "" {
		r.named[n] = cmp.Or(r.named[n], address)
		return r.dirs[n]
	}
	return ""
}

// Find returns the path without symbolic links of what is in the repository of an address.
func (r *Repos) Find(address, below string) (string, error) {
	top := r.Dir(address)
	if top == "" {
		return "", fs.ErrNotExist
	}
	return regular.Inside(top, filepath.Join(top, filepath.FromSlash(below)))
}

// Chart returns the directory of a chart in a repository of charts; an empty name is that of its only one.
func (r *Repos) Chart(address, name string) string {
	top := r.Dir(address)
	if top == "" {
		return ""
	}
	for _, below := range []string{name, path.Base(name), ""} {
		dir := filepath.Join(top, path.Clean("/"+below))
		var chart struct{ Name string }
		text, err := Read(top, filepath.Join(dir, "Chart.yaml"))
		if err == nil && yaml.Unmarshal(text, &chart) == nil && (name == "" || chart.Name == path.Base(name)) {
			return dir
		}
	}
	return ""
}

// Named returns the addresses that the tree names, by Normal.
func (r *Repos) Named() map[string]string { return maps.Clone(r.named) }

// Missing returns an error with the place where what is not there may be.
func (r *Repos) Missing(e *manifest.Error, address string) *manifest.Error {
	if dir := r.Dir(address); dir != "" {
		e.Msg += fmt.Sprintf(" (%s does not have it)", filepath.ToSlash(r.given[dir]))
	} else if address != "" {
		shown := r.named[Normal(address)]
		e.Msg += fmt.Sprintf(" (%s)", shown)
		e.Tip = strings.TrimSpace(r.Give + " " + shown + "=DIR reads a directory that has it")
	}
	return e
}

// Name returns the name in messages of what is in a checkout.
func (r *Repos) Name(abs string) (name string, ok bool) {
	dir := r.Limit(abs, "")
	rel, err := filepath.Rel(dir, abs)
	return filepath.ToSlash(filepath.Join(r.given[dir], rel)), dir != "" && err == nil
}

// Limit returns the innermost checkout that a path is in, or top: what is in it names nothing outside.
func (r *Repos) Limit(abs, top string) string {
	in := ""
	for dir := range r.given {
		if len(dir) > len(in) && regular.Below(dir, abs) {
			in = dir
		}
	}
	return cmp.Or(in, top)
}

// Read returns the text of a file, but not of one outside of a directory.
func Read(limit, path string) ([]byte, error) {
	real, err := regular.Inside(limit, path)
	if err != nil {
		return nil, err
	}
	in, err := regular.Open(real)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return whole.ReadAll(in, budget.Chart)
}

// Normal returns an address without what does not tell repositories apart: the scheme, the user, ".git" and slashes at
// the end, the case of the host. That of git@host:path is host/path.
func Normal(address string) string {
	_, rest, scheme := strings.Cut(address, "://")
	if !scheme {
		rest = address
	}
	host, below, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	if name, first, ok := strings.Cut(host, ":"); ok && !scheme && strings.Trim(first, "0123456789") != "" {
		host, below = name, first+"/"+below
	}
	below = strings.TrimSuffix(strings.Trim(below, "/"), ".git")
	return strings.ToLower(host) + "/" + strings.TrimSuffix(below, "/")
}

// The forms of addresses that kustomize knows: the host, what separates the repository from a path in it, and files.
var (
	host = lazy.Regexp(`(?i)^(?:git::)?((?:https?|ssh)://(?:[a-z][a-z0-9-]*@)?[^/]+/|[a-z][a-z0-9-]*@[^/:]+[:/]` +
		`|github\.com[:/])`)
	parts = lazy.Regexp(`^(?:(.*?_git/[^/]+)|(.*?)//|(.*?\.git)|([^/]+/[^/]+))(?:/|$)?(.*)$`)
	file  = lazy.Regexp(`(?i)^https://raw\.githubusercontent\.com/([^/]+/[^/]+)/(?:refs/(?:heads|tags)/)?[^/]+/(.+)$`)
)

// Entry returns the address of a repository, and a path in it, that an entry of a kustomization names
// (sigs.k8s.io/kustomize/api: internal/git/repospec.go, NewRepoSpecFromURL). The revision does not count.
func Entry(entry string) (address, dir string, ok bool) {
	entry, _, _ = strings.Cut(entry, "?")
	if m := file().FindStringSubmatch(entry); m != nil {
		return "https://github.com/" + m[1], m[2], true
	}
	at := host().FindStringSubmatchIndex(entry)
	if at == nil {
		return "", "", false
	}
	m := parts().FindStringSubmatch(entry[at[3]:])
	if m == nil {
		return "", "", false
	}
	repository, dir := cmp.Or(m[1], m[2], m[3], m[4]), path.Clean("./"+strings.TrimPrefix(m[5], "/"))
	return entry[at[2]:at[3]] + repository, dir, repository != "" && filepath.IsLocal(dir)
}
