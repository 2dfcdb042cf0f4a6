package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/faults/server/address"
)

// enterTime bounds the way into a server: connecting, and then TLS with the password.
const enterTime = 4 * time.Second

// DeniedError says why a server that can be reached does not let the lab in, and what to do.
type DeniedError struct{ what string }

func (e *DeniedError) Error() string { return e.what }

func denied(format string, args ...any) error { return &DeniedError{fmt.Sprintf(format, args...)} }

// Dial opens a connection in the endpoint's database, as its user. What follows on it is as on a plain connection.
func (e Endpoint) Dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: enterTime}
	conn, err := dialer.DialContext(ctx, "tcp", e.Addr)
	if err != nil {
		return nil, fmt.Errorf("unreachable: %w", err)
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	entered, err := e.enter(conn)
	if err == nil && ctx.Err() == nil {
		return entered, nil
	}
	conn.Close()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// enter does what a new connection begins with.
func (e Endpoint) enter(conn net.Conn) (net.Conn, error) {
	request, asks := e.greeting()
	if e.TLS != nil || e.Password != "" {
		_ = conn.SetDeadline(time.Now().Add(enterTime)) // an error: the connection has ended, which the next line finds
	}
	if e.TLS != nil {
		secured, err := e.secure(conn)
		if err != nil {
			return nil, err
		}
		conn = secured
	}
	if len(request) > 0 {
		if _, err := conn.Write(request); err != nil {
			return nil, e.explain(err)
		}
	}
	for _, command := range asks {
		line, err := address.ReadLine(conn)
		if err != nil {
			return nil, e.explain(err)
		}
		if line != "+OK" {
			return nil, e.refused(command, line)
		}
	}
	return conn, conn.SetDeadline(time.Time{})
}

func (e Endpoint) secure(conn net.Conn) (net.Conn, error) {
	host, _, err := net.SplitHostPort(e.Addr)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if len(e.TLS.CA) > 0 {
		cfg.RootCAs = x509.NewCertPool()
		cfg.RootCAs.AppendCertsFromPEM(e.TLS.CA)
	}
	if len(e.TLS.Cert) > 0 {
		own, err := tls.X509KeyPair(e.TLS.Cert, e.TLS.Key)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{own}
	}
	secured := tls.Client(conn, cfg)
	if err := secured.Handshake(); err != nil {
		return nil, e.explain(err)
	}
	return secured, nil
}

// refused says in words why the server does not answer AUTH or SELECT with OK.
func (e Endpoint) refused(command, line string) error {
	said := line
	if e.Password != "" { // a server that does not know the command quotes its arguments
		said = strings.ReplaceAll(said, string(e.Password), "***")
	}
	text, isError := strings.CutPrefix(said, "-")
	switch {
	case !isError:
		return denied("it does not answer like a Redis: %.60q", said)
	case command == "SELECT" && strings.HasPrefix(text, "ERR DB index"):
		return denied("it has no database %d: %s", e.DB, text)
	case strings.HasPrefix(text, "WRONGPASS"), strings.HasPrefix(text, "ERR invalid password"):
		return denied("it refuses %s: %s; set LOCKLAB_PASSWORD or --password-file to the right one", e.who(), text)
	case strings.Contains(text, "without any password configured"), strings.Contains(text, "no password is set"):
		return denied("it asks for no password, and the lab has one: %s; leave LOCKLAB_PASSWORD and --password-file out", text)
	case command == "AUTH" && strings.Contains(text, "wrong number of arguments"):
		return denied("it knows no users: %s; leave %q out of its address", text, e.User)
	}
	return worded(text, fmt.Errorf("%s: %s", command, text))
}

// who is the user with what the lab has of its password.
func (e Endpoint) who() string {
	switch {
	case e.User == "":
		return "the password"
	case e.Password == "":
		return fmt.Sprintf("user %q without a password", e.User)
	}
	return fmt.Sprintf("user %q, or the password", e.User)
}

// explain says in words why a connection ended before the server had let the lab in.
func (e Endpoint) explain(err error) error {
	var (
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		hostname x509.HostnameError
		noTLS    tls.RecordHeaderError
		alert    tls.AlertError
		slow     net.Error
	)
	text := err.Error()
	switch {
	case errors.As(err, &unknown):
		return denied("its certificate is signed by an authority that is not trusted here: %v; give the authority's certificate with --tls-ca", unknown)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return denied("its certificate is not valid now (from %s to %s); renew it at the server", day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter))
	case errors.As(err, &invalid):
		return denied("its certificate is not valid: %v", invalid)
	case errors.As(err, &hostname):
		return denied("its certificate is for another host: %v; write the name in the certificate into the address", hostname)
	case errors.As(err, &noTLS):
		return denied("it does not speak TLS there: %v; write %s for a port without TLS", noTLS, address.RedisScheme)
	case errors.As(err, &alert), strings.Contains(text, "remote error: tls:"):
		return denied("it ends the handshake: %v; %s", err, e.whichCertificate())
	case errors.As(err, &slow) && slow.Timeout() && e.TLS != nil:
		return denied("it does not answer to TLS within %v; write %s for a port without TLS", enterTime, address.RedisScheme)
	case errors.As(err, &slow) && slow.Timeout():
		return denied("it does not answer within %v", enterTime)
	case e.TLS != nil:
		// A server that wants a certificate may end the connection before its reason is read.
		return fmt.Errorf("it ends the connection: %w; %s", err, e.whichCertificate())
	}
	return err
}

// whichCertificate is what to do where a server may not like the lab's certificate.
func (e Endpoint) whichCertificate() string {
	if e.TLS != nil && len(e.TLS.Cert) > 0 {
		return "check --tls-cert and --tls-key"
	}
	return "it may ask for a client's certificate: give --tls-cert and --tls-key"
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
