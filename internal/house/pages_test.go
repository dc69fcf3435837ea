// Package house tests what the pages of the repository claim: their links, the paths that they name, and the
// sections of the specification that comments cite.
package house

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../.."

// files returns the paths, relative to the repository, of its files with an extension.
func files(t *testing.T, ext string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ext {
			rel, err := filepath.Rel(root, name)
			list = append(list, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d files with extension %s: %v", len(list), ext, err)
	}
	return list
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

var (
	fence   = regexp.MustCompile("(?s)\n```.*?\n```")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the fragments under which GitHub finds the headings of a page.
func anchors(page string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString("\n"+page, ""), -1) {
		list = append(list, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

// A relative link leads to a file of the repository, and its fragment to a heading of that file.
func TestLinks(t *testing.T) {
	found := 0
	for _, page := range files(t, ".md") {
		text := read(t, page)
		text = code.ReplaceAllString(fence.ReplaceAllString("\n"+text, ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			found++
			target, fragment, _ := strings.Cut(m[1], "#")
			name := page
			if target != "" {
				name = path.Join(path.Dir(page), target)
			}
			switch {
			case strings.HasPrefix(name, "../") || !exists(name):
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
			case fragment != "" && !slices.Contains(anchors(read(t, name)), fragment):
				t.Errorf("%s: the link %s leads to no heading of %s", page, m[1], name)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d relative links: does the pattern still match?", found)
	}
}

var (
	quoted = regexp.MustCompile("`([a-z0-9][A-Za-z0-9_./-]*)`")
	goFile = regexp.MustCompile(`^[a-z0-9_/]+\.go$`)
	symbol = regexp.MustCompile("`([A-Za-z.]+)`")
)

// The page on architecture names only files, packages and functions that exist.
func TestArchitecture(t *testing.T) {
	page := read(t, "docs/architecture.md")
	for _, m := range quoted.FindAllStringSubmatch(page, -1) {
		slash := strings.Contains(m[1], "/")
		if (slash || goFile.MatchString(m[1])) && !exists(m[1]) {
			t.Errorf("%s is not in the repository", m[1])
		}
	}
	declared := declarations(t)
	_, where, _ := strings.Cut(page, "\n## Where is ... made?")
	where, _, _ = strings.Cut(where, "\n## ")
	names := 0
	for line := range strings.SplitSeq(where, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		for _, m := range symbol.FindAllStringSubmatch(cells[3], -1) {
			name := m[1][strings.LastIndex(m[1], ".")+1:]
			names++
			in := link.FindAllStringSubmatch(cells[2]+cells[3], -1)
			if !slices.ContainsFunc(in, func(l []string) bool { return declared[path.Join("docs", l[1])+" "+name] }) {
				t.Errorf("none of the files beside %s declares it", m[1])
			}
		}
	}
	if names < 8 {
		t.Errorf("only %d functions are named: does the pattern still match?", names)
	}
}

var declaration = regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|var |const |type )(\w+)`)

// declarations returns "FILE NAME" for what is declared at the top of Go files.
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, f := range files(t, ".go") {
		for _, m := range declaration.FindAllStringSubmatch(read(t, f), -1) {
			all[f+" "+m[1]] = true
		}
	}
	return all
}

var (
	numbers = `(\d+(?:\.\d+)?(?:(?:,| and| to) \d+(?:\.\d+)?)*)`
	cited   = regexp.MustCompile(`\bspec(?:ification)?,? (v1(?:-resolver)? )?(?:sections? )?` + numbers)
	section = regexp.MustCompile(`\bsections? ` + numbers)
	number  = regexp.MustCompile(`\d+(?:\.\d+)?`)
	titled  = regexp.MustCompile(`(?m)^##+ (\d+(?:\.\d+)?)\.? `)
)

// Every section of the specification that a comment cites exists.
func TestSpecification(t *testing.T) {
	sections := map[string][]string{}
	for _, page := range []string{"v0", "v0-installs", "v1", "v1-resolver"} {
		for _, m := range titled.FindAllStringSubmatch(read(t, "docs/reference/spec/olm-"+page+".md"), -1) {
			cited := strings.TrimSuffix(page, "-installs") // the sections of v0 are on two pages
			sections[cited] = append(sections[cited], m[1])
		}
	}
	checked := 0
	check := func(file, page, numbers string) {
		for _, n := range number.FindAllString(numbers, -1) {
			checked++
			if !slices.Contains(sections[page], n) {
				t.Errorf("%s cites section %s, which docs/reference/spec/olm-%s.md does not have", file, n, page)
			}
		}
	}
	for _, f := range files(t, ".go") {
		if strings.HasPrefix(f, "internal/house/pages_test.go") {
			continue
		}
		for line := range strings.SplitSeq(read(t, f), "\n") {
			_, comment, ok := strings.Cut(line, "//")
			if !ok {
				continue
			}
			for _, m := range cited.FindAllStringSubmatch(comment, -1) {
				page := "v0"
				if m[1] != "" {
					page = strings.TrimSpace(m[1])
				}
				check(f, page, m[2])
			}
			if strings.HasPrefix(f, "generate/olmv1/") {
				for _, m := range section.FindAllStringSubmatch(comment, -1) {
					check(f, "v1", m[1])
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d sections are cited: does the pattern still match?", checked)
	}
}

// The site has every page below docs once. A page begins with its title, and hugo finds it.
func TestSite(t *testing.T) {
	var sections []struct{ Pages []string }
	if err := yaml.Unmarshal([]byte(read(t, "docs/site/pages.yaml")), &sections); err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{"README.md": 1}
	for _, s := range sections {
		for _, name := range s.Pages {
			pages := []string{name}
			if !strings.HasSuffix(name, ".md") {
				pages, _ = fs.Glob(os.DirFS(root), name+"/*.md")
			}
			if len(pages) == 0 {
				t.Errorf("%s has no pages", name)
			}
			for _, page := range pages {
				listed[page]++
			}
		}
	}
	for _, page := range files(t, ".md") {
		if n := listed[page]; strings.HasPrefix(page, "docs/") && n != 1 {
			t.Errorf("docs/site/pages.yaml lists %s %d times", page, n)
		}
	}
	for page := range listed {
		if !strings.HasPrefix(read(t, page), "# ") {
			t.Errorf("%s: the first line is not a heading", page)
		}
		if !strings.HasPrefix(page, "docs/") && !strings.Contains(read(t, "docs/site/hugo.yaml"), "../../"+page+",") {
			t.Errorf("docs/site/hugo.yaml does not mount %s", page)
		}
	}
}
