package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olmgen/olmgen/cmd/e2e/harness/access"
)

// used gives accounts the rights that an audit log shows to be used: their requests must have the same answers.
func (o options) used(ctx context.Context, _ material) error {
	all, err := o.scripts("used")
	if err != nil {
		return err
	}
	return o.play(ctx, "used", all, nil)
}

// patches are the content types of patches by the word that stands for the method of the request.
var patches = map[string]string{"APPLY": "application/apply-patch+yaml", "MERGE": "application/merge-patch+json",
	"JSON": "application/json-patch+json", "STRATEGIC": "application/strategic-merge-patch+json"}

// calls is the step "calls NAMESPACE/ACCOUNT FILE": a ServiceAccount makes the requests of a file with a token of its
// own, when the API server knows all roles and bindings. A line is the code of the answer, the method or the kind of
// the patch, the path, and the body. "as=USER" before the code impersonates.
func calls(s *session, args []string) error {
	asker, err := access.New(s.cluster)
	if err != nil {
		return err
	}
	if _, err := asker.Ask(s.ctx, nil, nil); err != nil { // waits for what the authorizer has not seen yet
		return err
	}
	namespace, name, _ := strings.Cut(args[0], "/")
	token, err := s.cluster.Client.CoreV1().ServiceAccounts(namespace).CreateToken(s.ctx, name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(s.cluster.Config)
	config.BearerToken = token.Status.Token
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	n := 0
	var wrong []error
	for line := range strings.Lines(s.ReadFile(args[1])) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		if err := call(s.ctx, client, config.Host, line); err != nil {
			wrong = append(wrong, fmt.Errorf("%s\n  %w", line, err))
		}
	}
	fmt.Fprintln(s.Stdout(), n, "requests")
	return errors.Join(wrong...)
}

// call makes the request of a line. The error says what was answered if that is not what the line says.
func call(ctx context.Context, client *http.Client, host, line string) error {
	user, rest, as := strings.Cut(strings.TrimPrefix(line, "as="), " ")
	if as = as && strings.HasPrefix(line, "as="); !as {
		rest = line
	}
	words := append(strings.SplitN(rest, " ", 4), "", "", "")
	method, path, body := words[1], words[2], words[3]
	content := "application/json"
	if patch := patches[method]; patch != "" {
		method, content = http.MethodPatch, patch
	}
	r, err := http.NewRequestWithContext(ctx, method, host+path, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", content)
	if as {
		r.Header.Set("Impersonate-User", user)
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err == nil && fmt.Sprint(answer.StatusCode) != words[0] {
		err = fmt.Errorf("%d: %s", answer.StatusCode, said)
	}
	return err
}
