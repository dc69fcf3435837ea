package permissions

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// html writes one page that needs no network and no script. The policy in its head allows its own style and
// nothing else.
func (r *Report) html(w io.Writer) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(pageStyle))
	return page.Execute(w, struct {
		view
		Style     template.CSS
		StyleHash string
	}{r.view(), template.CSS(pageStyle), base64.StdEncoding.EncodeToString(hash[:])})
}
