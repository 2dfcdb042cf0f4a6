package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// The types are those of OTLP's ExportTraceServiceRequest in JSON: times and whole numbers of 64 bits are strings, enumerations are numbers, and IDs
// are in hexadecimal.
type otlpRequest struct {
	ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
}

type otlpResourceSpans struct {
	Resource struct {
		Attributes []otlpAttribute `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
}

type otlpScopeSpans struct {
	Scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	} `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	ParentID   string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
	Events     []otlpEvent     `json:"events,omitempty"`
	Status     *otlpStatus     `json:"status,omitempty"`
}

type otlpEvent struct {
	At         string          `json:"timeUnixNano"`
	Name       string          `json:"name"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
}

type otlpStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

type otlpAttribute struct {
	Key   string `json:"key"`
	Value struct {
		String *string `json:"stringValue,omitempty"`
		Int    string  `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	} `json:"value"`
}

// The kinds of spans, and the code of a status, that are used.
const (
	spanInternal = 1
	spanServer   = 2
	spanClient   = 3
	statusError  = 2
)

// spanner gathers the spans of a cell, by the service that they belong to.
type spanner struct {
	cell     *Cell
	trace    string
	services []string
	spans    map[string][]otlpSpan
}

// writeOTLP writes one trace: the cell, with the operations of its clients as children. Commands are children of their operations, and what a server did is one
// of its command.
func writeOTLP(w io.Writer, c *Cell) error {
	s := &spanner{cell: c, trace: digest(16, c.name(), strconv.Itoa(c.Round), c.Base.String()), spans: map[string][]otlpSpan{}}
	s.root()
	s.operations()
	s.commands()
	s.others()
	var request otlpRequest
	for _, service := range s.services {
		var r otlpResourceSpans
		r.Resource.Attributes = []otlpAttribute{text("service.name", service), text("locklab.lock", c.Lock), text("locklab.scenario", c.Scenario)}
		r.ScopeSpans = []otlpScopeSpans{{Spans: s.spans[service]}}
		r.ScopeSpans[0].Scope.Name, r.ScopeSpans[0].Scope.Version = "github.com/locklab/locklab", c.Lab
		request.ResourceSpans = append(request.ResourceSpans, r)
	}
	return json.NewEncoder(w).Encode(request)
}

// digest is an ID of so many bytes that is the same for the same words.
func digest(size int, words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:size])
}

func (s *spanner) id(kind string, n int) string { return digest(8, s.trace, kind, strconv.Itoa(n)) }

func (s *spanner) time(at time.Duration) string {
	return strconv.FormatInt(s.cell.Base.Add(at).UnixNano(), 10)
}

// add adds a span of a service.
func (s *spanner) add(service string, span otlpSpan, from, to time.Duration) {
	if !slices.Contains(s.services, service) {
		s.services = append(s.services, service)
	}
	span.TraceID, span.Start, span.End = s.trace, s.time(from), s.time(max(from, to))
	s.spans[service] = append(s.spans[service], span)
}

func (s *spanner) root() {
	c := s.cell
	span := otlpSpan{SpanID: s.id("cell", 0), Name: c.name(), Kind: spanInternal, Attributes: []otlpAttribute{text("locklab.verdict", c.Verdict.String()), whole("locklab.round", int64(c.Round))}}
	for i := range c.Events {
		switch c.Events[i].Kind {
		case history.KindStep, history.KindFinal, history.KindEnd, history.KindOpen, history.KindLost, history.KindValid, history.KindExit:
			words := c.words(i)
			span.Events = append(span.Events, otlpEvent{s.time(c.Events[i].At), words.Text, []otlpAttribute{text("locklab.kind", c.Events[i].Kind.String()), text("locklab.client", words.Lane)}})
		}
	}
	for _, a := range c.Verdict.Anomalies {
		span.Status = &otlpStatus{statusError, c.Verdict.String()}
		span.Events = append(span.Events, otlpEvent{s.time(a.At), string(a.Name), []otlpAttribute{text("locklab.why", a.Why)}})
	}
	s.add(labHost, span, 0, c.end())
}

func (s *spanner) operations() {
	for n, o := range s.cell.timeline().Operations {
		span := otlpSpan{SpanID: s.id("operation", n), ParentID: s.id("cell", 0), Name: o.Op.String(), Kind: spanInternal, Attributes: []otlpAttribute{
			text("locklab.client", o.Client), text("locklab.lock_key", o.Lock), whole("locklab.operation", o.ID), text("locklab.outcome", o.Outcome.String()),
		}}
		if o.Outcome == history.Unknown {
			span.Status = &otlpStatus{statusError, "the outcome is not known"}
		}
		s.add(ofClient+history.ProcessOf(o.Client), span, o.Began, s.cell.until(o.Span))
	}
}

// commands adds a span at the client and one at the server for each command.
func (s *spanner) commands() {
	parents := map[int]string{}
	for n, o := range s.cell.timeline().Operations {
		for _, command := range o.Commands {
			parents[command] = s.id("operation", n)
		}
	}
	var room history.Room
	for i := range s.cell.Events {
		e := &s.cell.Events[i]
		c := e.CommandIn(&room)
		if c == nil {
			continue
		}
		parent := parents[i]
		if parent == "" {
			parent = s.id("cell", 0)
		}
		span := otlpSpan{ParentID: parent, Name: c.Args[0], Attributes: []otlpAttribute{
			text("db.operation.name", c.Args[0]), text("db.query.text", strings.Join(c.Args, " ")), text("server.address", c.Server), text("locklab.client", e.Client),
			text("locklab.reply", c.Reply), text("locklab.what", s.cell.words(i).Text), flag("locklab.late", c.Late), flag("locklab.again", c.Again), flag("locklab.reply_dropped", c.ReplyDropped),
		}}
		if byClient(e, c) {
			atClient := span
			atClient.SpanID, atClient.Kind = s.id("request", i), spanClient
			s.add(ofClient+history.ProcessOf(e.Client), atClient, sent(e, c), e.At)
			span.ParentID = atClient.SpanID
		}
		span.SpanID, span.Kind = s.id("command", i), spanServer
		if c.Failed() {
			span.Status = &otlpStatus{statusError, c.Reply}
		}
		s.add(ofServer+c.Server, span, sent(e, c), e.At)
	}
}

// others adds holds and faults.
func (s *spanner) others() {
	line := s.cell.timeline()
	for n, h := range line.Holds {
		s.add(ofClient+history.ProcessOf(h.Client), otlpSpan{SpanID: s.id("hold", n), ParentID: s.id("cell", 0), Name: "holds " + h.Lock, Kind: spanInternal,
			Attributes: []otlpAttribute{text("locklab.client", h.Client), text("locklab.end", h.End.String())}}, h.Began, s.cell.until(h.Span))
	}
	for n, f := range line.Faults {
		s.add(labHost, otlpSpan{SpanID: s.id("fault", n), ParentID: s.id("cell", 0), Name: fmt.Sprintf("%s of %s", f.Kind, f.Target), Kind: spanInternal,
			Attributes: []otlpAttribute{text("locklab.target", f.Target), text("locklab.what", f.What), flag("locklab.struck", f.Effective >= 0)}}, f.Began, s.cell.until(f.Span))
	}
}

func text(key, value string) (a otlpAttribute) {
	a.Key, a.Value.String = key, &value
	return a
}

func whole(key string, n int64) (a otlpAttribute) {
	a.Key, a.Value.Int = key, strconv.FormatInt(n, 10)
	return a
}

func flag(key string, is bool) (a otlpAttribute) {
	a.Key, a.Value.Bool = key, &is
	return a
}
