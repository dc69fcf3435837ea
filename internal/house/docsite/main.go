// Command docsite prepares the Markdown of the repository for the documentation site: it adds titles and an order, and
// turns links between files into links between pages. docs/site/pages.yaml lists the pages; "make site" runs it.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// repository is where links to files that are not on the site lead.
const repository = "https://github.com/olmgen/olmgen"

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("o", ".site/content", "the directory to write")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "docsite: "+err.Error())
		os.Exit(1)
	}
}

func run(root, out string) error {
	s, err := readSite(os.DirFS(root))
	if err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// section is a part of the site as pages.yaml lists it.
type section struct {
	Title string   `json:"title"`
	Path  string   `json:"path"`
	Text  string   `json:"text"`
	Pages []string `json:"pages"` // files, in their order; a directory stands for its files in the order of their names
}

// page is a file of the repository on the site.
type page struct {
	file  string
	title string
	url   string // with a slash at the end, without one at the start; empty for the start page
	text  string // without the title
}

type site struct {
	fsys     fs.FS
	sections []section
	pages    map[string]*page // by file
	order    map[string][]*page
	images   map[string][]byte // images, by their path on the site
}

// readSite reads the pages that docs/site/pages.yaml lists.
func readSite(fsys fs.FS) (*site, error) {
	s := &site{fsys: fsys, pages: map[string]*page{}, order: map[string][]*page{}, images: map[string][]byte{}}
	data, err := fs.ReadFile(fsys, "docs/site/pages.yaml")
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(data, &s.sections); err != nil {
		return nil, fmt.Errorf("docs/site/pages.yaml: %w", err)
	}
	if _, err := s.read("README.md", ""); err != nil {
		return nil, err
	}
	for _, section := range s.sections {
		for _, name := range section.Pages {
			if err := s.list(section, name); err != nil {
				return nil, fmt.Errorf("docs/site/pages.yaml: %w", err)
			}
		}
	}
	return s, nil
}

// list adds a file or the files of a directory to a section.
func (s *site) list(in section, name string) error {
	names, err := fs.Glob(s.fsys, name+"/*.md")
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, ".md") {
		names = []string{name}
	} else if len(names) == 0 {
		return fmt.Errorf("%s has no pages", name)
	}
	for _, file := range names {
		if s.pages[file] != nil {
			return fmt.Errorf("%s is listed twice", file)
		}
		base := strings.TrimSuffix(path.Base(file), ".md")
		if base == "README" {
			base = path.Base(path.Dir(file))
		}
		p, err := s.read(file, in.Path+"/"+strings.ToLower(base)+"/")
		if err != nil {
			return err
		}
		s.order[in.Path] = append(s.order[in.Path], p)
	}
	return nil
}

// read reads a page. Its first line is the title.
func (s *site) read(file, url string) (*page, error) {
	data, err := fs.ReadFile(s.fsys, file)
	if err != nil {
		return nil, err
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	title, found := strings.CutPrefix(first, "# ")
	if !found {
		return nil, fmt.Errorf("%s: the first line is not a heading", file)
	}
	p := &page{file: file, title: strings.ReplaceAll(title, "`", ""), url: url, text: rest}
	s.pages[file] = p
	return p, nil
}

// files returns the content of the site by path.
func (s *site) files() (map[string][]byte, error) {
	out := map[string][]byte{}
	home, err := s.linked(s.pages["README.md"])
	if err != nil {
		return nil, err
	}
	out["_index.md"] = []byte(matter("olmgen", 1) + home)
	for i, section := range s.sections {
		index := matter(section.Title, i+1) + "\n" + section.Text + "\n\n"
		for j, p := range s.order[section.Path] {
			text, err := s.linked(p)
			if err != nil {
				return nil, err
			}
			out[strings.TrimSuffix(p.url, "/")+".md"] = []byte(matter(p.title, j+1) + text)
			index += fmt.Sprintf("* [%s](%s)\n", p.title, strings.TrimPrefix(p.url, section.Path+"/"))
		}
		out[section.Path+"/_index.md"] = []byte(index)
	}
	maps.Copy(out, s.images)
	return out, nil
}

// matter returns the front matter of a page.
func matter(title string, weight int) string {
	// The type is what the theme needs to show the pages of a section beside the text.
	return fmt.Sprintf("---\ntitle: %q\nweight: %d\ntype: docs\n---\n", title, weight)
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan = regexp.MustCompile("`[^`]*`")
)

// linked returns the text of a page with its links as the site needs them.
func (s *site) linked(p *page) (string, error) {
	var out []string
	fenced := false
	for line := range strings.SplitSeq(p.text, "\n") {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "```"); found {
			fenced = !fenced
			if language, words, more := strings.Cut(rest, " "); more {
				line = strings.Replace(line, language+" "+words, language, 1)
			}
		} else if !fenced {
			var err error
			if line, err = s.linkedLine(p, line); err != nil {
				return "", err
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n"), nil
}

// linkedLine rewrites the links of one line that are not in code.
func (s *site) linkedLine(p *page, line string) (string, error) {
	spans := codeSpan.FindAllStringIndex(line, -1)
	var out strings.Builder
	at := 0
	for _, m := range link.FindAllStringSubmatchIndex(line, -1) {
		if slices.ContainsFunc(spans, func(span []int) bool { return span[0] < m[0] && m[0] < span[1]-1 }) {
			continue
		}
		to, err := s.target(p, line[m[2]:m[3]])
		if err != nil {
			return "", err
		}
		out.WriteString(line[at:m[2]] + to)
		at = m[3]
	}
	return out.String() + line[at:], nil
}

// target returns where a link of a page leads on the site.
func (s *site) target(p *page, to string) (string, error) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "mailto:") {
		return to, nil
	}
	name, fragment, found := strings.Cut(to, "#")
	if found {
		fragment = "#" + fragment
	}
	file := path.Join(path.Dir(p.file), name)
	if q := s.pages[file]; q != nil {
		return up(p.url) + q.url + fragment, nil
	}
	info, err := fs.Stat(s.fsys, file)
	if err != nil {
		return "", fmt.Errorf("%s: link to %s: %w", p.file, to, err)
	}
	if info.IsDir() {
		return repository + "/tree/main/" + file, nil
	}
	if ext := path.Ext(file); ext == ".svg" || ext == ".png" {
		if s.images["pictures/"+path.Base(file)], err = fs.ReadFile(s.fsys, file); err != nil {
			return "", err
		}
		return up(p.url) + "pictures/" + path.Base(file), nil
	}
	return repository + "/blob/main/" + file + fragment, nil
}

// up returns the way from a page to the start of the site.
func up(url string) string {
	if url == "" {
		return "./"
	}
	return strings.Repeat("../", strings.Count(url, "/"))
}
