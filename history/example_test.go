package history_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// saved is a history as the lab saves it: a header, then an event a line.
const saved = `{"locklab_history":1,"run":"20260101-000000-0000","cell":"setpx-del.1","lock":"setpx-del","scenario":"turns","base":"2026-01-01T00:00:00Z"}
{"at":1000000,"kind":"open","client":"C1","lock":"lock","detail":{"lease":2000000000}}
{"at":2000000,"kind":"call","client":"C1","op":"acquire","id":1,"lock":"lock"}
{"at":2100000,"kind":"command","client":"C1","op":"acquire","id":1,"lock":"lock","detail":{"command":{"server":"redis","conn":1,"args":["SET","lock","locked","NX","PX","2000"],"reply":"OK","sent":2100000}}}
{"at":2200000,"kind":"return","client":"C1","op":"acquire","id":1,"lock":"lock","outcome":"ok"}
{"at":3000000,"kind":"fault","client":"C1","lock":"lock","detail":{"fault":{"name":"pause","target":"C1","phase":"effective","what":"the process is stopped"}}}
`

// The events of a saved history.
func ExampleRead() {
	file, err := history.Read(context.Background(), strings.NewReader(saved), "history.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Header.Lock, "in", file.Header.Scenario)
	for _, e := range file.Events {
		fmt.Println(e.At, e.Client, e.Kind, e.Op, e.Outcome)
	}
	// Output:
	// setpx-del in turns
	// 1ms C1 open none none
	// 2ms C1 call acquire none
	// 2.1ms C1 command acquire none
	// 2.2ms C1 return acquire ok
	// 3ms C1 fault none none
}

// The commands that reached a server, and the faults.
func ExampleEvent() {
	file, err := history.Read(context.Background(), strings.NewReader(saved), "history.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range file.Events {
		switch e.Kind {
		case history.KindCommand:
			fmt.Println(e.Client, "sent", strings.Join(e.Command().Args, " "), "and got", e.Command().Reply)
		case history.KindFault:
			fmt.Println(e.Fault().Name, "of", e.Fault().Target, "is", e.Fault().Phase)
		}
	}
	// Output:
	// C1 sent SET lock locked NX PX 2000 and got OK
	// pause of C1 is effective
}

// A history that another program has observed is written event by event.
func ExampleNewWriter() {
	var text bytes.Buffer
	w, err := history.NewWriter(&text, history.Header{Cell: "mine.1", Lock: "mine", Scenario: "by hand"})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range []history.Event{
		{At: time.Millisecond, Kind: history.KindOpen, Client: "C1", Lock: "k", Detail: &history.Detail{Lease: time.Second}},
		{At: 2 * time.Millisecond, Kind: history.KindCall, Client: "C1", Lock: "k", Op: history.OpAcquire, ID: 1},
		{At: 3 * time.Millisecond, Kind: history.KindReturn, Client: "C1", Lock: "k", Op: history.OpAcquire, ID: 1, Outcome: history.OK},
	} {
		if err := w.Write(e); err != nil {
			log.Fatal(err)
		}
	}
	os.Stdout.Write(text.Bytes())
	// Output:
	// {"locklab_history":1,"cell":"mine.1","lock":"mine","scenario":"by hand","base":"0001-01-01T00:00:00Z"}
	// {"at":1000000,"kind":"open","client":"C1","lock":"k","detail":{"lease":1000000000}}
	// {"at":2000000,"kind":"call","client":"C1","op":"acquire","id":1,"lock":"k"}
	// {"at":3000000,"kind":"return","client":"C1","op":"acquire","id":1,"lock":"k","outcome":"ok"}
}

// A client's name says which process it is in.
func ExampleProcessOf() {
	fmt.Println(history.ProcessOf("C1"), history.ProcessOf("C1.b"), history.ProcessOf("C1.b/2"))
	// Output:
	// C1 C1 C1
}
