package output

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

const (
	one = "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" // of "1"
	two = "sha256:d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35" // of "2"
)

func TestLockText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustWrite(t, dir, holds{"b.yaml": "1", "a/10.yaml": "2", "a/9.yaml": "1", "yes": "1", "a: b #c": "2", "rôle.yaml": "1"}.files(), WriteOptions{Sources: []Source{
		{Bundle: "memcached.v1.0.0", Source: "quay.io/x/memcached@" + one, Digest: one},
		{Bundle: "etcd.v1.0.0", Source: "./bundles/etcd", Digest: two},
		{Bundle: "etcd.v1.0.0", Source: "../bundles/my etcd"},
		{Bundle: "etcd.v1.0.0", Source: "../bundles/my etcd"},
		{Bundle: "true"},
	}})
	got, err := os.ReadFile(filepath.Join(dir, LockName))
	must(t, err)
	equal(t, "lock", string(got), `# Written by olmgen. Do not edit: it says which files of this directory are olmgen's.
apiVersion: olmgen.dev/v1alpha1
kind: Lock
sources:
- bundle: etcd.v1.0.0
  source: "../bundles/my etcd"
- bundle: etcd.v1.0.0
  source: ./bundles/etcd
  digest: `+two+`
- bundle: memcached.v1.0.0
  source: quay.io/x/memcached@`+one+`
  digest: `+one+`
- bundle: "true"
files:
  a/10.yaml: `+two+`
  a/9.yaml: `+one+`
  "a: b #c": `+two+`
  b.yaml: `+one+`
  "rôle.yaml": `+one+`
  "yes": `+one+`
`)
}

// TestLockNames reads back names that mean something else to YAML.
func TestLockNames(t *testing.T) {
	names := []string{
		"a", "y", "no", "null", "~", "1", "1.5", "0x10", "1e3", ".inf", "<<", "=", "- a", "a: b", "a #b", "#a", "'a'", `"a"`, "&a", "*a",
		"!a", "%a", "@a", "`a", "{a}", "[a]", "?", "? a", "a:", ":a", " a", "a ", "a,b", "---", "...", "2001-01-01", "12:30:45",
		"ünïcode", "日本語.yaml", "😀", "\u2028x", "\ufeffx", "\uffff", "\u00a0",
		strings.Repeat("a/", 800) + "a", strings.Repeat("\u2028/", 400) + "a", strings.Repeat("日", 80),
	}
	files := map[string]string{}
	var sources []Source
	for _, n := range names {
		files[n] = one
		sources = append(sources, Source{Bundle: n, Source: n})
	}
	want, err := newLock("", sources, files)
	must(t, err)
	got, err := readLock(want.encode())
	must(t, err)
	equal(t, "lock", got, want)
}

