package upgrade_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/report/audit"
	"github.com/olmgen/olmgen/review/upgrade"
)

// Compare two releases of an operator. Report.Print writes text, Markdown, JSON and HTML.
func ExampleCompare() {
	ctx := context.Background()
	set, err := audit.Load(ctx, []string{"../../examples/memcached-operator"}, audit.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var releases []upgrade.State
	err = set.Each(ctx, audit.All, func(_ *audit.Package, all []*audit.Inspected) error {
		for _, x := range all {
			releases = append(releases, *x.State)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	now, old := releases[0], releases[1] // the newest is the first
	report, err := upgrade.Compare(ctx, old, now, upgrade.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, answer := range report.Summary {
		fmt.Printf("%s: %s\n", answer.Section, answer.Severity)
	}
	fmt.Println(report.Meets(upgrade.CRDBreaking))
	// Output:
	// permissions: error
	// crds: error
	// workloads: error
	// identity: warning
	// true
}
