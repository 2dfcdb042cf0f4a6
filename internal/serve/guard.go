package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// newToken is a secret with more than 128 bits.
func newToken() string { return rand.Text() }

var (
	errHost   = errors.New("refused: this is the address of another host; use the one that lab serve prints")
	errOrigin = errors.New("refused: the request is by a page from elsewhere")
	errToken  = errors.New("refused: open the address that lab serve prints, with its token")
)

// guarded lets those requests through that are meant for this server, by one of its own pages or by a program, and have its token: a page from elsewhere
// must neither start something nor read a history, by whatever name it reaches this machine.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		} {
			w.Header().Set(name, value)
		}
		token := r.URL.Query().Get("token")
		switch {
		case !s.isHere(r.Host):
			refuse(w, http.StatusForbidden, errHost)
		case !s.byOwnPage(r.Header.Get("Origin")):
			refuse(w, http.StatusForbidden, errOrigin)
		case r.Method == http.MethodGet && s.redeems(token):
			// From here on the browser has it as a cookie, and it is neither shown nor remembered.
			http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, r.URL.EscapedPath(), http.StatusSeeOther)
		case !s.knows(r):
			refuse(w, http.StatusForbidden, errToken)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// redeems says whether the URL has the token, or the ticket, which is then spent.
func (s *Server) redeems(given string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ticket != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.ticket)) == 1 {
		s.ticket = ""
		return true
	}
	return s.isToken(given)
}

// isHere says whether a host, with or without a port, is this server.
func (s *Server) isHere(host string) bool {
	_, own, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return false
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "80"
	}
	return port == own && (name == "127.0.0.1" || strings.EqualFold(name, "localhost"))
}

// byOwnPage says whether an origin is that of this server's pages; programs name none.
func (s *Server) byOwnPage(origin string) bool {
	if origin == "" {
		return true
	}
	from, err := url.Parse(origin)
	return err == nil && from.Scheme == "http" && s.isHere(from.Host)
}

// knows says whether a request has the token: as a browser that had it once, or as a program, in the header "Authorization: Bearer …".
func (s *Server) knows(r *http.Request) bool {
	if cookie, err := r.Cookie(s.cookie()); err == nil && s.isToken(cookie.Value) {
		return true
	}
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && s.isToken(bearer)
}

func (s *Server) isToken(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

// cookie is the name of the cookie: browsers do not tell the ports of a host apart.
func (s *Server) cookie() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return "locklab-" + port
}
