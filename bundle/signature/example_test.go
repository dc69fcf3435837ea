package signature_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/bundle/signature"
)

// Verify the signature of an image. The payload and the signature are a layer that cosign pushes beside the image, and
// the annotation of that layer.
func ExampleKeys_Simple() {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	payload := []byte(`{"critical":{"type":"cosign container image signature","image":{"docker-manifest-digest":"` + digest + `"}}}`)
	sig := base64.StdEncoding.EncodeToString(ed25519.Sign(private, payload))

	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		log.Fatal(err)
	}
	keys, err := signature.ParseKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(keys.Simple(payload, sig, digest))
	fmt.Println(keys.Simple(append(payload, ' '), sig, digest))
	// Output:
	// <nil>
	// made with another key, or changed
}
