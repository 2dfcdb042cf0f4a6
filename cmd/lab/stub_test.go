package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// stub is a client that behaves in one way badly, which its argument names, and well up to then. What clients do that mean harm is in
// internal/hostile.
func stub() {
	misconduct := os.Args[1]
	if misconduct == "dies" {
		fmt.Fprintln(os.Stderr, "no luck today")
		os.Exit(7)
	}
	var server string
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		req, err := protocol.DecodeRequest(requests.Bytes())
		if err != nil {
			panic(err)
		}
		switch {
		case misconduct == "is-silent":
		case misconduct == req.Do+"-dies":
			os.Exit(0)
		case misconduct == "sends" && req.Do == protocol.Acquire:
			send(server, os.Args[2:])
			answer(req, misconduct)
		case misconduct == "answers-twice" && req.Do == protocol.Acquire:
			answer(req, misconduct)
			answer(req, misconduct)
		case misconduct == "knows-nothing" && req.Do != protocol.Init && req.Do != protocol.Exit:
			fmt.Printf(`{"id":%d,"unsupported":true}`+"\n", req.ID)
		default:
			answer(req, misconduct)
		}
		if req.Do == protocol.Init {
			server = req.Servers[0]
		}
	}
}

// answer says ok, whatever is asked.
func answer(req protocol.Request, misconduct string) {
	reply := protocol.Message{ID: req.ID, Outcome: protocol.OK}
	if misconduct == "refuses" && req.Do == protocol.Acquire {
		reply.Outcome = protocol.No
	}
	if req.Do == protocol.Init {
		reply.Hello = &protocol.Hello{Version: protocol.Version, Name: "stub"}
		switch {
		case misconduct == "version":
			reply.Hello.Version = 3
		case misconduct == "named":
			reply.Hello.Name = os.Args[2]
		case misconduct == "promises":
			reply.Hello.Promises = os.Args[2:]
		case misconduct == "permits":
			reply.Hello.Permits = 5
		case misconduct == "slow":
			reply.Hello.MinLeaseMS = 5000
		case misconduct == "old" && req.Version != 1:
			reply = protocol.Message{ID: req.ID, Outcome: protocol.No, Error: "what is that?"}
		case misconduct == "old":
			reply.Hello = &protocol.Hello{Version: 1, Name: "stub 1.0, of old"}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(reply); err != nil {
		os.Exit(1)
	}
	if req.Do == protocol.Exit {
		os.Exit(0)
	}
}

// send sends a command to a server, and waits for the answer or the end of the connection.
func send(addr string, command []string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(word), word)
	}
	_, _ = bufio.NewReader(conn).ReadString('\n')
}
