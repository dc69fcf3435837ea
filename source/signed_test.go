package source

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/olmgen/olmgen/bundle/signature"
)

// signer signs images as cosign does.
type signer struct{ key *ecdsa.PrivateKey }

func newSigner(t testing.TB) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return signer{key}
}

func (s signer) sign(t testing.TB, message []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(message)
	sig, err := ecdsa.SignASN1(rand.Reader, s.key, sum[:])
	must(t, err)
	return sig
}

func (s signer) keys() signature.Keys { return signature.Keys{crypto.PublicKey(&s.key.PublicKey)} }

// byTag pushes a signature of the older form for what has the digest; other is the digest that it names.
func (s signer) byTag(t testing.TB, repo, digest, other string) {
	t.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, other)
	img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer: static.NewLayer(payload, signature.SimpleSigning), MediaType: signature.SimpleSigning,
		Annotations: map[string]string{signature.SignatureAnnotation: base64.StdEncoding.EncodeToString(s.sign(t, payload))},
	})
	must(t, err)
	push(t, repo+":"+strings.Replace(digest, ":", "-", 1)+".sig", img)
}

const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// byReferrer pushes a Sigstore bundle that refers to the image.
func (s signer) byReferrer(t testing.TB, repo string, subject v1.Image, predicate string) {
	t.Helper()
	_, hex, _ := strings.Cut(digestOf(t, subject), ":")
	statement := fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`, hex, predicate)
	kind := "application/vnd.in-toto+json"
	data, err := json.Marshal(map[string]any{"mediaType": bundleType, "dsseEnvelope": map[string]any{
		"payload": statement, "payloadType": kind,
		"signatures": []any{map[string]any{"sig": s.sign(t, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement))}},
	}})
	must(t, err)
	pushReferrer(t, repo, subject, data)
}

func pushReferrer(t testing.TB, repo string, subject v1.Image, data []byte) {
	t.Helper()
	img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		mutate.Addendum{Layer: static.NewLayer(data, bundleType), MediaType: bundleType})
	must(t, err)
	img = mutate.ConfigMediaType(img, bundleType)
	size, err := subject.Size()
	must(t, err)
	h, err := subject.Digest()
	must(t, err)
	referrer := mutate.Subject(img, v1.Descriptor{MediaType: types.DockerManifestSchema2, Digest: h, Size: size}).(v1.Image)
	push(t, repo+"@"+digestOf(t, referrer), referrer)
}

const cosignSign = "https://sigstore.dev/cosign/sign/v1"

// serveReferrers starts a registry that lists referrers, or one that does not.
func serveReferrers(t testing.TB, lists bool) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(lists)))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestVerifyKeys(t *testing.T) {
	img, elsewhere := goodImage(t), imageOf(t, nil, tarOf(t, goodBundle...))
	digest := digestOf(t, img)
	us, stranger := newSigner(t), newSigner(t)
	none := "the image has no signature"
	invalid := "the image has no valid signature: "
	for _, c := range []struct {
		name string
		sign func(t *testing.T, repo string)
		want string
	}{
		{"tag", func(t *testing.T, repo string) { us.byTag(t, repo, digest, digest) }, ""},
		{"referrer", func(t *testing.T, repo string) { us.byReferrer(t, repo, img, cosignSign) }, ""},
		{"a stranger's and ours", func(t *testing.T, repo string) {
			stranger.byReferrer(t, repo, img, cosignSign)
			us.byReferrer(t, repo, img, "https://slsa.dev/provenance/v1")
			us.byReferrer(t, repo, img, cosignSign)
		}, ""},
		{"a stranger's referrer and our tag", func(t *testing.T, repo string) {
			stranger.byReferrer(t, repo, img, cosignSign)
			us.byTag(t, repo, digest, digest)
		}, ""},
		{"none", func(*testing.T, string) {}, none},
		{"a stranger's tag", func(t *testing.T, repo string) { stranger.byTag(t, repo, digest, digest) }, invalid},
		{"a stranger's referrer", func(t *testing.T, repo string) { stranger.byReferrer(t, repo, img, cosignSign) }, invalid},
		{"an attestation", func(t *testing.T, repo string) { us.byReferrer(t, repo, img, "https://slsa.dev/provenance/v1") }, invalid},
		{"of another image, copied", func(t *testing.T, repo string) { us.byTag(t, repo, digest, digestOf(t, elsewhere)) }, invalid},
		{"no bundle", func(t *testing.T, repo string) { pushReferrer(t, repo, img, []byte("x")) }, invalid},
		{"very many", func(t *testing.T, repo string) {
			for i := range maxSignatures + 1 {
				pushReferrer(t, repo, img, fmt.Append(nil, i))
			}
		}, invalid},
	} {
		for _, lists := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, ", referrers listed ", lists), func(t *testing.T) {
				host := serveReferrers(t, lists)
				repo := host + "/etcd/bundle"
				push(t, repo+":v1", img)
				c.sign(t, repo)
				for _, ref := range []string{repo + ":v1", repo + "@" + digest} {
					o := plain(host)
					o.VerifyKeys = us.keys()
					want := c.want
					if want == "" {
						same(t, "files", contents(t, open(t, "oci://"+ref, o).FS), goodFiles)
						continue
					}
					got := openError(t, "oci://"+ref, o)
					if !strings.HasPrefix(got, ref+": "+want) || !strings.Contains(got, "\nhint: ") {
						t.Error(got)
					}
				}
			})
		}
	}
}

// TestVerifyKeysOfAnIndex signs the index that a tag stands for, as cosign does.
func TestVerifyKeysOfAnIndex(t *testing.T) {
	us := newSigner(t)
	host := serveReferrers(t, true)
	repo := host + "/etcd/bundle"
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: goodImage(t)})
	push(t, repo+":v1", index)
	o := plain(host)
	o.VerifyKeys = us.keys()
	openError(t, "oci://"+repo+":v1", o)
	us.byTag(t, repo, digestOf(t, index), digestOf(t, index))
	same(t, "files", contents(t, open(t, "oci://"+repo+":v1", o).FS), goodFiles)
}

// TestVerifyKeysElsewhere refuses what has no signature: all but images in registries. Package catalog does it for bundles in catalogs.
func TestVerifyKeysElsewhere(t *testing.T) {
	us := newSigner(t)
	refs := savedAs(t, goodImage(t))
	for p, text := range map[string]string{"dir/manifests/a.yaml": "a: b", "bundle.tar": string(tarOf(t, goodBundle...)), "bundle.zip": string(zipOf(t, goodBundle...))} {
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
	for _, ref := range append(refs, "dir", "bundle.tar", "bundle.zip", "packagemanifest:dir") {
		got := openError(t, ref, Options{VerifyKeys: us.keys()})
		if !strings.HasPrefix(got, ref+": has no signature to verify") {
			t.Error(got)
		}
	}
}
