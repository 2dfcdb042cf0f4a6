package redis

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/faults/server/address"
)

// Secret is a text that nothing prints: every verb of fmt, and JSON, shows asterisks.
type Secret string

// Format prints asterisks, or nothing for the empty secret.
func (s Secret) Format(f fmt.State, _ rune) {
	if s != "" {
		_, _ = io.WriteString(f, "***")
	}
}

// MarshalText is for encoders, which would not ask Format.
func (s Secret) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(s)), nil }

// Endpoint is where a Redis listens, and what the lab shows to be let in.
type Endpoint struct {
	Addr     string // host:port
	User     string // empty: the server's default user
	Password Secret
	DB       int
	TLS      *TLS // nil: plain TCP
}

// TLS is what the lab trusts and shows, in PEM.
type TLS struct {
	CA        []byte // empty: the system's authorities
	Cert, Key []byte // of the lab; empty: none
}

// Credentials are what the address of a server does not say. A password in the address goes before.
type Credentials struct {
	Password  Secret
	CA        string // the files
	Cert, Key string
}

// Plain is the endpoint of a server that lets everybody in, such as one of the lab's own.
func Plain(addr string) Endpoint { return Endpoint{Addr: addr} }

// ParseEndpoint reads the address of a Redis, host:port or a URL, and the files of the credentials. No error shows a secret.
func ParseEndpoint(text string, c Credentials) (Endpoint, error) {
	e := Endpoint{Password: c.Password}
	rest, isURL := strings.CutPrefix(text, address.RedisScheme)
	if !isURL {
		if rest, isURL = strings.CutPrefix(text, address.RedisTLSScheme); isURL {
			e.TLS = &TLS{}
		}
	}
	if !isURL {
		e.Addr = text
		if err := address.Check(text); err != nil {
			return Endpoint{}, err
		}
	} else if err := e.readURL(rest); err != nil {
		return Endpoint{}, fmt.Errorf("redis at %q: %w", address.Redact(text), err)
	}
	return e, e.readFiles(c)
}

// readURL reads what follows the scheme of a URL: [user[:password]@]host[:port][/db].
func (e *Endpoint) readURL(text string) error {
	where := text
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		where = text[at+1:]
		user, password, has := strings.Cut(text[:at], ":")
		var err error
		if e.User, err = url.PathUnescape(user); err != nil {
			return errors.New("a % in the user is written %25")
		}
		if has {
			word, err := url.PathUnescape(password)
			if err != nil {
				return errors.New("a % in the password is written %25")
			}
			e.Password = Secret(word)
		}
	}
	u, err := url.Parse(address.RedisScheme + where)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("not a URL like rediss://user@host:6379/0")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	e.Addr = net.JoinHostPort(u.Hostname(), port)
	if err := address.Check(e.Addr); err != nil {
		return fmt.Errorf("%s is no port", port)
	}
	if db := strings.TrimPrefix(u.Path, "/"); db != "" {
		if e.DB, err = strconv.Atoi(db); err != nil || e.DB < 0 {
			return fmt.Errorf("%q is no number of a database", db)
		}
	}
	return nil
}

// longestPEM bounds a file of certificates, in bytes: a system's whole bundle is half of it.
const longestPEM = 512 << 10

// readFiles reads the certificates, and checks that they can be used.
func (e *Endpoint) readFiles(c Credentials) error {
	if c.CA == "" && c.Cert == "" && c.Key == "" {
		return nil
	}
	if e.TLS == nil {
		return fmt.Errorf("redis at %s: certificates are for TLS: write %shost:port", e, address.RedisTLSScheme)
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("a client's certificate has two parts: give both --tls-cert and --tls-key")
	}
	for _, file := range []struct {
		path string
		to   *[]byte
	}{{c.CA, &e.TLS.CA}, {c.Cert, &e.TLS.Cert}, {c.Key, &e.TLS.Key}} {
		if file.path == "" {
			continue
		}
		info, err := os.Stat(file.path)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s: not a regular file", file.path)
		case info.Size() > longestPEM:
			return fmt.Errorf("%s: more than %d KiB; give the certificates that are needed only", file.path, longestPEM>>10)
		}
		if *file.to, err = os.ReadFile(file.path); err != nil {
			return err
		}
	}
	if len(e.TLS.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(e.TLS.CA) {
		return fmt.Errorf("%s: no certificate in PEM", c.CA)
	}
	if len(e.TLS.Cert) > 0 {
		if _, err := tls.X509KeyPair(e.TLS.Cert, e.TLS.Key); err != nil {
			return fmt.Errorf("%s, %s: %w", c.Cert, c.Key, err)
		}
	}
	return nil
}

