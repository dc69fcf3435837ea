// Command docsite prepares the Markdown of the repository for the documentation site: it adds titles and an order.
// docs/site/pages.yaml lists the pages; "make site" runs it. Links between files become links between pages when hugo
// renders them (docs/site/layouts).
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

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
}

// readSite reads the pages that docs/site/pages.yaml lists.
func readSite(fsys fs.FS) (*site, error) {
	s := &site{fsys: fsys, pages: map[string]*page{}, order: map[string][]*page{}}
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
	out := map[string][]byte{"_index.md": s.pages["README.md"].content("olmgen", 1)}
	for i, section := range s.sections {
		index := fmt.Sprintf(matter, section.Title, i+1) + "---\n\n" + section.Text + "\n\n"
		for j, p := range s.order[section.Path] {
			out[strings.TrimSuffix(p.url, "/")+".md"] = p.content(p.title, j+1)
			index += fmt.Sprintf("* [%s](%s)\n", p.title, strings.TrimPrefix(p.url, section.Path+"/"))
		}
		out[section.Path+"/_index.md"] = []byte(index)
	}
	pictures, err := fs.Glob(s.fsys, "docs/pictures/*")
	for _, file := range pictures {
		data, err := fs.ReadFile(s.fsys, file)
		if err != nil {
			return nil, err
		}
		out[strings.TrimPrefix(file, "docs/")] = data
	}
	return out, err
}

// matter is the begin of the front matter of a page. The type is what the theme needs to show the pages of a section
// beside the text.
const matter = "---\ntitle: %q\nweight: %d\ntype: docs\n"

// content returns a page with front matter, which names the file for links to it and from it.
func (p *page) content(title string, weight int) []byte {
	return fmt.Appendf(nil, matter+"file: %s\n---\n%s", title, weight, p.file, p.text)
}
