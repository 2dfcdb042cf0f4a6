package network

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

// served is toxiproxy's API, served by this process.
type served struct {
	api  *toxiproxy.ApiServer
	http *http.Server
	url  string
	done chan error
}

func serve() (*served, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve toxiproxy's API: %w", err)
	}
	toxics.Register("latency", new(latency))
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	s := &served{
		api: api,
		http: &http.Server{
			Handler:           api.Routes(),
			ReadHeaderTimeout: patience,
			IdleTimeout:       time.Minute,
			ErrorLog:          log.New(io.Discard, "", 0),
		},
		url:  "http://" + listener.Addr().String(),
		done: make(chan error, 1),
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

func (s *served) close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, s.api.Collection.Clear())
}

// libraryVersion is the version of the built-in toxiproxy, whose own variable is set only in released binaries.
func libraryVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/Shopify/toxiproxy/v2" {
			return m.Version
		}
	}
	return ""
}
