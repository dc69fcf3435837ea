package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/manifest"
)

// The example of a Job has no unknown field, as many shards as pods, and commands that olmgen knows.
func TestIndexedJob(t *testing.T) {
	name := filepath.Join("..", "..", "examples", "indexed-job", "job.yaml")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := manifest.ReadFile(name, data, manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []batchv1.Job
	for _, d := range docs {
		o, err := d.Object()
		if err != nil {
			t.Fatal(err)
		}
		var claim corev1.PersistentVolumeClaim
		var job batchv1.Job
		into := map[string]any{"Job": &job, "PersistentVolumeClaim": &claim}[o.Kind]
		if unknown, err := o.Into(into); err != nil || len(unknown) > 0 {
			t.Errorf("%s: %v, unknown %v", o.Name, err, unknown)
		}
		if o.Kind == "Job" {
			jobs = append(jobs, job)
		}
	}
	if len(jobs) != 2 {
		t.Fatalf("%d Jobs", len(jobs))
	}
	for i, want := range []string{fmt.Sprintf("1))/%d", *jobs[0].Spec.Completions), "/parts/part-*.json"} {
		command := jobs[i].Spec.Template.Spec.Containers[0].Command[2]
		if !strings.Contains(command, want) {
			t.Errorf("%q has no %q", command, want)
		}
		words := strings.Fields(command)[2:]
		cmd, rest, err := newRoot().Find(words)
		if err != nil || cmd.Name() != words[1] {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%q: %v", command, err)
		}
	}
}