// IsURL says whether a text is the URL of a Redis, whatever follows its scheme.
func IsURL(text string) bool {
	return strings.HasPrefix(text, address.RedisScheme) || strings.HasPrefix(text, address.RedisTLSScheme)
}

// SplitPassword takes the password out of the URL of a Redis. has is false if there is none.
func SplitPassword(text string) (without, password string, has bool) {
	scheme, rest, _ := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if !IsURL(text) || at < 0 {
		return text, "", false
	}
	user, escaped, has := strings.Cut(rest[:at], ":")
	password, err := url.PathUnescape(escaped)
	if !has || err != nil {
		return text, "", false // ParseEndpoint says what is wrong
	}
	where := rest[at+1:]
	if user != "" {
		where = user + "@" + where
	}
	return scheme + "://" + where, password, true
}

// String is the address, as a URL if there is more to say. It shows no password.
func (e Endpoint) String() string {
	if e.User == "" && e.Password == "" && e.DB == 0 && e.TLS == nil {
		return e.Addr
	}
	text := address.RedisScheme
	if e.TLS != nil {
		text = address.RedisTLSScheme
	}
	if e.User != "" || e.Password != "" {
		text += url.PathEscape(e.User)
		if e.Password != "" {
			text += ":***"
		}
		text += "@"
	}
	text += e.Addr
	if e.DB != 0 {
		text += "/" + strconv.Itoa(e.DB)
	}
	return text
}

// Format keeps every verb from printing the fields.
func (e Endpoint) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// sealed is an Endpoint with its secrets.
type sealed struct {
	Addr, User, Password string
	DB                   int
	TLS                  *TLS
}

// Seal writes the endpoint with its secrets into one line, for a pipe to another process of the lab.
func (e Endpoint) Seal() (string, error) {
	text, err := json.Marshal(sealed{e.Addr, e.User, string(e.Password), e.DB, e.TLS})
	return string(text), err
}

// Unseal reads what Seal has written.
func Unseal(text string) (Endpoint, error) {
	var s sealed
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Endpoint{}, errors.New("not a sealed endpoint") // the error of json may quote a secret
	}
	return Endpoint{s.Addr, s.User, Secret(s.Password), s.DB, s.TLS}, nil
}

// CLI is the command line of redis-cli that reaches the server, without its secrets.
func (e Endpoint) CLI() string {
	host, port, err := net.SplitHostPort(e.Addr)
	if err != nil {
		host, port = e.Addr, "6379"
	}
	words := []string{"redis-cli", "-h", host, "-p", port}
	if e.Password != "" {
		words = append([]string{`REDISCLI_AUTH="$LOCKLAB_PASSWORD"`}, words...)
	}
	if e.User != "" {
		words = append(words, "--user", "'"+strings.ReplaceAll(e.User, "'", `'\''`)+"'")
	}
	if e.DB != 0 {
		words = append(words, "-n", strconv.Itoa(e.DB))
	}
	if e.TLS != nil {
		words = append(words, "--tls")
		if len(e.TLS.CA) > 0 {
			words = append(words, "--cacert", "CA.pem")
		}
		if len(e.TLS.Cert) > 0 {
			words = append(words, "--cert", "cert.pem", "--key", "key.pem")
		}
	}
	return strings.Join(words, " ")
}

// greeting is what a connection begins with, and the command of each part.
func (e Endpoint) greeting() (request []byte, asks []string) {
	switch {
	case e.User != "":
		request, asks = resp.AppendCommand(request, "AUTH", e.User, string(e.Password)), append(asks, "AUTH")
	case e.Password != "":
		request, asks = resp.AppendCommand(request, "AUTH", string(e.Password)), append(asks, "AUTH")
	}
	if e.DB != 0 {
		request, asks = resp.AppendCommand(request, "SELECT", strconv.Itoa(e.DB)), append(asks, "SELECT")
	}
	return request, asks
}
