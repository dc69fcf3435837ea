// Package refusal asks an API server and olmgen's program beside it what they refuse.
package refusal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/olmgen/olmgen/internal/writes"
)

// Question is an object that is created or, with an existing one, updated.
type Question struct {
	Name     string
	Object   map[string]any
	Existing map[string]any
}

// Write is the question to the program.
func (q Question) Write() (w writes.Write, err error) {
	if w.Object, err = json.Marshal(q.Object); err == nil && q.Existing != nil {
		w.Existing, err = json.Marshal(q.Existing)
	}
	return w, err
}

// Resource is where objects of a kind are.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
}

// Said is what the API server says.
type Said struct {
	Unserved bool // the API has no such version
	Panics   bool // its code does, and the request ends without an answer
	Causes   []writes.Cause
}

// Server is an API server.
type Server struct {
	Client    rest.Interface // any: the paths are absolute
	Resources map[schema.GroupVersionKind]Resource
}

// Kind returns the kind of a question's object.
func (q Question) Kind() schema.GroupVersionKind {
	version, _ := q.Object["apiVersion"].(string)
	kind, _ := q.Object["kind"].(string)
	return schema.FromAPIVersionAndKind(version, kind)
}

func (q Question) metadata(key string) string {
	m, _ := q.Object["metadata"].(map[string]any)
	text, _ := m[key].(string)
	return text
}

// path is where an object of the question's kind is created.
func (q Question) path(r Resource) string {
	path := "/apis/" + r.Group
	if r.Group == "" {
		path = "/api"
	}
	path += "/" + r.Version
	if r.Namespaced {
		path += "/namespaces/" + url.PathEscape(cmp.Or(q.metadata("namespace"), "default"))
	}
	return path + "/" + r.Resource
}

// Ask makes the request of a question without storing anything, and says what is refused.
func (s *Server) Ask(ctx context.Context, q Question) (Said, error) {
	r, ok := s.Resources[q.Kind()]
	if !ok {
		return Said{Unserved: true}, nil
	}
	body, err := json.Marshal(q.Object)
	if err != nil {
		return Said{}, err
	}
	request := s.Client.Post().AbsPath(q.path(r))
	if q.Existing != nil {
		request = s.Client.Put().AbsPath(q.path(r), q.metadata("name"))
	}
	err = request.Param("dryRun", "All").Param("fieldValidation", "Ignore").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	return saidOf(err)
}

func saidOf(err error) (Said, error) {
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsAlreadyExists(err): // this is found last
		return Said{}, nil
	case strings.Contains(err.Error(), "INTERNAL_ERROR; received from peer"):
		return Said{Panics: true, Causes: []writes.Cause{{Message: err.Error()}}}, nil
	case !errors.As(err, &status):
		return Said{}, err
	case status.Status().Code > 500, apierrors.IsConflict(err), apierrors.IsTooManyRequests(err):
		return Said{}, err
	}
	var said Said
	if details := status.Status().Details; details != nil && apierrors.IsInvalid(err) {
		for _, c := range details.Causes {
			said.Causes = append(said.Causes, writes.Cause{Field: c.Field, Message: c.Message})
		}
	}
	if len(said.Causes) == 0 {
		said.Causes = []writes.Cause{{Message: status.Status().Message}}
	}
	return said, nil
}

// OwnerUIDs says that all that differs is the UID of an owner: the program takes an owner without one, because OLM
// knows it and a file does not.
func OwnerUIDs(differences []string) bool {
	return !slices.ContainsFunc(differences, func(d string) bool {
		return !strings.HasPrefix(d, onServer+"metadata.ownerReferences.uid: ")
	})
}

const onServer, onProgram = "the API server alone: ", "the program alone: "

// Differences compares what the API server says with what the program says.
func Differences(s Said, a writes.Answer) (all []string) {
	program := slices.Clone(a.Causes)
	if s.Panics && len(program) == 1 && strings.Contains(program[0].Message, "panics") {
		return nil
	}
	for _, c := range s.Causes {
		i := slices.IndexFunc(program, func(p writes.Cause) bool { return same(c, p) })
		if i < 0 {
			all = append(all, onServer+c.String())
			continue
		}
		program = slices.Delete(program, i, i+1)
	}
	for _, c := range program {
		all = append(all, onProgram+c.String())
	}
	return all
}

// ids are made for each request.
var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// same compares causes. The program leaves out long values.
func same(server, program writes.Cause) bool {
	if server.Field != program.Field {
		return false
	}
	said, says := ids.ReplaceAllString(server.Message, "ID"), ids.ReplaceAllString(program.Message, "ID")
	if said == says {
		return true
	}
	kind, detail, _ := strings.Cut(says, ": ")
	return strings.HasPrefix(said, kind+": ") && strings.HasSuffix(said, detail) &&
		len(server.Message)-len(detail) > long
}

// long is how long a message is without its detail when the program leaves out the value: the type comes before it.
const long = 100

// String names the question.
func (q Question) String() string {
	verb := "create"
	if q.Existing != nil {
		verb = "update"
	}
	return fmt.Sprintf("%s %s %s", verb, q.Kind().Kind, q.Name)
}
