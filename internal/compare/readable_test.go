package compare_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
)

// Reports of real releases can be read: the first screen has ten lines of 100 columns, no two lines differ only in their place or in digests,
// the sentences are true, and a gain is as bad as "olmgen permissions" says. OLMGEN_BEFORE is an older olmgen, whose reports are measured too.
func TestReadable(t *testing.T) {
	var lengths, before []int
	for _, list := range releases(t) {
		var old *compare.State
		oldDir := ""
		for _, dir := range list {
			now, ok := rendered(t, reviewtest.Bundle(t, dir))
			if !ok {
				continue
			}
			if old != nil {
				r := compared(t, *old, now)
				text, page := printed(t, r), &bytes.Buffer{}
				if err := print.Report(page, r, findings.Text); err != nil {
					t.Fatal(err)
				}
				lengths = append(lengths, strings.Count(text, "\n"))
				summaryFits(t, dir, r, page.String())
				linesDiffer(t, dir, text)
				sentencesAreTrue(t, dir, r)
				severitiesAgree(t, dir, r, old.Permissions, now.Permissions)
				if older := os.Getenv("OLMGEN_BEFORE"); older != "" {
					out, err := exec.CommandContext(t.Context(), older, "diff", oldDir, dir).Output()
					if err == nil {
						before = append(before, strings.Count(string(out), "\n"))
					}
				}
			}
			old, oldDir = &now, dir
		}
	}
	t.Logf("%d pairs, a report has %d lines in the median", len(lengths), median(lengths))
	if len(before) > 0 {
		t.Logf("%s: %d lines in the median of %d", filepath.Base(os.Getenv("OLMGEN_BEFORE")), median(before), len(before))
	}
}

func median(list []int) int {
	slices.Sort(list)
	return list[len(list)/2]
}

func summaryFits(t *testing.T, name string, r *compare.Report, text string) {
	t.Helper()
	if r.Empty() {
		return
	}
	rows := 0
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			break
		}
		if rows++; rows > 10 || utf8.RuneCountInString(line) > 100 {
			t.Errorf("%s: line %d of the first screen has %d columns", name, rows, utf8.RuneCountInString(line))
		}
	}
	if !strings.Contains(text, "\n  verdict: ") {
		t.Errorf("%s: there is no verdict", name)
	}
}

var (
	anyDigest = regexp.MustCompile(`@sha256:[0-9a-f]+…?`)
	anyPlace  = regexp.MustCompile(`\[(?:lines? [0-9,]+|[^ \]]+\.(?:yaml|yml|json):[0-9,]+)(?:: )?`)
)

func linesDiffer(t *testing.T, name, text string) {
	t.Helper()
	seen := map[string]bool{}
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "  ") {
			section = line
			continue
		}
		bare := section + anyPlace.ReplaceAllString(anyDigest.ReplaceAllString(line, "@"), "[")
		if strings.ContainsAny(line[2:3], "+-~") && seen[bare] {
			t.Errorf("%s: this line is there twice, but for its place or a digest: %s", name, line)
		}
		seen[bare] = true
	}
}

func sentencesAreTrue(t *testing.T, name string, r *compare.Report) {
	t.Helper()
	for _, a := range r.Summary {
		for part := range strings.SplitSeq(a.Text, "; ") {
			for begin, change := range map[string]permissions.Change{"now ": permissions.Gained, "no longer ": permissions.Lost} {
				if a.Section == compare.SectionPermissions && strings.HasPrefix(part, begin) && !slices.ContainsFunc(r.Permissions,
					func(i permissions.Item) bool {
						return i.Change == change && slices.Contains(permissions.Dangerous, i.Risk)
					}) {
					t.Errorf("%s: %q, and nothing of that kind is %s", name, part, change)
				}
			}
		}
	}
}

// severitiesAgree checks that a gain which is more than a note is the severity of a finding about the newer release, and that a finding which
// only the newer release has follows from a gain which is as bad: a warning is enough where another account had the same before.
func severitiesAgree(t *testing.T, name string, r *compare.Report, old, now *permissions.Report) {
	t.Helper()
	subject := func(object string) string {
		for _, x := range r.Renamed {
			if object == x.Old.String() {
				return x.New.String()
			}
		}
		return object
	}
	worst := map[string]findings.Severity{}
	for _, i := range slices.Concat(r.Permissions, r.Users) {
		if i.Change != permissions.Gained || i.Subject.IsRole() && i.Subject.Kind != "ClusterRole" {
			continue
		}
		s := i.Subject.String()
		if w, ok := worst[s]; !ok || i.Severity.Rank() < w.Rank() {
			worst[s] = i.Severity
		}
		found := slices.ContainsFunc(now.Findings, func(f findings.Finding) bool { return f.Object == s && f.Level == i.Severity })
		// A gain of a dangerous group from which nothing follows is a warning: the summary names it.
		// So is what another account had, and a right beyond what is kept.
		dangerous := i.Severity == findings.Warning && (slices.Contains(permissions.Dangerous, i.Risk) || i.Follows != "")
		if i.Severity != findings.Info && !i.Subject.IsRole() && !found && !dangerous {
			t.Errorf("%s: %s gains %v %v (%s), and olmgen permissions has no finding of that severity", name, s, i.Verbs, i.Resources, i.Severity)
		}
	}
	for _, f := range now.Findings {
		known := slices.ContainsFunc(old.Findings, func(o findings.Finding) bool {
			return o.Rule == f.Rule && o.Level.Rank() <= f.Level.Rank() && subject(o.Object) == f.Object
		})
		w, gained := worst[f.Object]
		if moved := slices.ContainsFunc(old.Findings, func(o findings.Finding) bool { return o.Rule == f.Rule && o.Level.Rank() <= f.Level.Rank() }); moved {
			f.Level = findings.Warning
		}
		if about := f.Level != findings.Note && f.Rule != "role-unknown" && f.Rule != "users-gain"; about && !known && (!gained || w.Rank() > f.Level.Rank()) {
			t.Errorf("%s: %s is new (%s), and the worst gain of %s is %q", name, f.Rule, f.Level, f.Object, w)
		}
	}
}
