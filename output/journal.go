package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
)

// journal lists the steps of a write of the files of a directory one by one. Once the journal has its name, the write
// goes on to its end: in this run, or in the next one if this one is killed.
type journal struct {
	Steps []step   `json:"steps"`          // removals first, locks last
	Dirs  []string `json:"dirs,omitempty"` // to remove after the removals, if they are empty
}

// step writes or removes one file.
type step struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"` // state before; empty if there is no file
	Now  string `json:"now,omitempty"` // digest of the staged file; empty if the step removes the file
}

// A journal has a few hundred bytes for each file of the lock.
const maxJournalSize = 4 * maxLockSize

func newJournal(t target, p *plan) (*journal, error) {
	j := &journal{}
	for _, name := range p.old.paths {
		isDir := p.old.info[name].IsDir()
		if dir, ok := p.entries[name]; ok && dir == isDir {
			continue
		}
		if isDir {
			j.Dirs = append(j.Dirs, name)
		} else {
			j.Steps = append(j.Steps, step{Path: name})
		}
	}
	slices.Reverse(j.Dirs) // children first
	for _, last := range []bool{false, true} {
		for _, f := range p.files {
			if last == (path.Base(f.path) == LockName) {
				j.Steps = append(j.Steps, step{Path: f.path, Now: digestOf(f.data)})
			}
		}
	}
	for i, s := range j.Steps {
		info := p.old.info[s.Path]
		if info == nil || info.IsDir() { // a directory is in Dirs
			continue
		}
		var err error
		if j.Steps[i].Was, err = stateOf(at(t.dir, s.Path)); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// stateOf returns what is at name: nothing, a digest, or words for what is no regular file.
func stateOf(name string) (string, error) {
	info, err := os.Lstat(name)
	switch {
	case missing(err):
		return "", nil
	case err != nil:
		return "", err
	case info.Mode().IsRegular():
		return readDigest(name)
	case info.Mode().Type() == fs.ModeSymlink:
		to, err := os.Readlink(name)
		return "link to " + to, err
	}
	return "mode " + info.Mode().Type().String(), nil
}

// stagedAt is where the new content of a step lies until it is written, and then the old one if both were swapped.
func (t target) stagedAt(i int) string { return at(t.work.at(stageName), strconv.Itoa(i)) }

// savedAt is where the old content of a step lies, if the two cannot be swapped, until the write is complete.
func (t target) savedAt(i int) string { return t.stagedAt(i) + ".old" }

// readJournal returns the journal of an interrupted run, nil if there is none.
func readJournal(t target) (*journal, error) {
	name := t.work.at(journalName)
	info, err := os.Lstat(name)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := &journal{}
	if err = j.read(name, info); err == nil {
		err = j.check()
	}
	if err != nil {
		return nil, refuse("remove it, render again, and look at the difference in version control",
			"%s, left by an earlier run: %w", name, err)
	}
	return j, nil
}

func (j *journal) read(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("is not a regular file")
	}
	data, err := readMost(name, maxJournalSize)
	if err != nil {
		return err
	}
	if len(data) > maxJournalSize {
		return fmt.Errorf("is larger than %d MiB", maxJournalSize>>20)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(j)
}

// check refuses paths that lead out of the output directory.
func (j *journal) check() error {
	for _, s := range j.Steps {
		if s.Now != "" && !fileDigest().MatchString(s.Now) {
			return fmt.Errorf("%q is not a digest", s.Now)
		}
		if s.Path == LockName {
			continue
		}
		if err := checkPath(s.Path); err != nil {
			return err
		}
	}
	for _, dir := range j.Dirs {
		if err := checkPath(dir); err != nil {
			return err
		}
	}
	return nil
}
