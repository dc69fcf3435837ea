package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// locks are the files olmgen.lock of an output directory, by their directories: "" for the output directory itself.
type locks map[string]recorded

// recorded is a lock with its text.
type recorded struct {
	lockFile
	data []byte
}

// lockPath returns the path of the lock of a directory.
func lockPath(dir string) string { return path.Join(dir, LockName) }

// wayUp returns the way from a directory to the output directory.
func wayUp(dir string) string {
	if dir == "" {
		return ""
	}
	return strings.TrimSuffix(strings.Repeat("../", strings.Count(dir, "/")+1), "/")
}

// readLock reads the lock of dir, if there is one, and adds its records to the tree. The lock of another output
// directory below this one is a file like others.
func (tr *tree) readLock(t target, dir string) error {
	data, err := readLockFile(t, dir)
	if err != nil || data == nil {
		return err
	}
	l, err := readLock(data)
	var hinted *manifest.HintError
	switch {
	case errors.As(err, &hinted):
		return manifest.WithHint(fmt.Errorf("%s: %w", t.show(lockPath(dir)), err), hinted.Hint(), hinted.About()...)
	case err != nil:
		return refuse("restore it from version control, or remove it: then olmgen takes over files that are equal to "+
			"its own and leaves the rest alone",
			"%s: %w", t.show(lockPath(dir)), err)
	case l.Root != wayUp(dir) && dir == "":
		return refuse(
			"name the output directory, which is "+l.Root+" from there",
			"%s is a part of an output directory",
			t.name,
		)
	case l.Root != wayUp(dir):
		return nil
	}
	tr.locks[dir] = recorded{l, data}
	for p, digest := range l.Files {
		if _, ok := tr.files[p]; !ok {
			tr.files[p], tr.lockOf[p] = digest, dir
		}
	}
	return nil
}

// readLockFile returns the text of a lock, nil if there is none. Below the root only a file is a lock.
func readLockFile(t target, dir string) ([]byte, error) {
	name := at(t.dir, lockPath(dir))
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() && dir != "":
		return nil, nil
	case !info.Mode().IsRegular():
		return nil, refuse("move it away", "%s is not a regular file", t.show(LockName))
	}
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLockSize+1))
	return text.LF(data), err
}

// newLocks records files, by the directory of the lock and path, that were made from sources. A tree without anything
// has a lock too.
func newLocks(sources []Source, files map[string]map[string]string) (locks, error) {
	of := lists.Group(sources, func(s Source) string {
		if _, ok := files[s.Lock]; !ok {
			return "" // nothing else is in its directory
		}
		return s.Lock
	})
	dirs := slices.AppendSeq(slices.Collect(maps.Keys(files)), maps.Keys(of))
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	out := locks{}
	for _, dir := range dirs {
		l, err := newLock(dir, of[dir], files[dir])
		if err != nil {
			return nil, err
		}
		data := l.encode()
		if len(data) > maxLockSize {
			return nil, fmt.Errorf("it would be larger than %d MiB", maxLockSize>>20)
		}
		out[dir] = recorded{l, data}
	}
	return out, nil
}

// dirs returns the directories that have a lock, sorted.
func (l locks) dirs() []string { return slices.Sorted(maps.Keys(l)) }

// differences returns how the locks differ from those of a tree.
func (l locks) differences(old locks) (out []differing) {
	for _, dir := range lists.Keys(l, old) {
		before, was := old[dir]
		now, is := l[dir]
		d := differing{Difference{Path: lockPath(dir), State: StateStale}, before.data, now.data}
		switch {
		case !was:
			d.State = StateMissing
		case !is:
			d.State = StateLeftOver
		}
		if string(d.have) != string(d.want) {
			out = append(out, d)
		}
	}
	return out
}
