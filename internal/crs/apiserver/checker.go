// Package apiserver judges custom resources with the code of the API server.
package apiserver

import (
	"context"
	"fmt"

	"github.com/olmgen/olmgen/internal/crs"
)

// Checker implements crs.Checker.
type Checker struct{}

// Check checks the objects of each batch. The error is about an object that is not JSON, or that of ctx.
func (Checker) Check(ctx context.Context, batches []crs.Batch) ([]crs.Answer, error) {
	answers := make([]crs.Answer, len(batches))
	for i, b := range batches {
		s, err := New(b)
		if err != nil {
			answers[i].Error = err.Error()
			continue
		}
		for j, data := range b.Objects {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v, err := s.judge(data)
			if err != nil {
				return nil, fmt.Errorf("object %d of batch %d: %w", j, i, err)
			}
			answers[i].Verdicts = append(answers[i].Verdicts, v)
		}
	}
	return answers, nil
}
