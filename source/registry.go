package source

import (
	"cmp"
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

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/text"
)

var registryHost = lazy.Regexp(`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// ParseRegistry checks a value of Options.InsecureRegistries: HOST or HOST:PORT, as an image reference begins.
func ParseRegistry(host string) error {
	if !registryHost().MatchString(host) {
		return fmt.Errorf("%s is not a registry: write HOST or HOST:PORT, as image references begin", quote(host))
	}
	return nil
}

// How long a registry may take, and how often it may redirect.
const (
	defaultTimeout = 5 * time.Minute  // for all that one reference needs
	answerTime     = 30 * time.Second // to answer, and to send slowBytes of a body
	slowBytes      = 1 << 10
	maxRedirects   = 10            // of one request, as package net/http has it; package remote replaces that check
	maxRequests    = 4 * maxLayers // for all that one reference needs, with redirects and further attempts
)

// registryTransport sends the requests to a registry and where it redirects to. Package remote keeps credentials to it.
type registryTransport struct {
	inner    http.RoundTripper
	insecure []string // hosts that may be spoken to without TLS
	wait     time.Duration

	mu        sync.Mutex
	encrypted map[string]error // by host: the error of the last request by TLS
	last      string           // the host of the last request
	requests  int
	layers    map[string]int64 // by digest: the size of a blob that is read as a stream
}

func newRegistryTransport(o Options) *registryTransport {
	return &registryTransport{
		inner:    cmp.Or(o.transport, remote.DefaultTransport), // which keeps connections for further images
		insecure: o.InsecureRegistries, wait: cmp.Or(o.wait, answerTime),
		encrypted: map[string]error{}, layers: map[string]int64{}}
}

// Kinds of a hostError.
var (
	errPlain = errors.New("plain HTTP")   // a request was not sent because it would not be encrypted
	errNoTLS = errors.New("no TLS")       // the registry does not speak TLS
	errToken = errors.New("token server") // a registry with TLS wants its credentials sent to a server without
)

// hostError is a host that hangs, redirects without end, breaks off or does not speak TLS.
type hostError struct {
	host, what string
	err        error // may be nil
}

func (e *hostError) Error() string { return e.host + " " + e.what }
func (e *hostError) Unwrap() error { return e.err }

// RoundTrip refuses plain HTTP, and gives up on a registry that hangs, redirects without end or sends more than it
// should. Errors name the host that failed: a redirect or a token server may have led away from the registry.
func (t *registryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Host
	if t.note(host) > maxRequests {
		return nil, &hostError{host, fmt.Sprintf("needs more than %d requests for one image", maxRequests), nil}
	}
	if req.URL.Scheme != "https" && !slices.Contains(t.insecure, host) {
		return nil, &hostError{host, "is not spoken to without TLS", errPlain}
	}
	origin, redirects := req, 0
	for ; origin.Response != nil && origin.Response.Request != nil; redirects++ {
		origin = origin.Response.Request
	}
	if redirects > maxRedirects {
		host := req.Response.Request.URL.Host
		return nil, &hostError{host, fmt.Sprintf("redirects more than %d times", maxRedirects), nil}
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(t.wait, func() {
		cancel(&hostError{host, "does not answer within " + t.wait.String(), nil})
	})
	resp, err := t.inner.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		err = cause(ctx, err)
		cancel(nil)
		if errors.As(err, new(tls.RecordHeaderError)) {
			err = &hostError{host, "does not speak TLS", errNoTLS}
		}
		if req.URL.Scheme == "https" {
			t.mu.Lock()
			t.encrypted[host] = err
			t.mu.Unlock()
		}
		return nil, err
	}
	if server := plainTokenServer(resp); server != "" && req.URL.Scheme == "https" {
		resp.Body.Close()
		cancel(nil)
		return nil, &hostError{host, "has its token server " + server + ", which is not spoken to without TLS",
			errToken}
	}
	resp.Request = req
	most := t.longest(origin)
	body := &watchedBody{ReadCloser: resp.Body, host: host, ctx: ctx, cancel: cancel, most: most, left: most}
	body.watch(t.wait)
	resp.Body = body
	return resp, nil
}

var tokenServer = lazy.Regexp(`(?i)^\s*bearer\s.*\brealm="?http://([^/?"\s,]+)`)

// plainTokenServer returns the host of the token server that an answer names, if it has no TLS; else "".
func plainTokenServer(resp *http.Response) string {
	if resp.StatusCode != http.StatusUnauthorized {
		return ""
	}
	for _, challenge := range resp.Header.Values("WWW-Authenticate") {
		if m := tokenServer().FindStringSubmatch(challenge); m != nil {
			return m[1]
		}
	}
	return ""
}

// failed returns the error that matters: of localhost, package remote tries plain HTTP after TLS failed.
func (t *registryTransport) failed(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of, ok := errors.AsType[*hostError](err); ok && errors.Is(err, errPlain) {
		return cmp.Or(t.encrypted[of.host], err)
	}
	return err
}

func (t *registryTransport) note(host string) (requests int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = host
	t.requests++
	return t.requests
}

// longest returns how long the answer to a request, before any redirect, may be.
func (t *registryTransport) longest(req *http.Request) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, digest, _ := strings.Cut(req.URL.Path, "/blobs/")
	return max(t.layers[digest]+1, maxImageJSON) // the verifier reads one more and says what is wrong
}

// cause returns why a request was given up, or err.
func cause(ctx context.Context, err error) error {
	if slow, ok := errors.AsType[*hostError](context.Cause(ctx)); ok {
		return slow
	}
	return err
}

// watchedBody is a body that must not come too slowly, or be too long.
type watchedBody struct {
	io.ReadCloser
	host   string
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	read   atomic.Int64
	most   int64 // bytes may come, whatever a descriptor or a header says
	left   int64 // of them
}

func (b *watchedBody) watch(wait time.Duration) {
	last := int64(0)
	ready := make(chan struct{}) // b.timer is set
	b.timer = time.AfterFunc(wait, func() {
		<-ready
		now := b.read.Load()
		if now-last < slowBytes {
			b.cancel(&hostError{b.host, fmt.Sprintf("sent less than %s within %s", text.Size(slowBytes), wait), nil})
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
	if err != nil {
		b.timer.Stop()
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%s: %w: larger than %s", b.host, errTooLong, text.Size(b.most))
	}
	if err == nil || errors.Is(err, io.EOF) || b.ctx.Err() != nil {
		return n, cause(b.ctx, err)
	}
	return n, &hostError{b.host, "broke off: " + err.Error(), err}
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
