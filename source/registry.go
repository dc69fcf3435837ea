package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/olmgen/olmgen/internal/manifest/lazy"
	"github.com/olmgen/olmgen/manifest"
)

// The options of this package that errors are about.
const (
	OptionInsecureRegistries manifest.Option = "Source.InsecureRegistries"
	OptionVerifyKeys         manifest.Option = "Source.VerifyKeys"
)

var registryHost = lazy.Regexp(`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// ParseRegistry checks a value of Options.InsecureRegistries: HOST or HOST:PORT, as an image reference begins.
func ParseRegistry(host string) error {
	if !registryHost().MatchString(host) {
		return fmt.Errorf("%s is not a registry: write HOST or HOST:PORT, as image references begin", quote(host))
	}
	return nil
}

// How long a registry may take. There is no limit for a whole image, because a large one may take long.
const (
	answerTime = 30 * time.Second // to answer, and to send slowBytes of a body
	slowBytes  = 1 << 10
)

// registryTransport sends the requests to one registry, and to the hosts that it redirects to. The package remote,
// which uses it, sends credentials to the registry and its token server only.
type registryTransport struct {
	inner    http.RoundTripper
	insecure []string // hosts that may be spoken to without TLS
	wait     time.Duration

	mu        sync.Mutex
	encrypted error // of the last request by TLS
}

func newRegistryTransport(o Options) *registryTransport {
	t := &registryTransport{inner: o.transport, insecure: o.InsecureRegistries, wait: o.wait}
	if t.wait == 0 {
		t.wait = answerTime
	}
	if t.inner == nil {
		t.inner = remote.DefaultTransport // it keeps connections for further images
	}
	return t
}

// plainError is a request that was not sent because it would not be encrypted.
type plainError struct{ host string }

func (e *plainError) Error() string { return e.host + " is not spoken to without TLS" }

// noTLSError is a registry that does not speak TLS.
type noTLSError struct{ host string }

func (e *noTLSError) Error() string { return e.host + " does not speak TLS" }

// slowError is a registry that hangs.
type slowError struct{ host, what string }

func (e *slowError) Error() string { return e.host + " " + e.what }

// RoundTrip refuses plain HTTP, and gives up on a registry that hangs or sends more than it should.
func (t *registryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Host
	if req.URL.Scheme != "https" && !slices.Contains(t.insecure, host) {
		return nil, &plainError{host}
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(t.wait, func() { cancel(&slowError{host, "does not answer within " + t.wait.String()}) })
	resp, err := t.inner.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		err = cause(ctx, err)
		cancel(nil)
		if errors.As(err, new(tls.RecordHeaderError)) {
			err = &noTLSError{host}
		}
		if req.URL.Scheme == "https" {
			t.mu.Lock()
			t.encrypted = err
			t.mu.Unlock()
		}
		return nil, err
	}
	resp.Request = req
	body := &watchedBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, left: -1}
	if !isBlob(req) {
		body.left = maxImageJSON
	}
	body.watch(host, t.wait)
	resp.Body = body
	return resp, nil
}

// failed returns the error that matters: for a host such as localhost, package remote tries plain HTTP after TLS
// failed.
func (t *registryTransport) failed(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.encrypted != nil && errors.As(err, new(*plainError)) {
		return t.encrypted
	}
	return err
}

// isBlob reports whether a request, or the one that was redirected to it, is for a blob. All else is short.
func isBlob(req *http.Request) bool {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return strings.Contains(req.URL.Path, "/blobs/")
}

// cause returns why a request was given up, or err.
func cause(ctx context.Context, err error) error {
	if slow := new(slowError); errors.As(context.Cause(ctx), &slow) {
		return slow
	}
	return err
}

// watchedBody is a body that must not come too slowly, or be too long.
type watchedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	read   atomic.Int64
	left   int64 // bytes that may still come; negative: any number
}

func (b *watchedBody) watch(host string, wait time.Duration) {
	last := int64(0)
	ready := make(chan struct{}) // b.timer is set
	b.timer = time.AfterFunc(wait, func() {
		<-ready
		now := b.read.Load()
		if now-last < slowBytes {
			b.cancel(&slowError{host, fmt.Sprintf("sent less than %s within %s", bytesText(slowBytes), wait)})
			return
		}
		last = now
		b.timer.Reset(wait)
	})
	close(ready)
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	switch {
	case err != nil:
		b.timer.Stop()
		return n, cause(b.ctx, err)
	case b.left >= 0:
		if b.left -= int64(n); b.left < 0 {
			return 0, fmt.Errorf("%w: larger than %s", errTooLong, bytesText(maxImageJSON))
		}
	}
	return n, nil
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
