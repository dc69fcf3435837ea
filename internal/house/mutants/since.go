package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

type span struct{ first, last int }

var (
	newFile = regexp.MustCompile(`^\+\+\+ (.*)$`)
	hunk    = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)
)

// changedLines returns the lines in which files below the directories differ from a Git revision. Where lines are gone,
// those around the place count.
func changedLines(ctx context.Context, revision string, dirs []string) (map[string][]span, error) {
	out, err := git(ctx, append([]string{"diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-prefix",
		"--relative", revision, "--"}, dirs...)...)
	if err != nil {
		return nil, err
	}
	lines, file := map[string][]span{}, ""
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if m := newFile.FindStringSubmatch(s.Text()); m != nil {
			file = m[1]
		} else if m := hunk.FindStringSubmatch(s.Text()); m != nil {
			first, count := number(m[1]), 1
			if m[2] != "" {
				count = number(m[2])
			}
			if count == 0 { // the new text has nothing between this line and the next one
				count = 2
			}
			lines[file] = append(lines[file], span{first, first + count - 1})
		}
	}
	out, err = git(ctx, append([]string{"ls-files", "--others", "--exclude-standard", "--"}, dirs...)...)
	for name := range strings.Lines(string(out)) {
		lines[strings.TrimSpace(name)] = []span{{1, math.MaxInt}}
	}
	return lines, err
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the pattern has matched digits
	return n
}

func git(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("git %s: %s", args[0], bytes.TrimSpace(failed.Stderr))
	}
	return out, err
}
