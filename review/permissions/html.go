package permissions

import (
	_ "embed"
	"io"

	"github.com/olmgen/olmgen/review/internal/show"
)

//go:embed page.html
var page string

// html writes one page that needs no network and no script.
func (r *Report) html(w io.Writer) error {
	v := r.view()
	return show.Page(w, "Permissions: "+v.Title, page, v)
}
