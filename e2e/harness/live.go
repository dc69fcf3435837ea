package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/olmgen/olmgen/cmd/e2e/harness/live"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
)

// live records all cases and compares them with the recordings in the repository, or writes these.
func (o options) live(ctx context.Context) error {
	cases, err := recordings.Cases(o.golden())
	if err != nil {
		return err
	}
	var matching []equal.Case
	for _, c := range cases {
		if o.only.MatchString(c.Name) {
			matching = append(matching, c)
		}
	}
	failed := o.each(len(matching), func(n int) error {
		c, started := matching[n], time.Now()
		result, err := o.record(ctx, c)
		if err == nil {
			fmt.Printf("%-50s %-10s %-9s %3.0fs %s\n", c.Name, result.Phase, result.Plan, time.Since(started).Seconds(),
				result.Message)
		} else {
			fmt.Printf("%-50s FAILED %v\n", c.Name, err)
		}
		return err
	})
	fmt.Printf("%d cases, %d failed\n", len(matching), failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed; \"make live UPDATE=1\" writes the recordings anew", failed,
			len(matching))
	}
	return nil
}

// record installs a case in a cluster of its own.
func (o options) record(ctx context.Context, what equal.Case) (equal.Case, error) {
	if ctx.Err() != nil {
		return what, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	c, err := startWithOLM(ctx, o.bin(), o.files())
	if err != nil {
		return what, err
	}
	defer c.Stop()
	made, err := live.Record(ctx, c, o.golden(), what)
	if err != nil {
		return what, err
	}
	fresh := made.Case
	if fresh.Options().Incomplete {
		fmt.Print(complaints(c.Log("olm") + c.Log("catalog")))
	}
	dir := filepath.Join(o.golden(), "live", what.Name)
	return fresh, errors.Join(o.compareObjects(dir, made), o.compareUsers(dir, made))
}

// compareObjects compares the objects with those that are recorded, or records them.
func (o options) compareObjects(dir string, made *live.Recording) error {
	stored, expected, err := equal.ReadCase(dir)
	diff := ""
	if err == nil {
		diff = differences(stored, made.Case, expected, made.Objects)
	}
	switch {
	case err == nil && diff == "":
		return nil
	case o.update:
		return equal.WriteCase(dir, made.Case, made.Objects)
	case err != nil:
		return err
	}
	return fmt.Errorf("OLM makes something else now (- recorded, + now):\n%s", diff)
}

// compareUsers compares what users gain with what is recorded, or records it.
func (o options) compareUsers(dir string, made *live.Recording) error {
	stored, err := recordings.ReadUsers(dir)
	diff := live.DiffUsers(stored, made.Users)
	switch {
	case err == nil && diff == "":
		return nil
	case o.update:
		return recordings.WriteUsers(dir, made.Users)
	case err != nil:
		return err
	}
	return fmt.Errorf("users gain something else now (- recorded, + now):\n%s", diff)
}

func differences(stored, fresh equal.Case, expected, objects []equal.Object) string {
	// the phase of a CSV that fails changes all the time
	if stored.Options().Incomplete != fresh.Options().Incomplete || stored.Plan != fresh.Plan {
		return fmt.Sprintf("CSV %s, InstallPlan %s; were %s, %s: %s\n", fresh.Phase, fresh.Plan, stored.Phase,
			stored.Plan, fresh.Message)
	}
	o := stored.Options()
	o.Incomplete = false
	return equal.Diff(expected, objects, o)
}

// complaints are the last errors in a log, each once.
func complaints(log string) string {
	var out []string
	for line := range strings.Lines(log) {
		_, said, ok := strings.Cut(line, "level=")
		if ok && !strings.HasPrefix(said, "info") && !strings.HasPrefix(said, "debug") && !slices.Contains(out, said) {
			out = append(out, said)
		}
	}
	return strings.Join(out[max(0, len(out)-5):], "")
}

// startWithOLM starts a cluster, and OLM in it.
func startWithOLM(ctx context.Context, bin, run string) (*cluster.Cluster, error) {
	c, err := cluster.Start(ctx, bin, run)
	if err != nil {
		return nil, err
	}
	if err := c.StartOLM(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}
