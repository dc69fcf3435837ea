package reviewtest

import "bytes"

// Body returns what a page says: without its style and its script, which other tests hold.
func Body(page []byte) []byte {
	_, body, _ := bytes.Cut(page, []byte("<body>\n"))
	body, _, _ = bytes.Cut(body, []byte("<script>"))
	return body
}
