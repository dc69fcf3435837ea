package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// authority signs the certificates of one cluster.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	mu   sync.Mutex
	next int64
}

// newAuthority writes ca.crt and ca.key into dir.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	return a, a.issue("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "olmgen-e2e"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	})
}

// serving writes a certificate for a server on loopback.
func (a *authority) serving(name string) error {
	return a.issue(name, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
	})
}

// client writes a certificate for a user of a group.
func (a *authority) client(name string, groups ...string) error {
	return a.issue(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// host returns the certificate of a host.
func (a *authority) host(name string) (tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	file := filepath.Join(a.dir, "host-"+name)
	if cert, err := tls.LoadX509KeyPair(file+".crt", file+".key"); err == nil {
		return cert, nil
	}
	err := a.issue("host-"+name, &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(file+".crt", file+".key")
}

func (a *authority) issue(name string, c *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.next++
	c.SerialNumber, c.BasicConstraintsValid = big.NewInt(a.next), true
	c.KeyUsage |= x509.KeyUsageDigitalSignature
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent, signer := a.cert, a.key
	if c.IsCA {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	if c.IsCA {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			return err
		}
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := a.write(name+".key", "EC PRIVATE KEY", secret); err != nil {
		return err
	}
	return a.write(name+".crt", "CERTIFICATE", der)
}

func (a *authority) write(name, kind string, der []byte) error {
	return os.WriteFile(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
