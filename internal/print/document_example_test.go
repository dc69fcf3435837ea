package print_test

import (
	"fmt"
	"os"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/print"
)

// Build a report, and print it as text.
func ExampleDocument() {
	d := document.Document{Title: "etcd", Lead: "may read Secrets", Sections: []document.Section{{
		Title: "ServiceAccount etcd",
		Tables: []document.Table{{
			Columns: []document.Column{{Title: "Where", Align: true}, {Title: "What"}, {Title: "At", Aside: true}},
			Rows: [][]document.Cell{
				{{Text: "cluster"}, {Text: "get nodes"}, {Text: "csv.yaml:12"}},
				{{Text: "operators"}, {Text: "get secrets"}, {Text: "csv.yaml:20"}},
			},
		}},
	}}}
	if err := print.Document(os.Stdout, &d, findings.Text); err != nil {
		fmt.Println(err)
	}
	// Output:
	// etcd: may read Secrets
	//
	// ServiceAccount etcd
	//   cluster    get nodes  [csv.yaml:12]
	//   operators  get secrets  [csv.yaml:20]
}
