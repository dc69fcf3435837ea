package charts

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Fill returns what a Go template with the functions of sprig makes of values: helm's engine has both, and limits.
func (r *Reader) Fill(ctx context.Context, text string, values map[string]any) (string, error) {
	if r.Renderer == nil {
		return "", errors.New("its Go templates are not rendered here")
	}
	own, err := ValuesOf(values)
	if err != nil {
		return "", err
	}
	template := `{{define "text"}}` + text + `{{end}}{kind: Text, apiVersion: v1, made: {{include "text" .Values | toJson}}}`
	out, err := r.Renderer.Render(ctx, Release{Name: "text", Values: []Value{own}, Strict: true, Chart: []File{
		{"Chart.yaml", []byte("{apiVersion: v2, name: text, version: 0.0.0}")}, {"templates/text.yaml", []byte(template)}}})
	var made struct{ Made string }
	switch {
	case err != nil:
		return "", err
	case out.Error != "":
		return "", errors.New(out.Error)
	case len(out.Random) > 0 || len(out.Manifests) != 1:
		return "", fmt.Errorf("%s has a value that is random or of the clock", text)
	}
	err = yaml.Unmarshal([]byte(out.Manifests[0].Text), &made)
	return made.Made, err
}