func TestReadLock(t *testing.T) {
	const head = "apiVersion: olmgen.dev/v1alpha1\nkind: Lock\n"
	for _, c := range []struct{ name, text, err string }{
		{"empty", "", "apiVersion: \"\" is not"},
		{"smallest", head, ""},
		{"nulls", head + "sources: null\nfiles:\n", ""},
		{"another layout", "---\n# x\n{apiVersion: olmgen.dev/v1alpha1, 'kind': Lock, files: {a: '" + one + "'}}\n", ""},
		{"windows lines", strings.ReplaceAll(head+"files:\n  a: "+one+"\n", "\n", "\r\n"), ""},
		{"other version", "apiVersion: olmgen.dev/v9\nkind: Lock\nnews: 1\n", `apiVersion: "olmgen.dev/v9" is not`},
		{"other kind", "apiVersion: olmgen.dev/v1alpha1\nkind: Config\n", `kind: "Config" is not`},
		{"unknown field", head + "file: {}\n", `unknown field "file"`},
		{"unknown field in other case", head + "Files: {}\n", `unknown field "Files"`},
		{"unknown field of a source", head + "sources:\n- bundle: a\n  image: b\n", `unknown field "sources[0].image"`},
		{"duplicate", head + "files:\n  a: " + one + "\n  a: " + two + "\n", `line 5: key "a" already set in map`},
		{"second document", head + "---\n" + head, "line 3: a second YAML document"},
		{"after the end", head + "...\nx\n", "line 3: a second YAML document"},
		{"no mapping", "- a\n", "found a array in place of a struct"},
		{"no text", head + "files:\n  a: 5\n", "files: found a number in place of a string"},
		{"merge conflict in the first line", "<<<<<<< HEAD\nfiles\n=======\n", "line 1: a Git conflict that is not resolved"},
		{"merge conflict", head + "<<<<<<< HEAD\nfiles: {}\n=======\n", "line 3: a Git conflict that is not resolved"},
		{"tab", head + "\tfiles: {}\n", "line 3"},
		{"up", head + "files:\n  a/../../b: " + one + "\n", `files: path "a/../../b" holds a ".." segment`},
		{"absolute", head + "files:\n  /etc/passwd: " + one + "\n", `files: path "/etc/passwd" is absolute`},
		{"backslash", head + "files:\n  a\\b: " + one + "\n", "holds a backslash"},
		{"empty path", head + "files:\n  '': " + one + "\n", `path "" is empty`},
		{"itself", head + "files:\n  olmgen.lock: " + one + "\n", "its own record"},
		{"short digest", head + "files:\n  a: sha256:abc\n", `files["a"]: "sha256:abc" is not`},
		{"other digest", head + "files:\n  a: md5:" + strings.Repeat("a", 64) + "\n", "is not sha256:"},
		{"no bundle", head + "sources:\n- source: x\n", `sources[0].bundle: "" is empty`},
		{"null source", head + "sources:\n- \n", `sources[0].bundle: "" is empty`},
		{"control character", head + "sources:\n- bundle: \"a\\nb\"\n", "control character"},
		{"bad source digest", head + "sources:\n- bundle: a\n  digest: latest\n", "sources[0].digest"},
		{"too large", head + "#" + strings.Repeat("a", maxLockSize), "larger than 16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readLock([]byte(c.text))
			switch {
			case c.err == "" && err != nil:
				t.Errorf("error: %v", err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n")):
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}

func FuzzReadLock(f *testing.F) {
	f.Add([]byte("apiVersion: olmgen.dev/v1alpha1\nkind: Lock\nsources:\n- bundle: a.v1\n  source: ./a\n  digest: " + one + "\nfiles:\n  a.yaml: " + one + "\n"))
	f.Add([]byte("---\n{apiVersion: olmgen.dev/v1alpha1, kind: Lock, files: {? 'x y' : \"" + one + "\"}}"))
	f.Add([]byte("apiVersion: olmgen.dev/v1alpha1\nkind: Lock\nfiles: &a {b: " + one + "}\nsources: [{bundle: \"\\u2028\\U0001f600\"}]\n"))
	f.Add([]byte("apiVersion: olmgen.dev/v1alpha1\nkind: Lock\nfiles:\n  !!binary aGk=: " + one + "\n  1: " + one + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		l, err := readLock(data)
		if err != nil {
			return
		}
		text := l.encode()
		again, err := readLock(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !reflect.DeepEqual(l, again) && len(l.Sources)+len(again.Sources) > 0 {
			t.Fatalf("%#v became %#v", l, again)
		}
		if !bytes.Equal(text, again.encode()) {
			t.Fatalf("not stable:\n%s", text)
		}
	})
}

// FuzzFiles checks that what is accepted as a path stays below the output directory and can be recorded.
func FuzzFiles(f *testing.F) {
	for _, p := range []string{"a.yaml", "a/b", "../x", "/etc", "a\\b", "", "a//b", ".git/x", "OLMGEN.lock", "con", "a\x00", "\xff", "ſ", "K"} {
		f.Add(p, "A.yaml")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		fuzztest.Limit(t, len(a)+len(b))
		files := Files{{Path: a}, {Path: b}}
		if files.check() != nil {
			return
		}
		for _, p := range []string{a, b} {
			if !filepath.IsLocal(filepath.FromSlash(p)) || filepath.ToSlash(filepath.Clean(p)) != p {
				t.Fatalf("accepted %q", p)
			}
		}
		if strings.EqualFold(a, b) || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") {
			t.Fatalf("accepted %q and %q", a, b)
		}
		l, err := newLock("", nil, map[string]string{a: one, b: two})
		if err != nil {
			t.Fatal(err)
		}
		again, err := readLock(l.encode())
		if err != nil || !reflect.DeepEqual(l.Files, again.Files) {
			t.Fatalf("%q became %q: %v", l.Files, again.Files, err)
		}
	})
}

func TestFilesCheck(t *testing.T) {
	for _, c := range []struct {
		paths []string
		err   string
	}{
		{[]string{"a.yaml", "a/b.yaml", "a/c/d.yaml", "..a", "a..b/...", ".hidden", "x:y", strings.Repeat("a", 255)}, ""},
		{[]string{"sub/olmgen.lock"}, ""},
		{[]string{".olmgen-work/new"}, "olmgen works there"},
		{[]string{""}, "is empty"},
		{[]string{"/a"}, "is absolute"},
		{[]string{"a/"}, "empty segment"},
		{[]string{"a//b"}, "empty segment"},
		{[]string{"./a"}, `holds a "." segment`},
		{[]string{"a/.."}, `holds a ".." segment`},
		{[]string{"../a"}, `holds a ".." segment`},
		{[]string{`a\b`}, "backslash"},
		{[]string{"a\x00b"}, "control character"},
		{[]string{"a\nb"}, "control character"},
		{[]string{"\xff"}, "not valid UTF-8"},
		{[]string{strings.Repeat("a", 256)}, "longer than 255 bytes"},
		{[]string{".git/config"}, "git repository"},
		{[]string{"a/.GIT"}, "git repository"},
		{[]string{"olmgen.lock"}, "its own record"},
		{[]string{"Olmgen.Lock"}, "its own record"},
		{[]string{"olmgen.lock/a"}, "its own record"},
		{[]string{"a", "b", "a"}, `two files have the path "a"`},
		{[]string{"a.yaml", "A.yaml"}, `"a.yaml" and "A.yaml" differ only in case`},
		{[]string{"x/a.yaml", "X/b.yaml"}, `"x" and "X" differ only in case`},
		{[]string{"straſe", "strase"}, "differ only in case"},
		{[]string{"a", "a/b"}, "is a file and also a directory"},
		{[]string{"a/b", "a"}, "is a file and also a directory"},
	} {
		var files Files
		for _, p := range c.paths {
			files = append(files, File{Path: p})
		}
		err := files.check()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: error %v, want one with %q", c.paths, err, c.err)
		}
	}
}

func TestParents(t *testing.T) {
	for p, want := range map[string][]string{"a": nil, "a/b": {"a"}, "a/b/c": {"a", "a/b"}} {
		if got := parents(p); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
}
