package show

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
)

//go:embed frame.html
var frame string

//go:embed page.css
var style string

// Page writes one HTML page that needs no network and no script. The policy in its head allows its own style and
// nothing else. body defines a template "body", which gets data; it may use the templates of frame.html.
func Page(w io.Writer, title, body string, data any) error {
	page, err := template.New("page").Parse(frame)
	if err != nil {
		return err
	}
	if page, err = page.Parse(body); err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(style))
	return page.Execute(w, struct {
		Title     string
		Style     template.CSS
		StyleHash string
		Data      any
	}{title, template.CSS(style), base64.StdEncoding.EncodeToString(hash[:]), data})
}
