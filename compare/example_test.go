package compare_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/internal/report/audit"
)

// Compare two releases of an operator. Report.Print writes text, Markdown, JSON and HTML.
func ExampleCompare() {
	ctx := context.Background()
	set, err := audit.Load(ctx, []string{"../examples/memcached-operator"}, audit.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var releases []compare.State
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
	report, err := compare.Compare(ctx, old, now, compare.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, answer := range report.Summary {
		fmt.Printf("%s: %s\n", answer.Section, answer.Severity)
	}
	fmt.Println(report.Meets(compare.CRDBreaking))
	// Output:
	// permissions: error
	// crds: error
	// workloads: error
	// identity: warning
	// true
}
