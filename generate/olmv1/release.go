package olmv1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

// ReleaseError reports that a release fails at a bundle that newer ones render, whatever the options are.
type ReleaseError struct{ text string }

func (e *ReleaseError) Error() string { return e.text }

// releaseOf returns the release that renders.
func releaseOf(text string) (versions.Release, error) {
	if text == "" {
		return versions.Newest(versions.OperatorController), nil
	}
	return versions.ParseController(text)
}

// does reports whether the release does what the newest one of OLM v1 does, or what only some did.
func (r *renderer) does(behavior string) bool {
	_, ok := r.release.Does(behavior)
	return ok
}

// checkConfig refuses a configuration that the release does not know.
func (r *renderer) checkConfig() error {
	if r.Config == nil || r.does(versions.TakesConfig) {
		return nil
	}
	config := *r.Config
	if config.Selector = nil; reflect.ValueOf(config).IsZero() {
		return nil
	}
	return fmt.Errorf("%s takes no deploymentConfig (%s)", r.release,
		versions.SourceOf(r.release.Product, versions.TakesConfig))
}

// checkTemplates refuses what a release reads as a template of Helm: it fails, or changes the object.
func (r *renderer) checkTemplates() error {
	if r.does(versions.WritesAsIs) {
		return nil
	}
	for _, o := range r.objects {
		value, err := o.Content()
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("{{")) {
			return &ReleaseError{fmt.Sprintf("%s reads objects as templates of Helm, and %s %s has {{ (%s)", r.release,
				o.Kind, o.Name, versions.SourceOf(r.release.Product, versions.WritesAsIs))}
		}
	}
	return nil
}
