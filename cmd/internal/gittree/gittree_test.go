package gittree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/regular"
)

var who = &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(1, 0)}

// repository makes a repository with two commits: a/x is "1", then "2", and b/y comes with the second.
func repository(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	work, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	for i, files := range []map[string]string{{"a/x": "1", "a/sub/z": "z"}, {"a/x": "2", "b/y": "y"}} {
		for name, data := range files {
			write(t, filepath.Join(dir, name), data)
		}
		if i == 0 {
			if err := os.Symlink("x", filepath.Join(dir, "a/link")); err != nil {
				t.Fatal(err)
			}
		}
		if err := work.AddGlob("."); err != nil {
			t.Fatal(err)
		}
		hash, err := work.Commit("c", &git.CommitOptions{Author: who})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := repo.CreateTag("v1", hash, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// content lists the files below a directory with what is in them.
func content(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out = append(out, filepath.ToSlash(rel)+"="+string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestCheckout(t *testing.T) {
	dir := repository(t)
	for _, c := range []struct {
		path, rev string
		whole     bool
		want      string // of the directory that it is written to
	}{
		{"a", "HEAD", false, "a/sub/z=z a/x=2"},
		{"a", "HEAD~1", false, "a/sub/z=z a/x=1"},
		{"a/x", "v1", false, "a/x=1"},
		{"a/x", "v1", true, "a/sub/z=z a/x=1"},
		{".", "HEAD", false, "a/sub/z=z a/x=2 b/y=y"},
		{"b", "master", false, "b/y=y"},
	} {
		r, err := Open(filepath.Join(dir, c.path))
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		at, err := r.Checkout(c.rev, to, c.whole, ".olmgenignore")
		if err != nil {
			t.Errorf("%s of %s: %v", c.path, c.rev, err)
			continue
		}
		if got := content(t, to); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.path, c.rev, got, c.want)
		}
		if want := filepath.Join(to, c.path); at != want {
			t.Errorf("it is at %s, want %s", at, want)
		}
	}
	if !Tracks(filepath.Join(dir, "a")) || Tracks(filepath.Join(dir, "c")) || Tracks(t.TempDir()) {
		t.Error("what HEAD has is wrong")
	}
}

func headOf(t *testing.T, dir string) *object.Commit {
	t.Helper()
	repo, err := git.PlainOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := repo.ResolveRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.CommitObject(*hash)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

// remove removes an object of a repository.
func remove(t *testing.T, dir string, hash plumbing.Hash) {
	t.Helper()
	name := hash.String()
	if err := os.Remove(filepath.Join(dir, ".git/objects", name[:2], name[2:])); err != nil {
		t.Fatal(err)
	}
}

// What cannot be read is one clear error.
func TestErrors(t *testing.T) {
	dir := repository(t)
	bare := t.TempDir()
	if _, err := git.PlainInit(bare, true); err != nil {
		t.Fatal(err)
	}
	shallow, broken := repository(t), repository(t)
	head := headOf(t, shallow)
	write(t, filepath.Join(shallow, ".git/shallow"), head.Hash.String()+"\n")
	remove(t, shallow, head.ParentHashes[0])
	remove(t, broken, headOf(t, broken).TreeHash)
	empty := t.TempDir()
	if _, err := git.PlainInit(empty, false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, rev, want, hint string }{
		{"no repository", t.TempDir(), "HEAD", "is in no Git repository", "name a path in the work tree of one"},
		{"bare", bare, "HEAD", "the Git repository is bare: it has no work tree", "name a path in a clone of it"},
		{"shallow", shallow, "HEAD~1", `the Git repository has no revision "HEAD~1"`, "the repository is shallow"},
		{"a missing revision", dir, "v9", `the Git repository has no revision "v9"`, "name a branch, a tag or a commit"},
		{"a missing path", filepath.Join(dir, "b"), "v1", `is not in revision "v1"`, "it is newer, or has another name there"},
		{"a missing object", broken, "HEAD", `revision "HEAD" is not complete`, "fetch all of it"},
		{"no commit", empty, "HEAD", `the Git repository has no revision "HEAD"`, "name a branch, a tag or a commit"},
		{"no revision", dir, "", `the Git repository has no revision ""`, "name a branch"},
	} {
		r, err := Open(c.path)
		if err == nil {
			_, err = r.Checkout(c.rev, t.TempDir(), false, ".olmgenignore")
		}
		var hint interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
			continue
		}
		if h, ok := err.(interface{ Hint() string }); ok { //nolint:errorlint // it is not wrapped
			hint = h
		}
		if hint == nil || !strings.Contains(hint.Hint(), c.hint) {
			t.Errorf("%s: the hint of %v is not %q", c.name, err, c.hint)
		}
	}
}

// A work tree beside its repository is read, too.
func TestLinkedWorkTree(t *testing.T) {
	dir := repository(t)
	linked := t.TempDir()
	admin := filepath.Join(dir, ".git/worktrees/w")
	head, err := git.PlainOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := head.ResolveRevision(plumbing.Revision("v1"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(admin, "HEAD"), hash.String()+"\n")
	write(t, filepath.Join(admin, "commondir"), "../..\n")
	write(t, filepath.Join(admin, "gitdir"), filepath.Join(linked, ".git")+"\n")
	write(t, filepath.Join(linked, ".git"), "gitdir: "+admin+"\n")
	write(t, filepath.Join(linked, "a/x"), "3")
	r, err := Open(filepath.Join(linked, "a"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if _, err := r.Checkout("HEAD", to, false, ".olmgenignore"); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, to), "a/sub/z=z a/x=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A clone that borrows objects is read, over several steps and with relative paths, and from a linked work tree.
func TestAlternates(t *testing.T) {
	dir := repository(t)
	for _, c := range []struct{ name, objects, second string }{
		{"absolute", filepath.Join(dir, ".git/objects"), ""},
		{"quoted, after a comment", "# a\n\n\"" + filepath.Join(dir, ".git/objects") + "\"", ""},
		{"one that is gone", "/nonexistent/objects\n" + filepath.Join(dir, ".git/objects"), ""},
		{"of another one", "second/objects", "../objects\n" + filepath.Join(dir, ".git/objects")}, // a loop, too
	} {
		clone := t.TempDir()
		objects := filepath.Join(clone, ".git/objects")
		write(t, filepath.Join(clone, ".git/HEAD"), headOf(t, dir).Hash.String()+"\n")
		write(t, filepath.Join(objects, "info/alternates"), c.objects+"\n")
		write(t, filepath.Join(objects, "second/objects/x"), "")
		if c.second != "" {
			write(t, filepath.Join(objects, "second/objects/info/alternates"), c.second+"\n")
		}
		r, err := Open(clone)
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		if _, err := r.Checkout(headOf(t, dir).Hash.String()[:9], to, false, ".olmgenignore"); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got, want := content(t, to), "a/sub/z=z a/x=2 b/y=y"; got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// A clone whose objects are gone says where they were.
func TestLostAlternate(t *testing.T) {
	clone := t.TempDir()
	write(t, filepath.Join(clone, ".git/HEAD"), "0123456789012345678901234567890123456789\n")
	write(t, filepath.Join(clone, ".git/objects/info/alternates"), "# a\n\n/nonexistent/objects\n")
	r, err := Open(clone)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Checkout("HEAD", t.TempDir(), false, ".olmgenignore")
	if err == nil || !strings.Contains(err.Error(), "borrows objects from /nonexistent/objects, which is not there") {
		t.Errorf("the error is %v", err)
	}
}

// A file that a partial clone lacks, and a submodule, are known to be there.
func TestAbsent(t *testing.T) {
	dir := repository(t)
	tree, err := headOf(t, dir).Tree()
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.FindEntry("a/x")
	if err != nil {
		t.Fatal(err)
	}
	remove(t, dir, f.Hash)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if _, err := r.Checkout("HEAD", to, false, ".olmgenignore"); err != nil {
		t.Fatal(err)
	}
	if why := regular.Missing(filepath.Join(to, "a/x")); !strings.Contains(why, "partial clone") {
		t.Error(why)
	}
	w := writer{repo: r}
	if err := w.file(entry{mode: filemode.Submodule}, filepath.Join(to, "sub")); err != nil {
		t.Fatal(err)
	}
	if why := regular.Missing(filepath.Join(to, "sub/k/kustomization.yaml")); why != regular.Submodule {
		t.Error(why)
	}
}

// Repositories of formats that cannot be read are named.
func TestFormats(t *testing.T) {
	for format, want := range map[string]string{"objectFormat = sha256": "its objectformat is sha256",
		"refStorage = reftable": "its refstorage is reftable", "objectFormat = sha1": ""} {
		dir := repository(t)
		write(t, filepath.Join(dir, ".git/config"), "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t"+format+"\n")
		if _, err := Open(dir); want == "" && err != nil || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// Revisions mean what go-git makes of them, loose and packed.
func TestRevisions(t *testing.T) {
	dir := repository(t)
	repo, err := git.PlainOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	head := headOf(t, dir).Hash
	if _, err := repo.CreateTag("annotated", head, &git.CreateTagOptions{Tagger: who, Message: "m"}); err != nil {
		t.Fatal(err)
	}
	branch := plumbing.NewHashReference("refs/remotes/origin/main", head)
	if err := repo.Storer.SetReference(branch); err != nil {
		t.Fatal(err)
	}
	hash := head.String()
	for _, packed := range []bool{false, true} {
		if packed {
			pack(t, repo)
		}
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, rev := range []string{"HEAD", "HEAD~1", "HEAD^", "HEAD~0", "HEAD^1", "HEAD^0", "HEAD~2", "HEAD^2", "v1", "v1^", "annotated",
			"annotated~", "annotated^0", "tags/v1", "refs/tags/v1", "heads/master", "origin/main", "origin/main~1", hash, hash[:7],
			hash[:8], "x", "", "~1", "HEAD~~", "HEAD~1x", "HEAD~99999999999999999999"} {
			want := ""
			if h, err := repo.ResolveRevision(plumbing.Revision(rev)); err == nil && rev != "~1" { // go-git panics later
				c, err := repo.CommitObject(*h)
				if err != nil {
					t.Fatal(err)
				}
				want = c.TreeHash.String()
			}
			got := ""
			if c, err := r.resolve(rev); err == nil {
				got = c.tree.String()
			}
			if got != want {
				t.Errorf("packed %v: %q is %q, want %q", packed, rev, got, want)
			}
		}
	}
}

// pack moves all objects of a repository into a pack.
func pack(t *testing.T, repo *git.Repository) {
	t.Helper()
	store, ok := repo.Storer.(*filesystem.Storage)
	if !ok {
		t.Fatalf("%T", repo.Storer)
	}
	var hashes []plumbing.Hash
	if err := store.ForEachObjectHash(func(h plumbing.Hash) error {
		hashes = append(hashes, h)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w, err := store.PackfileWriter()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := packfile.NewEncoder(w, store, false).Encode(hashes, 10); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, h := range hashes {
		if err := store.DeleteLooseObject(h); err != nil {
			t.Fatal(err)
		}
	}
	store.Reindex()
}

// A small repository cannot make billions of files.
func TestTooManyFiles(t *testing.T) {
	dir := repository(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	hash := plumbing.ZeroHash
	for depth := range 30 {
		o := r.store.NewEncodedObject()
		o.SetType(plumbing.TreeObject)
		w, err := o.Writer()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if depth > 0 {
				fmt.Fprintf(w, "40000 %s\x00%s", name, hash[:])
			}
		}
		if hash, err = r.store.SetEncodedObject(o); err != nil {
			t.Fatal(err)
		}
	}
	w := writer{repo: r, left: budget.Of(budget.Revision).Bytes, entries: 1000}
	if err := w.write(entry{mode: filemode.Dir, hash: hash}, t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func FuzzTree(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789"), []byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\n"))
	f.Fuzz(func(t *testing.T, tree, commit []byte) {
		fuzztest.Limit(t, len(tree)+len(commit))
		list, ok := parseTree(tree)
		if n := 0; ok {
			for _, e := range list {
				n += len(e.name) + len(e.hash) + 2
			}
			if n > len(tree) {
				t.Errorf("%d bytes of %d", n, len(tree))
			}
		}
		headers(commit)
	})
}

// A file that nobody reads is not decompressed: it has its size, and takes no memory.
func TestLargeFile(t *testing.T) {
	fuzztest.Seconds(t)
	dir := repository(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	const size = 300 << 20
	loose := filepath.Join(t.TempDir(), "object")
	f, err := os.Create(loose)
	if err != nil {
		t.Fatal(err)
	}
	o := objfile.NewWriter(f)
	if err := o.WriteHeader(plumbing.BlobObject, size); err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range size >> 20 {
		if _, err := o.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	hash := o.Hash()
	if err := errors.Join(o.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, ".git", "objects", hash.String()[:2], hash.String()[2:])
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Rename(loose, name)); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "a.yaml")
	w := writer{repo: r, left: budget.Of(budget.Revision).Bytes, most: budget.Of(budget.Revision)}
	fuzztest.LimitMemory(t, 0, 50_000_000)
	if err := w.file(entry{name: "a.yaml", mode: filemode.Regular, hash: hash}, target); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(target); err != nil || info.Size() != size {
		t.Errorf("%v %v", info, err)
	}
	w.left = size - 1
	if err := w.file(entry{name: "a.yaml", mode: filemode.Regular, hash: hash}, target+"2"); err == nil {
		t.Error("it is within a limit that it exceeds")
	}
}
