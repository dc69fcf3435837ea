package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"github.com/operator-framework/api/pkg/encoding"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// Subject is a bundle, as a Checker receives it. It can be sent to another process as JSON.
type Subject struct {
	Package        string            `json:"package"`
	Channels       []string          `json:"channels"`
	DefaultChannel string            `json:"defaultChannel"`
	Size           int64             `json:"size"`           // total of the files with objects
	CompressedSize int64             `json:"compressedSize"` // the same as base64 of gzip, which is how OLM stages them
	Objects        []json.RawMessage `json:"objects"`        // CSV, CRDs, others; each in file order
	OperatorHub    bool              `json:"operatorHub"`
}

// NoObject is the Object of a Problem about the bundle as a whole.
const NoObject = -1

// Problem is what a Checker finds in a Subject.
type Problem struct {
	Validator string            `json:"validator"`
	Level     findings.Severity `json:"level"`
	Object    int               `json:"object"` // index into the Subject's Objects, or NoObject
	Field     string            `json:"field"`
	Message   string            `json:"message"`
}

// Checker checks a bundle. An error means that it could not.
type Checker interface {
	Check(ctx context.Context, s Subject) ([]Problem, error)
}

// newSubject returns the subject for a bundle, and its objects in the same order.
func newSubject(fsys fs.FS, b *bundle.Bundle, o Options) (Subject, []*manifest.Object, error) {
	s := Subject{Package: b.Package, Channels: b.Channels, DefaultChannel: b.DefaultChannel, OperatorHub: o.OperatorHub}
	crds := lists.Map(b.CRDs, func(c *bundle.CRD) *manifest.Object { return c.Object })
	objects := slices.Concat([]*manifest.Object{b.CSVObject}, crds, b.Others)
	seen := map[string]bool{}
	for _, obj := range objects {
		v, err := obj.Value()
		if err != nil {
			return s, nil, err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return s, nil, fmt.Errorf("%s: %w", obj.File, err)
		}
		s.Objects = append(s.Objects, data)
		if seen[obj.File] {
			continue
		}
		seen[obj.File] = true
		if err := s.weigh(fsys, obj.File); err != nil {
			return s, nil, err
		}
	}
	return s, objects, nil
}

func (s *Subject) weigh(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	packed, err := encoding.GzipBase64Encode(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.Size += int64(len(data))
	s.CompressedSize += int64(len(packed))
	return nil
}
