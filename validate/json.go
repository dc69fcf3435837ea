package validate

import (
	"encoding/json"
	"io"
)

// jsonPrinter writes one object with the findings of all sources and their number.
type jsonPrinter struct{}

type jsonFinding struct {
	Source string `json:"source"`
	Finding
}

func (jsonPrinter) print(w io.Writer, reports []Report) error {
	out := struct {
		Findings []jsonFinding `json:"findings"`
		Errors   int           `json:"errors"`
		Warnings int           `json:"warnings"`
	}{Findings: []jsonFinding{}}
	for _, r := range reports {
		for _, f := range r.Findings {
			out.Findings = append(out.Findings, jsonFinding{r.Source, f})
		}
	}
	out.Errors, out.Warnings = Count(reports)
	return encodeJSON(w, out)
}

// encodeJSON writes indented JSON with < and > as they are.
func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
