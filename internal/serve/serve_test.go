package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/rundir"
)

// served is a server with a run, whose jobs are done by work.
func served(t *testing.T, work func(ctx context.Context, dir string, sink report.Sink) error) *Server {
	t.Helper()
	dir := t.TempDir()
	saveRun(t, filepath.Join(dir, "one"))
	s, err := Listen(Config{Dir: dir, Plan: func(o Order) (*Job, error) {
		to := filepath.Join(dir, o.Scenario)
		return &Job{Dir: to, Run: func(ctx context.Context, sink report.Sink) error { return work(ctx, to, sink) }}, nil
	}}, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.listener.Close()) })
	return s
}

func saveRun(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, rundir.WriteRun(dir, &record.Run{ID: filepath.Base(dir), Command: []string{"run", "<b>"}, Server: "none"}))
}

// ask is what a server answers. change makes the request another one than that of a program with the token.
func ask(s *Server, ctx context.Context, method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Host = s.listener.Addr().String()
	r.Header.Set("Authorization", "Bearer "+s.token)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.handler(ctx).ServeHTTP(w, r)
	return w
}

// Whatever comes from elsewhere is refused, whatever it asks for; what is meant for this server and has its token is not.
func TestOnlyItsOwnPagesAndProgramsWithTheTokenMayAsk(t *testing.T) {
	s := served(t, func(context.Context, string, report.Sink) error { return nil })
	_, port, _ := strings.Cut(s.listener.Addr().String(), ":")
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	for name, test := range map[string]struct {
		change func(*http.Request)
		ok     bool
	}{
		"a program":              {nil, true},
		"by the other name":      {host("localhost:" + port), true},
		"an own page":            {set("Origin", "http://127.0.0.1:"+port), true},
		"foreign host":           {host("evil.example:" + port), false},
		"host that begins alike": {host("127.0.0.1.evil.example:" + port), false},
		"another port":           {host("127.0.0.1:1"), false},
		"no port":                {host("127.0.0.1"), false},
		"no host":                {host(""), false},
		"foreign origin":         {set("Origin", "http://evil.example"), false},
		"origin of another port": {set("Origin", "http://127.0.0.1:1"), false},
		"origin by TLS":          {set("Origin", "https://127.0.0.1:"+port), false},
		"origin of a sandbox":    {set("Origin", "null"), false},
		"no token":               {func(r *http.Request) { r.Header.Del("Authorization") }, false},
		"wrong token":            {set("Authorization", "Bearer "+strings.Repeat("A", len(s.token))), false},
		"empty token":            {set("Authorization", "Bearer "), false},
		"cookie of another": {func(r *http.Request) {
			r.Header.Del("Authorization")
			r.AddCookie(&http.Cookie{Name: s.cookie(), Value: "x"})
		}, false},
		"wrong token in the URL": {func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=x" }, false},
	} {
		for _, to := range []struct{ method, path string }{{"GET", "/"}, {"GET", "/runs/one/"}, {"GET", "/runs/one/run.json"}, {"GET", "/events"}, {"POST", "/start"}, {"POST", "/stop"}, {"GET", "/elsewhere"}} {
			got := ask(s, t.Context(), to.method, to.path, "{", test.change)
			assert.Equal(t, !test.ok, got.Code == http.StatusForbidden, "%s: %s: %d", name, to.path, got.Code)
			if !test.ok {
				assert.NotContains(t, got.Body.String(), "runs/one")
				assert.NotContains(t, got.Body.String(), "version")
				assert.Empty(t, got.Header().Get("Set-Cookie"))
			}
		}
	}
}

// The token in the URL becomes a cookie that only this server gets, and by which the browser is known from then on.
func TestTheTokenBecomesACookie(t *testing.T) {
	s := served(t, nil)
	place := s.URL()[len("http://"+s.listener.Addr().String()):]
	first := ask(s, t.Context(), "GET", place, "", func(r *http.Request) { r.Header.Del("Authorization") })
	assert.Equal(t, http.StatusSeeOther, first.Code)
	assert.Equal(t, "/", first.Header().Get("Location"), "it is not in the address any more")
	cookies := first.Result().Cookies()
	require.Len(t, cookies, 1)
	assert.True(t, cookies[0].HttpOnly)
	then := ask(s, t.Context(), "GET", "/", "", func(r *http.Request) { r.Header.Del("Authorization"); r.AddCookie(cookies[0]) })
	assert.Equal(t, http.StatusOK, then.Code)
	assert.Contains(t, then.Body.String(), `href="/runs/one/"`)
	assert.Contains(t, then.Body.String(), "lab run &#39;&lt;b&gt;&#39;")
	assert.NotContains(t, then.Body.String(), s.token)

	once := s.Once()[len("http://"+s.listener.Addr().String()):]
	for _, want := range []int{http.StatusSeeOther, http.StatusForbidden} {
		got := ask(s, t.Context(), "GET", once, "", func(r *http.Request) { r.Header.Del("Authorization") })
		assert.Equal(t, want, got.Code, "what the opener was given works once")
	}
	empty := ask(s, t.Context(), "GET", "/?token=", "", func(r *http.Request) { r.Header.Del("Authorization") })
	assert.Equal(t, http.StatusForbidden, empty.Code)
}

// A run is data: what a directory brings along is not carried out, and nothing outside it is shown.
func TestFilesOfARunAreOnlyRead(t *testing.T) {
	s := served(t, nil)
	run := filepath.Join(s.config.Dir, "one")
	require.NoError(t, os.WriteFile(filepath.Join(run, rundir.PageFile), []byte("<script>alert(1)</script>"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(s.config.Dir, "secret"), nil, 0o644))
	require.NoError(t, os.Symlink(filepath.Join("..", "secret"), filepath.Join(run, "link")))

	page := ask(s, t.Context(), "GET", "/runs/one/", "", nil)
	assert.Equal(t, http.StatusOK, page.Code)
	assert.NotContains(t, page.Body.String(), "alert(1)", "the page is made anew")
	assert.Contains(t, page.Body.String(), `data-home="/"`)
	policy := page.Header().Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'")
	assert.NotContains(t, policy, "connect-src", "the page of a run asks for nothing")

	file := ask(s, t.Context(), "GET", "/runs/one/"+rundir.PageFile, "", nil)
	assert.Equal(t, "text/plain; charset=utf-8", file.Header().Get("Content-Type"))
	assert.Contains(t, file.Header().Get("Content-Security-Policy"), "sandbox")
	for _, path := range []string{"/runs/one/link", "/runs/one/..%2fsecret", "/runs/..%2fsecret/", "/runs/one/none", "/runs/two/", "/runs/two/run.json"} {
		assert.Equal(t, http.StatusNotFound, ask(s, t.Context(), "GET", path, "", nil).Code, path)
	}
}

// One run goes on at a time. Those who watch it get all of its events, then where its page is; to stop it, or the end of the server, ends it.
func TestARunIsWatchedAndStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := served(t, func(ctx context.Context, dir string, sink report.Sink) error {
		saveRun(t, dir)
		run := &record.Run{}
		if err := sink.Handle(report.Event{Kind: report.RunStart, Run: run, Total: 1}); err != nil {
			return err
		}
		cell := &record.Cell{Lock: "a", Scenario: "b", Storm: &record.Storm{Operations: 7}}
		if err := sink.Handle(report.Event{Kind: report.StormGoesOn, Run: run, Cell: cell, Total: 1}); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	assert.Equal(t, http.StatusNoContent, ask(s, ctx, "GET", "/events", "", nil).Code, "nothing was run yet")
	for _, bad := range []string{"", "{", `{"kind":"scenario","more":1}`} {
		assert.Equal(t, http.StatusBadRequest, ask(s, ctx, "POST", "/start", bad, nil).Code)
	}
	require.Equal(t, http.StatusAccepted, ask(s, ctx, "POST", "/start", `{"kind":"scenario","scenario":"two"}`, nil).Code)
	assert.Contains(t, ask(s, ctx, "GET", "/", "", nil).Body.String(), "data-running")
	busy := ask(s, ctx, "POST", "/start", `{"kind":"scenario","scenario":"three"}`, nil)
	assert.Equal(t, http.StatusConflict, busy.Code)
	assert.Contains(t, busy.Body.String(), "another run goes on")

	require.Equal(t, http.StatusAccepted, ask(s, ctx, "POST", "/stop", "{}", nil).Code)
	watched := ask(s, ctx, "GET", "/events", "", nil) // it comes back when the run has ended
	var kinds []string
	var last end
	for line := range strings.Lines(watched.Body.String()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			require.NoError(t, json.Unmarshal([]byte(text), &last))
			kinds = append(kinds, last.Event)
		}
	}
	assert.Equal(t, []string{"run-start", "storm-goes-on", "end"}, kinds)
	assert.Equal(t, end{Event: "end", Page: "/runs/two/", Stopped: true}, last)
	assert.NotContains(t, ask(s, ctx, "GET", "/", "", nil).Body.String(), "data-running")

	require.Equal(t, http.StatusAccepted, ask(s, ctx, "POST", "/start", `{"kind":"scenario","scenario":"three"}`, nil).Code)
	cancel()
	s.close() // waits for it
	assert.False(t, s.isRunning())
	assert.Equal(t, http.StatusConflict, ask(s, ctx, "POST", "/start", `{"kind":"scenario","scenario":"four"}`, nil).Code)
}

// Named runs are shown alone, each once, with those that are run from then on.
func TestNamedRuns(t *testing.T) {
	s := served(t, nil)
	for _, dir := range []string{"two", "x/one"} {
		saveRun(t, filepath.Join(s.config.Dir, dir))
	}
	in := func(name string) string { return filepath.Join(s.config.Dir, name) }
	require.NoError(t, os.Symlink("one", in("latest")))
	s.shelf.named = []string{in("latest"), in("one"), in("x/one")}
	names := func() (all []string) {
		books, err := s.shelf.books()
		require.NoError(t, err)
		for _, b := range books {
			all = append(all, b.name)
		}
		return all
	}
	assert.Equal(t, []string{"one", "one~2"}, names())
	b, ok := s.shelf.add(in("two"))
	assert.True(t, ok)
	assert.Equal(t, "/runs/two/", b.link())
	assert.Equal(t, []string{"two", "one", "one~2"}, names())
	_, ok = s.shelf.add(in("none"))
	assert.False(t, ok, "it was never begun")
}
