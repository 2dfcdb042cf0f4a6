package jute

import (
	"encoding/binary"
	"time"
)

// The numbers of frames that belong to no request.
const (
	XidEvent = -1 // a watch event of the server
	XidPing  = -2
)

// Op is the number of an operation.
type Op int32

// The operations that the lab treats in their own way.
const (
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpCreateContainer Op = 19
	OpCreateTTL       Op = 21
	OpClose           Op = -11

	lastOp Op = 106 // the greatest number that has a name here
)

// opName is an operation as scripts and histories call it. Variants of one operation have one name.
type opName struct {
	name   string
	path   bool // its first field is a path
	writes bool
	drops  bool // may remove a node
}

func (op Op) about() opName {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		return opName{name: "CREATE", path: true, writes: true}
	case OpDelete, 20: // 20: of a container
		return opName{name: "DELETE", path: true, writes: true, drops: true}
	case OpExists:
		return opName{name: "EXISTS", path: true}
	case OpGetData:
		return opName{name: "GETDATA", path: true}
	case OpSetData:
		return opName{name: "SETDATA", path: true, writes: true}
	case OpGetChildren, OpGetChildren2, 104: // 104: how many there are
		return opName{name: "GETCHILDREN", path: true}
	case 6:
		return opName{name: "GETACL", path: true}
	case OpSetACL:
		return opName{name: "SETACL", path: true, writes: true}
	case OpSync:
		return opName{name: "SYNC", path: true}
	case 13:
		return opName{name: "CHECK", path: true}
	case 18, 17:
		return opName{name: "REMOVEWATCHES", path: true}
	case 106:
		return opName{name: "ADDWATCH", path: true}
	case 101, 105:
		return opName{name: "SETWATCHES"}
	case OpPing:
		return opName{name: "PING"}
	case 100:
		return opName{name: "AUTH"}
	case OpMulti:
		return opName{name: "MULTI", writes: true, drops: true}
	case OpClose:
		return opName{name: "CLOSESESSION", drops: true}
	}
	return opName{name: "UNKNOWN", writes: true, drops: true}
}

// Find finds an operation about a node by its name, in capitals, by which a breakpoint can name it. Of variants it is the first.
func Find(name string) (Op, bool) {
	for op := OpCreate; op <= lastOp; op++ {
		if about := op.about(); about.path && about.name == name {
			return op, true
		}
	}
	return 0, false
}

// Name is the operation's name in capitals: CREATE, DELETE, EXISTS, GETCHILDREN.
func (op Op) Name() string { return op.about().name }

// Writes says whether the operation may change a node, and Drops whether it may remove one.
func (op Op) Writes() bool { return op.about().writes }

// Drops says whether the operation may remove a node.
func (op Op) Drops() bool { return op.about().drops }

// Request is a request of a client within a session.
type Request struct {
	Xid   int32
	Op    Op
	Path  string // empty: the operation names none, or several
	Flags int32  // of CREATE
	Watch bool   // of EXISTS, GETDATA and GETCHILDREN: the client asks to be told of the next change
}

// The bits of Request.Flags.
const (
	FlagEphemeral  = 1
	FlagSequential = 2
)

// DecodeRequest reads a client's frame.
func DecodeRequest(frame []byte) (Request, error) {
	f := payload(frame)
	r := Request{Xid: f.int32(), Op: Op(f.int32())}
	if r.Op.about().path {
		r.Path = f.text()
	}
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		f.text() // the data
		for n := f.int32(); n > 0 && !f.short; n-- {
			f.int32() // the permissions of one entry of the access list, its scheme and its id
			f.text()
			f.text()
		}
		r.Flags = f.int32()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r.Watch = f.bool()
	}
	return r, f.err("a request")
}

// Connect is the first frame of a client.
type Connect struct {
	Session int64 // 0: a new one
	Timeout time.Duration
}

