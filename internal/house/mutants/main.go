// Command mutants changes conditions, bounds and results of the code one by one: a test must notice each change.
//
//	go run ./internal/house/mutants [-since REV] [-only TEXT] [-again FILE] DIR...
//
// It lists the changes that no test of the same package notices. The file equivalent.txt holds those that cannot be
// noticed, each with its argument: the text of the mutant, a tab, why it makes no difference.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
)

func main() {
	o := options{equivalent: "internal/house/mutants/equivalent.txt"}
	flag.StringVar(&o.since, "since", "", "try the mutants of lines that differ from this Git `revision`")
	flag.StringVar(&o.only, "only", "", "try the mutants that have this `text` in theirs")
	flag.StringVar(&o.again, "again", "", "try the mutants that an earlier run printed to this `file`")
	flag.Parse()
	o.packages = lists.Map(flag.Args(), func(dir string) string { return filepath.ToSlash(filepath.Clean(dir)) })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bad, err := o.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

type options struct {
	packages   []string // directories below the current one
	equivalent string   // a file
	since      string   // a revision
	only       string
	again      string // a file
}

// run returns the number of mutants that survived without an argument, and of arguments without a mutant.
func (o options) run(ctx context.Context, out io.Writer) (bad int, err error) {
	arguments, err := readEquivalent(o.equivalent)
	if err != nil {
		return 0, err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(tmp)
	all, overlay, err := instrument(o.packages, tmp)
	if err != nil {
		return 0, err
	}
	picked, err := o.pick(ctx, all)
	if err != nil {
		return 0, err
	}
	packages := lists.Unique(lists.Map(picked, func(m mutant) string { return path.Dir(m.file) }))
	suite, err := build(ctx, packages, all, tmp, overlay)
	if err != nil {
		return 0, err
	}
	survived := make([]bool, len(picked))
	err = each(len(picked), func(i int) (err error) {
		survived[i], err = survives(ctx, suite[picked[i].id], picked[i].id)
		return err
	})
	if err != nil {
		return 0, err
	}
	equivalent := 0
	for i, m := range picked {
		how := "survives"
		switch argued := arguments[m.name]; {
		case argued && survived[i]:
			equivalent++
			continue
		case argued:
			how = "a test notices it, so it is not equivalent"
		case !survived[i]:
			continue
		case len(suite[m.id]) == 0:
			how = "is reached by no test"
		}
		bad++
		fmt.Fprintf(out, "%s:%d: %s: %s\n", m.file, m.first, how, m.name)
	}
	fmt.Fprintf(out, "%d of %d mutants tried: %d noticed, %d equivalent, %d to look at\n",
		len(picked), len(all), len(picked)-bad-equivalent, equivalent, bad)
	exist := lists.Set(all, func(m mutant) string { return m.name })
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		file, _, _ := strings.Cut(name, " ")
		if slices.Contains(o.packages, path.Dir(file)) && !exist[name] {
			bad++
			fmt.Fprintf(out, "%s: there is no such mutant: %s\n", o.equivalent, name)
		}
	}
	return bad, nil
}

// pick returns the mutants that are asked for.
func (o options) pick(ctx context.Context, all []mutant) ([]mutant, error) {
	lines, err := changedLines(ctx, o.since, o.packages)
	if err != nil {
		return nil, err
	}
	var again []byte
	if o.again != "" {
		if again, err = os.ReadFile(o.again); err != nil {
			return nil, err
		}
	}
	return lists.Filter(all, func(m mutant) bool {
		changed := func(s span) bool { return m.first <= s.last && s.first <= m.last }
		return strings.Contains(m.name, o.only) && (o.since == "" || slices.ContainsFunc(lines[m.file], changed)) &&
			(o.again == "" || strings.Contains(string(again), ": "+m.name+"\n"))
	}), nil
}

// readEquivalent returns the mutants that have an argument, by their text.
func readEquivalent(file string) (map[string]bool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, argument, _ := strings.Cut(line, "\t")
		if strings.TrimSpace(argument) == "" || out[name] {
			return nil, fmt.Errorf("%s:%d: want a mutant that is not there yet, a tab and why it makes no difference",
				file, i+1)
		}
		out[name] = true
	}
	return out, nil
}

type span struct{ first, last int }

// hunk is the line of a diff that names the new file, or the one that tells the lines of the new file.
var hunk = regexp.MustCompile(`(?m)^(?:\+\+\+ (.*)|@@ -\S+ \+(\d+)(?:,(\d+))? @@.*)$`)

// changedLines returns the lines in which files below the directories differ from a Git revision. Where lines are gone,
// those around the place count.
func changedLines(ctx context.Context, revision string, dirs []string) (map[string][]span, error) {
	if revision == "" {
		return nil, nil
	}
	git := func(args ...string) (string, error) {
		c := exec.CommandContext(ctx, "git", append(args, dirs...)...)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			err = fmt.Errorf("%s: %w", c, err)
		}
		return string(out), err
	}
	diff, err := git("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-prefix", "--relative", revision, "--")
	if err != nil {
		return nil, err
	}
	lines, file := map[string][]span{}, ""
	for _, m := range hunk.FindAllStringSubmatch(diff, -1) {
		if m[1] != "" {
			file = m[1]
			continue
		}
		first, _ := strconv.Atoi(m[2]) // the pattern has matched digits
		count := 1
		switch m[3] {
		case "":
		case "0":
			count = 2 // the new text has nothing between this line and the next one
		default:
			count, _ = strconv.Atoi(m[3])
		}
		lines[file] = append(lines[file], span{first, first + count - 1})
	}
	untracked, err := git("ls-files", "--others", "--exclude-standard", "--")
	for name := range strings.Lines(untracked) {
		lines[strings.TrimSpace(name)] = []span{{1, math.MaxInt}}
	}
	return lines, err
}
