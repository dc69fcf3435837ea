package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/olmgen/olmgen/bundle/signature"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// What is read to find a signature: anybody who may push can add some.
const (
	maxSignatures    = 64 // artifacts; and blobs of all of them
	maxSignatureSize = 1 << 20
)

// Unsigned returns the error for a source that has no signature, and is to have one.
func (o Options) Unsigned(what string) error {
	return manifest.WithHint(fmt.Errorf("%s: has no signature to verify; only images in registries have", what),
		"use oci://IMAGE, or ask for no signature", option.VerifyKeys)
}

// verifySigned returns an error unless one of the keys signed the image.
func verifySigned(ctx context.Context, puller *remote.Puller, image name.Digest, keys signature.Keys) error {
	s := &signatures{ctx: ctx, puller: puller, image: image, keys: keys, artifacts: map[string]bool{},
		blobs: map[v1.Hash][]byte{}}
	tag := strings.Replace(image.DigestStr(), ":", "-", 1) + ".sig" // of cosign 1 and 2
	if s.byReferrers() || s.inArtifact(image.Context().Tag(tag)) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.problem == nil {
		return manifest.WithHint(errors.New("the image has no signature"),
			"have it signed with cosign, or ask for no signature", option.VerifyKeys)
	}
	return manifest.WithHint(fmt.Errorf("the image has no valid signature: %w", s.problem),
		"check the key, and who signed the image", option.VerifyKeys)
}

type signatures struct {
	ctx     context.Context
	puller  *remote.Puller
	image   name.Digest
	keys    signature.Keys
	problem error // the first one

	artifacts map[string]bool    // those that were looked at
	blobs     map[v1.Hash][]byte // those that were read
}

func (s *signatures) fail(format string, args ...any) bool {
	s.problem = cmp.Or(s.problem, fmt.Errorf(format, args...))
	return false
}

// byReferrers looks at the artifacts that refer to the image (OCI distribution specification 1.1, listing referrers).
// The library asks for the tag that stands for the list where a registry has none.
func (s *signatures) byReferrers() bool {
	index, err := remote.Referrers(s.image, remote.WithContext(s.ctx), remote.Reuse(s.puller))
	if err != nil {
		return s.fail("referrers: %w", err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		return s.fail("referrers: %w", err)
	}
	read := 0
	for _, d := range list.Manifests {
		if d.ArtifactType != "" && !signature.IsSignature(d.ArtifactType) {
			continue
		}
		if read++; read > maxSignatures {
			return s.fail("more than %d artifacts refer to the image", maxSignatures)
		}
		if s.inArtifact(s.image.Context().Digest(d.Digest.String())) {
			return true
		}
	}
	return false
}

// inArtifact looks at the layers of an artifact. What is wrong with one is noted.
func (s *signatures) inArtifact(ref name.Reference) bool {
	if s.ctx.Err() != nil || s.artifacts[ref.Identifier()] {
		return false
	}
	s.artifacts[ref.Identifier()] = true
	img, list, err := s.artifact(ref)
	if answer := new(transport.Error); errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return false
	}
	if err != nil {
		return s.fail("%s: %w", ref.Identifier(), err)
	}
	for i, l := range list.Layers {
		if i == maxSignatures || len(s.blobs) > maxSignatures {
			return s.fail("%s: more than %d signatures", ref.Identifier(), maxSignatures)
		}
		known, err := s.layer(img, l)
		if known && err == nil {
			return true
		}
		if err != nil {
			s.fail("%s: %w", ref.Identifier(), err)
		}
	}
	return false
}

func (s *signatures) artifact(ref name.Reference) (v1.Image, *v1.Manifest, error) {
	d, err := s.puller.Get(s.ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	img, err := d.Image()
	if err != nil {
		return nil, nil, err
	}
	list, err := decoded(img.RawManifest, img.Manifest)
	return img, list, err
}

// layer verifies the signature in a layer. Known is false if the layer holds something else.
func (s *signatures) layer(img v1.Image, l v1.Descriptor) (known bool, err error) {
	kind := string(l.MediaType)
	if kind != signature.SimpleSigning && !signature.IsBundle(kind) {
		return false, nil
	}
	data, err := s.blob(img, l)
	if err != nil {
		return true, err
	}
	if kind == signature.SimpleSigning {
		return true, s.keys.Simple(data, l.Annotations[signature.SignatureAnnotation], s.image.DigestStr())
	}
	return true, s.keys.Bundle(data, s.image.DigestStr())
}

// blob returns what a layer holds. Several signatures of cosign 1 have the same payload: it is fetched once.
func (s *signatures) blob(img v1.Image, l v1.Descriptor) ([]byte, error) {
	if data, ok := s.blobs[l.Digest]; ok {
		return data, nil
	}
	if err := sized(l); err != nil {
		return nil, err
	}
	if l.Size > maxSignatureSize {
		return nil, fmt.Errorf("larger than %s", text.Size(maxSignatureSize))
	}
	blob, err := img.LayerByDigest(l.Digest)
	if err != nil {
		return nil, err
	}
	stored, err := blob.Compressed()
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	data, err := io.ReadAll(stored) // the library verifies size and digest
	if err != nil {
		return nil, err
	}
	s.blobs[l.Digest] = data
	return data, nil
}
