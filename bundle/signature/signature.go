// Package signature verifies signatures of images with public keys.
//
// [ParseKeys] reads the keys. [Keys.Simple] verifies a signature of cosign's older form, [Keys.Bundle] one in a
// Sigstore bundle. [IsSignature] and [IsBundle] say what a layer or an artifact is. Package
// [github.com/olmgen/olmgen/source] fetches both forms and verifies them when it opens an image.
//
// The package asks no transparency log and knows no certificates. It uses Go's own cryptography: sigstore-go would add
// 6 MB to olmgen, 4 ms to every start and 33 modules, and it does not verify the older form.
package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// Keys are the public keys that a signature may be of.
type Keys []crypto.PublicKey

// minRSA is the least number of bits of an RSA key (NIST SP 800-131A).
const minRSA = 2048

// ParseKeys reads public keys in PEM form: ECDSA, RSA or Ed25519.
func ParseKeys(data []byte) (Keys, error) {
	var keys Keys
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		key, err := parseKey(block)
		if err != nil {
			return nil, err
		}
		keys, data = append(keys, key), rest
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no public key in PEM form")
	}
	if len(bytes.TrimSpace(data)) > 0 {
		return nil, errors.New("there is more than public keys in PEM form")
	}
	return keys, nil
}

func parseKey(block *pem.Block) (crypto.PublicKey, error) {
	if block.Type != "PUBLIC KEY" {
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return nil, errors.New("this is a private key, where a public key is needed")
		}
		return nil, fmt.Errorf("%q is not PUBLIC KEY, the PEM type of a public key", block.Type)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("damaged public key: %w", err)
	}
	switch key := key.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return key, nil
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSA {
			return nil, fmt.Errorf("an RSA key of %d bits is too short: %d is the least", bits, minRSA)
		}
		return key, nil
	}
	return nil, fmt.Errorf("keys of type %T cannot be used", key)
}

func (k Keys) signed(message, sig []byte) bool {
	return slices.ContainsFunc(k, func(key crypto.PublicKey) bool { return signedBy(key, message, sig) })
}

// signedBy verifies what cosign makes with each type of key. Keys of longer curves have been used with SHA-256 and with
// the hash that fits the curve.
func signedBy(key crypto.PublicKey, message, sig []byte) bool {
	digest := sha256.Sum256(message)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(key, digest[:], sig) {
			return true
		}
		switch key.Curve {
		case elliptic.P384():
			long := sha512.Sum384(message)
			return ecdsa.VerifyASN1(key, long[:], sig)
		case elliptic.P521():
			long := sha512.Sum512(message)
			return ecdsa.VerifyASN1(key, long[:], sig)
		}
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], sig) == nil
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, sig)
	}
	return false
}

// The media types of layers that hold signatures, and what else cosign writes
// (sigstore/cosign: specs/SIGNATURE_SPEC.md, specs/BUNDLE_SPEC.md).
const (
	SimpleSigning       = "application/vnd.dev.cosign.simplesigning.v1+json"
	bundlePrefix        = "application/vnd.dev.sigstore.bundle" // a version follows
	SignatureAnnotation = "dev.cosignproject.cosign/signature"

	artifactSignature = "application/vnd.dev.cosign.artifact.sig.v1+json" // of the older form, by referrer

	simpleType    = "cosign container image signature"
	inTotoPayload = "application/vnd.in-toto+json"
	signPredicate = "https://sigstore.dev/cosign/sign/v1"
)

var errNotSigned = errors.New("made with another key, or changed")

// Simple verifies a signature of the older form: payload is the layer, sig its annotation. The image has the digest.
func (k Keys) Simple(payload []byte, sig, digest string) error {
	raw, err := base64.StdEncoding.DecodeString(sig)
	if err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	if !k.signed(payload, raw) {
		return errNotSigned
	}
	var claim struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if err := manifest.DecodeJSON(payload, &claim); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if claim.Critical.Type != simpleType {
		return fmt.Errorf("payload: the type is %q, not %q", claim.Critical.Type, simpleType)
	}
	if claim.Critical.Image.Digest != digest {
		return fmt.Errorf("it is the signature of another image, %q", claim.Critical.Image.Digest)
	}
	return nil
}

// Bundle verifies a Sigstore bundle that holds a signed statement about the image with the digest. A statement that is
// not a signature of the image, such as a list of its parts, does not count.
func (k Keys) Bundle(data []byte, digest string) error {
	var b struct {
		MediaType string `json:"mediaType"`
		Envelope  *struct {
			Payload     []byte `json:"payload"`
			PayloadType string `json:"payloadType"`
			Signatures  []struct {
				Sig []byte `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
	}
	if err := manifest.DecodeJSON(data, &b); err != nil {
		return err
	}
	switch {
	case !strings.HasPrefix(b.MediaType, bundlePrefix):
		return fmt.Errorf("not a Sigstore bundle: the mediaType is %q", b.MediaType)
	case b.Envelope == nil:
		return errors.New("the Sigstore bundle has no dsseEnvelope")
	case b.Envelope.PayloadType != inTotoPayload:
		return fmt.Errorf("the payloadType is %q, not %q", b.Envelope.PayloadType, inTotoPayload)
	}
	message := paeOf(b.Envelope.PayloadType, b.Envelope.Payload)
	for _, s := range b.Envelope.Signatures {
		if k.signed(message, s.Sig) {
			return statement(b.Envelope.Payload, digest)
		}
	}
	return errNotSigned
}

// paeOf returns what is signed: the pre-authentication encoding (secure-systems-lab/dsse: protocol.md).
func paeOf(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// statement checks that an in-toto statement is the signature of the image.
func statement(payload []byte, digest string) error {
	var s struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if err := manifest.DecodeJSON(payload, &s); err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	if s.Type != "https://in-toto.io/Statement/v1" && s.Type != "https://in-toto.io/Statement/v0.1" {
		return fmt.Errorf("statement: the _type is %q", s.Type)
	}
	if s.PredicateType != signPredicate {
		return fmt.Errorf("it says something else of the image than a signature: %q", s.PredicateType)
	}
	algorithm, hex, _ := strings.Cut(digest, ":")
	for _, subject := range s.Subject {
		if hex != "" && subject.Digest[algorithm] == hex {
			return nil
		}
	}
	return errors.New("it is the signature of another image")
}

// IsBundle reports whether a media type is that of a Sigstore bundle.
func IsBundle(mediaType string) bool { return strings.HasPrefix(mediaType, bundlePrefix) }

// IsSignature reports whether an artifact of a type may hold signatures of an image.
func IsSignature(artifactType string) bool {
	return IsBundle(artifactType) || artifactType == SimpleSigning || artifactType == artifactSignature
}