// DecodeConnect reads the first frame of a client.
func DecodeConnect(frame []byte) (Connect, error) {
	f := payload(frame)
	f.int32() // the version
	f.int64() // the last change that the client has seen
	timeout := f.int32()
	c := Connect{Timeout: time.Duration(timeout) * time.Millisecond, Session: f.int64()}
	return c, f.err("the first request")
}

// DecodeConnected reads the first frame of a server. The zero Connect means that the session has expired.
func DecodeConnected(frame []byte) (Connect, error) {
	f := payload(frame)
	f.int32() // the version
	timeout := f.int32()
	c := Connect{Timeout: time.Duration(timeout) * time.Millisecond, Session: f.int64()}
	if timeout <= 0 {
		c = Connect{}
	}
	return c, f.err("the first reply")
}

// Reply is a later frame of a server: the reply to a request, to a ping, or a watch event.
type Reply struct {
	Xid  int32
	Zxid int64
	Code Code
	body *fields
}

// DecodeReply reads the header of a server's frame.
func DecodeReply(frame []byte) (Reply, error) {
	f := payload(frame)
	r := Reply{Xid: f.int32(), Zxid: f.int64(), Code: Code(f.int32()), body: f}
	return r, f.err("a reply")
}

// Path is the path in the reply to CREATE.
func (r Reply) Path() (string, error) {
	f := *r.body
	path := f.text()
	return path, f.err("the reply to CREATE")
}

// Children are the names in the reply to GETCHILDREN.
func (r Reply) Children() ([]string, error) {
	f := *r.body
	names := f.texts()
	return names, f.err("the reply to GETCHILDREN")
}

// Event is a watch event.
type Event struct {
	Kind int32 // 1: created, 2: deleted, 3: data changed, 4: children changed; -1: of the session
	Path string
}

// Event is the watch event in a frame with XidEvent.
func (r Reply) Event() (Event, error) {
	f := *r.body
	e := Event{Kind: f.int32()}
	f.int32() // the state
	e.Path = f.text()
	return e, f.err("an event")
}

// ConnectFrame asks for a new session.
func ConnectFrame(timeout time.Duration) []byte {
	b := make([]byte, 0, 64)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, 0)
	b = appendText(b, string(make([]byte, 16))) // the password of a new session
	return Frame(b)
}

// RequestFrame is a request that takes a path and nothing but defaults. CREATE makes a persistent node without data that everybody may
// change; other operations set no watch, and mind no version.
func RequestFrame(xid int32, op Op, path string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(xid))
	b = binary.BigEndian.AppendUint32(b, uint32(op))
	if op == OpClose {
		return Frame(b)
	}
	b = appendText(b, path)
	switch op {
	case OpCreate:
		b = appendText(b, "")
		b = binary.BigEndian.AppendUint32(b, 1)
		b = binary.BigEndian.AppendUint32(b, 31) // all permissions
		b = appendText(appendText(b, "world"), "anyone")
		b = binary.BigEndian.AppendUint32(b, 0)
	case OpDelete:
		b = binary.BigEndian.AppendUint32(b, 0xffffffff)
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		b = append(b, 0)
	}
	return Frame(b)
}

// Code is the result of a request.
type Code int32

// The results that the lab treats in their own way.
const (
	CodeOK         Code = 0
	CodeNoNode     Code = -101
	CodeNodeExists Code = -110
	CodeExpired    Code = -112
)

func (c Code) Error() string { return "the ZooKeeper answered " + c.String() }

// String is the result's name, in capitals as error replies of Redis are.
func (c Code) String() string {
	switch c {
	case CodeOK:
		return "OK"
	case CodeNoNode:
		return "NONODE"
	case CodeNodeExists:
		return "NODEEXISTS"
	case CodeExpired:
		return "SESSIONEXPIRED"
	case -103:
		return "BADVERSION"
	case -108:
		return "NOCHILDRENFOREPHEMERALS"
	case -111:
		return "NOTEMPTY"
	case -118:
		return "SESSIONMOVED"
	}
	return "ERROR"
}
