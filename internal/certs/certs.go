// Package certs makes certificates for tests of TLS.
//
// It owns one authority and what that signs. It must not know who uses them.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files are the paths of PEM files in a directory.
type Files struct{ CA, Cert, Key, Expired, ExpiredKey string }

// Make writes an authority, a certificate of it for 127.0.0.1 and localhost, which servers and clients can show, and one that has expired.
func Make(dir string) (Files, error) {
	f := Files{
		CA:   filepath.Join(dir, "ca.pem"),
		Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		Expired: filepath.Join(dir, "expired.pem"), ExpiredKey: filepath.Join(dir, "expired-key.pem"),
	}
	now := time.Now()
	authority := template(1, now.Add(-48*time.Hour), now.Add(time.Hour))
	authority.Subject.CommonName += " authority" // OpenSSL takes what has its issuer's name for an authority
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return f, err
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, signer.Public(), signer)
	if err != nil {
		return f, err
	}
	return f, errors.Join(
		write(f.CA, "CERTIFICATE", der),
		sign(template(2, now.Add(-time.Hour), now.Add(time.Hour)), authority, signer, f.Cert, f.Key),
		sign(template(3, now.Add(-48*time.Hour), now.Add(-24*time.Hour)), authority, signer, f.Expired, f.ExpiredKey),
	)
}

func template(serial int64, from, to time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "lock lab test"},
		NotBefore:    from,
		NotAfter:     to,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:     []string{"localhost"},
	}
}

// sign writes a certificate and its key.
func sign(what, authority *x509.Certificate, signer *ecdsa.PrivateKey, cert, key string) error {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, what, authority, own.Public(), signer)
	if err != nil {
		return err
	}
	text, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return err
	}
	return errors.Join(write(cert, "CERTIFICATE", der), write(key, "PRIVATE KEY", text))
}

func write(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
