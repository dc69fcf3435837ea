package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

const (
	digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	other  = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func pemOf(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// signWith signs as cosign does with a key of its type.
func signWith(t testing.TB, key crypto.Signer, hash crypto.Hash, message []byte) []byte {
	t.Helper()
	var sum []byte
	switch hash {
	case crypto.SHA256:
		s := sha256.Sum256(message)
		sum = s[:]
	case crypto.SHA384:
		s := sha512.Sum384(message)
		sum = s[:]
	case crypto.SHA512:
		s := sha512.Sum512(message)
		sum = s[:]
	default:
		sum = message
	}
	sig, err := key.Sign(rand.Reader, sum, hash)
	must(t, err)
	return sig
}

func simpleOf(kind, digest string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":"example.com/x"},"image":{"docker-manifest-digest":%q},"type":%q},"optional":null}`, digest, kind)
}

// bundleOf returns a Sigstore bundle as cosign 3 writes it.
func bundleOf(t testing.TB, key crypto.Signer, hash crypto.Hash, payloadType, statement string) []byte {
	t.Helper()
	sig := signWith(t, key, hash, paeOf(payloadType, []byte(statement)))
	data, err := json.Marshal(map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "x"}, "tlogEntries": []any{}},
		"dsseEnvelope": map[string]any{"payload": []byte(statement), "payloadType": payloadType,
			"signatures": []any{map[string]any{"sig": sig, "keyid": ""}}},
	})
	must(t, err)
	return data
}

func statementOf(predicate, digest string) string {
	return fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
		strings.TrimPrefix(digest, "sha256:"), predicate)
}

func TestKeys(t *testing.T) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	must(t, err)
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	for _, c := range []struct {
		name string
		key  crypto.Signer
		hash crypto.Hash
	}{
		{"P-256", p256, crypto.SHA256}, {"P-384", p384, crypto.SHA384}, {"P-384 with SHA-256", p384, crypto.SHA256},
		{"P-521", p521, crypto.SHA512}, {"P-521 with SHA-256", p521, crypto.SHA256}, {"RSA", long, crypto.SHA256}, {"Ed25519", edwards, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := ParseKeys(append(pemOf(t, stranger), pemOf(t, c.key)...))
			must(t, err)
			strangers, err := ParseKeys(pemOf(t, stranger))
			must(t, err)
			payload := simpleOf(simpleType, digest)
			sig := base64.StdEncoding.EncodeToString(signWith(t, c.key, c.hash, payload))
			must(t, keys.Simple(payload, sig, digest))
			bundle := bundleOf(t, c.key, c.hash, inTotoPayload, statementOf(signPredicate, digest))
			must(t, keys.Bundle(bundle, digest))
			if strangers.Simple(payload, sig, digest) == nil || strangers.Bundle(bundle, digest) == nil {
				t.Error("the key of a stranger is good enough")
			}
			if keys.Simple(payload, sig, other) == nil || keys.Bundle(bundle, other) == nil {
				t.Error("the signature holds for another image")
			}
			for i := 0; i < len(payload); i += 20 {
				changed := append([]byte(nil), payload...)
				changed[i] ^= 1
				if keys.Simple(changed, sig, digest) == nil {
					t.Fatalf("byte %d may change", i)
				}
			}
		})
	}
}

// TestRefused has what a known key signed, and what is no signature of the image all the same.
func TestRefused(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	keys, err := ParseKeys(pemOf(t, key))
	must(t, err)
	simple := func(payload []byte) error {
		return keys.Simple(payload, base64.StdEncoding.EncodeToString(signWith(t, key, crypto.SHA256, payload)), digest)
	}
	bundle := func(payloadType, statement string) error {
		return keys.Bundle(bundleOf(t, key, crypto.SHA256, payloadType, statement), digest)
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"another image", simple(simpleOf(simpleType, other)), "another image"},
		{"another type", simple(simpleOf("atomic container signature", digest)), "the type is"},
		{"no digest", simple([]byte(`{"critical":{"type":"` + simpleType + `"}}`)), "another image"},
		{"no JSON", simple([]byte("x")), "payload"},
		{"no base64", keys.Simple(nil, "*", digest), "signature"},
		{"no signature", keys.Simple(simpleOf(simpleType, digest), "", digest), "another key"},
		{"an attestation", bundle(inTotoPayload, statementOf("https://slsa.dev/provenance/v1", digest)), "something else"},
		{"another payload", bundle("text/plain", statementOf(signPredicate, digest)), "payloadType"},
		{"another image in a bundle", bundle(inTotoPayload, statementOf(signPredicate, other)), "another image"},
		{"no subject", bundle(inTotoPayload, `{"_type":"https://in-toto.io/Statement/v1","predicateType":"`+signPredicate+`"}`), "another image"},
		{"no statement", bundle(inTotoPayload, `{"predicateType":"`+signPredicate+`"}`), "_type"},
		{"no envelope", keys.Bundle([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","messageSignature":{}}`), digest), "no dsseEnvelope"},
		{"no bundle", keys.Bundle([]byte(`{}`), digest), "not a Sigstore bundle"},
		{"an empty digest", keys.Bundle(bundleOf(t, key, crypto.SHA256, inTotoPayload, statementOf(signPredicate, "")), "sha256:"), "another image"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, c.err, c.want)
		}
	}
}

func TestParseKeys(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	must(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no public key"},
		{"text", "hello", "no public key"},
		{"a private key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), "private key"},
		{"a certificate", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private})), "CERTIFICATE"},
		{"damaged", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: private})), "damaged"},
		{"a short key", string(pemOf(t, short)), "too short"},
		{"a key and text", string(pemOf(t, key)) + "hello", "more than public keys"},
	} {
		if _, err := ParseKeys([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(f, err)
	keys, err := ParseKeys(pemOf(f, key))
	must(f, err)
	f.Add(bundleOf(f, key, crypto.SHA256, "text/plain", "x"), "", pemOf(f, key))
	f.Add(simpleOf(simpleType, digest), base64.StdEncoding.EncodeToString([]byte("x")), []byte("x"))
	f.Fuzz(func(t *testing.T, data []byte, sig string, file []byte) {
		fuzztest.Limit(t, len(data)+len(sig)+len(file))
		if keys.Bundle(data, digest) == nil || keys.Simple(data, sig, digest) == nil {
			t.Error("nobody signed this")
		}
		if parsed, err := ParseKeys(file); (len(parsed) > 0) != (err == nil) {
			t.Errorf("%d keys, and error %v", len(parsed), err)
		}
	})
}
