package output_test

import (
	"os"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// Zero values work: options, templates, an operator without channel, a tree without objects.
func TestZeroValues(t *testing.T) {
	b, err := bundle.Read(os.DirFS("../golden/deployments/bundle"), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := generate.Render(b, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := templates.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range output.Layouts {
		named := output.Operator{Name: "operator", Channel: "stable", Result: r}
		like, err := output.SingleOperator(named, want).Files(l)
		if err != nil {
			t.Fatal(l, err)
		}
		for name, set := range map[string]*templates.Set{"nil": nil, "zero": {}} {
			files, err := output.SingleOperator(named, set).Files(l)
			if err != nil || len(files) != len(like) {
				t.Errorf("%s with %s templates: %d files, %v", l, name, len(files), err)
				continue
			}
			for i, f := range files {
				if f.Path != like[i].Path || string(f.Data) != string(like[i].Data) {
					t.Errorf("%s with %s templates: %s differs", l, name, f.Path)
				}
			}
		}
		if _, err := (output.Tree{}).Files(l); err != nil {
			t.Errorf("the zero Tree as %s: %v", l, err)
		}
		if w := (output.Tree{}).Warnings(l); len(w) > 0 {
			t.Errorf("the zero Tree as %s: %v", l, w)
		}
		empty := output.SingleOperator(output.Operator{Name: "operator", Channel: "stable", Result: &generate.Result{Version: "1.0.0"}}, nil)
		if _, err := empty.Files(l); err != nil {
			t.Errorf("an empty rendering as %s: %v", l, err)
		}
		// without channel or result there may be an error, but no panic
		_, _ = output.SingleOperator(output.Operator{Result: r}, nil).Files(l)
		_, _ = output.SingleOperator(output.Operator{}, nil).Files(l)
		output.SingleOperator(output.Operator{}, nil).Warnings(l)
	}
}
