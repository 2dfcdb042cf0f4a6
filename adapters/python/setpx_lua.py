#!/usr/bin/env python3
"""A client for Lock Lab in Python: SET NX PX with a token, released by a script.

It speaks the protocol of docs/protocol.md on its standard input and output:

    lab run --client 'python3 adapters/python/setpx_lua.py'

To try a lock of your own, replace the class Lock; the rest is the protocol.
"""

import json
import os
import queue
import socket
import sys
import threading
import time
import uuid

import redis

RELEASE = """if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0"""

WORKLOADS = ["counter", "stock", "ledger"]

PAUSE = 0.02  # seconds between two tries to acquire

TICK = 0.01  # seconds between two looks at the clock
LATE = 0.025  # seconds by which a look must be late for the lab to be told


class Lock:
    """The lock under test. Its methods return True or False; whatever they raise means that the outcome is unknown."""

    def __init__(self, command, key, lease_ms):
        self.command = command
        self.key = key
        self.lease_ms = lease_ms
        self.token = ""

    def acquire(self):
        token = uuid.uuid4().hex
        held = self.command("SET", self.key, token, "NX", "PX", int(self.lease_ms)) is not None
        if held:
            self.token = token
        return held

    def release(self):
        return self.command("EVAL", RELEASE, 1, self.key, self.token) == 1

    def check(self):
        return self.command("GET", self.key) == self.token


class GivenUp(Exception):
    """The lab cancelled the operation."""


class Operation:
    """A request that takes its time. It is answered once."""

    def __init__(self, request):
        self.request = request
        self.given_up = threading.Event()
        self.started = False
        self.answered = False
        self.guard = threading.Lock()

    def answer(self, **fields):
        with self.guard:
            if not self.answered:
                self.answered = True
                write(id=self.request["id"], **fields)


class Handle:
    """An open lock. Its operations run in a thread of its own, one after another."""

    def __init__(self, client, request):
        resource = request.get("resource", client.resource)
        self.server = client.connect(request.get("servers", [client.server])[0])
        self.resource = client.connect(resource) if resource else None
        self.name = client.name
        self.lock = Lock(self.command, request["key"], request["lease_ms"])
        self.operations = queue.Queue()
        self.current = None
        self.stale = threading.Event()  # the lab has broken the connections
        threading.Thread(target=self.run, daemon=True).start()

    def command(self, *args):
        return self.send(self.server, *args)

    def send(self, server, *args):
        if self.current.given_up.is_set():
            raise GivenUp()
        return server.execute_command(*args)

    def run(self):
        while True:
            operation = self.operations.get()
            with operation.guard:
                operation.started = True
                self.current = operation
                if operation.answered:
                    continue
            if self.stale.is_set():
                self.stale.clear()
                self.disconnect()  # the next command connects anew
            try:
                fields = self.perform(operation)
            except GivenUp:
                fields = {"outcome": "unknown", "error": "given up"}
            except Exception as error:  # the reply is lost: it may have been carried out, or not
                fields = {"outcome": "unknown", "error": repr(error)}
            operation.answer(**fields)
            if operation.given_up.is_set():
                self.disconnect()  # hung up, perhaps a moment too late to matter; the next command connects anew
            if operation.request["do"] == "close":
                return

    def perform(self, operation):
        verb = operation.request["do"]
        if verb == "acquire":
            return said(self.acquire(operation))
        if verb == "release":
            return said(self.lock.release())
        if verb == "check":
            return said(self.lock.check())
        if verb == "work":
            return self.work(operation.request)
        self.disconnect()  # close
        return said(True)

    def acquire(self, operation):
        until = time.monotonic() + operation.request.get("within_ms", 0) / 1000
        while not self.lock.acquire():
            if time.monotonic() >= until:
                return False
            operation.given_up.wait(PAUSE)
        return True

    def work(self, request):
        if self.resource is None:
            return {"outcome": "no", "error": "init named no resource"}
        workload = request.get("workload", "counter")
        if workload not in WORKLOADS:
            return {"outcome": "no", "unsupported": True, "error": "unknown workload " + workload}
        return getattr(self, workload)(request["key"])

    def counter(self, key):
        read = int(self.send(self.resource, "GET", key) or 0)
        return self.write(read, read + 1, ("SET", key, read + 1))

    def stock(self, key):
        read = int(self.send(self.resource, "GET", key) or 0)
        if read <= 0:
            return {"outcome": "no", "error": "sold out"}
        return self.write(read, read - 1, ("SET", key + ":database", read - 1), ("SET", key, read - 1))

    def ledger(self, key):
        last = self.send(self.resource, "LINDEX", key, -1)
        read = int(last.split()[0]) if last else 0
        return self.write(read, read + 1, ("RPUSH", key, f"{read + 1} after {read} by {self.name}"))

    def write(self, read, wrote, *commands):
        answer = {"outcome": "ok", "read": read, "wrote": wrote}
        try:
            for command in commands:
                self.send(self.resource, *command)
        except Exception as error:
            answer.update(outcome="unknown", error=repr(error))
        return answer

    def give_up(self, operation):
        operation.given_up.set()
        with operation.guard:
            if operation.started and not operation.answered:
                hang_up(self.server)
                hang_up(self.resource)
                return  # its thread answers
        operation.answer(outcome="unknown", error="given up before its turn")

    def disconnect(self):
        for server in (self.server, self.resource):
            if server is not None:
                server.connection.disconnect()


class Client:
    """What the lab talks to."""

    def __init__(self):
        self.handles = {}
        self.operations = {}  # by id, with their handles

    def serve(self, request):
        verb = request["do"]
        if verb == "init":
            return self.init(request)
        if verb == "open":
            self.handles[request["handle"]] = Handle(self, request)
            return said(True)
        if verb == "cancel":
            return self.cancel(request)
        if verb == "reconnect":
            return self.reconnect()
        if verb in ("acquire", "release", "check", "work", "close"):
            return self.start(request)
        return {"outcome": "no", "unsupported": True, "error": "unknown verb " + verb}

    def init(self, request):
        if request.get("version") != 2:
            return {"outcome": "no", "error": "this client speaks version 2 of the protocol"}
        self.name = request.get("client", "")
        self.db = request.get("db", 0)
        self.timeout = request.get("timeout_ms", 30000) / 1000
        self.server = request["servers"][0]
        self.resource = request.get("resource")
        self.connect(self.server).ping()
        hello = {
            "version": 2, "name": "setpx-lua-py", "about": "SET NX PX with a token, on redis-py " + redis.__version__,
            "promises": ["exclusion", "release-by-owner", "crash-safe", "ignores-clocks"], "verbs": ["check", "reconnect"], "workloads": WORKLOADS, "separate": True,
        }
        return {"outcome": "ok", "hello": hello}

    def connect(self, address):
        host, port = address.rsplit(":", 1)
        return redis.Redis(
            host=host.strip("[]"), port=int(port), db=self.db, decode_responses=True, single_connection_client=True,
            socket_timeout=self.timeout, socket_connect_timeout=self.timeout,
        )

    def reconnect(self):
        for handle in self.handles.values():
            handle.stale.set()
        self.connect(self.server).ping()
        return said(True)

    def start(self, request):
        handle = self.handles.get(request.get("handle"))
        if handle is None:
            return {"outcome": "no", "error": "this handle is not open"}
        if request["do"] == "close":
            del self.handles[request["handle"]]
        operation = Operation(request)
        self.operations[request["id"]] = handle, operation
        handle.operations.put(operation)
        return None  # its thread answers

    def cancel(self, request):
        handle, operation = self.operations.get(request["op"], (None, None))
        if operation is None or operation.answered:
            return {"outcome": "no", "error": "this operation is not under way"}
        handle.give_up(operation)
        return said(True)


OUTPUT = threading.Lock()


def hang_up(server):
    """Ends another thread's wait for a reply. redis-py has no public way to; its disconnect() is for the thread itself."""
    sock = server and server.connection._sock
    if sock:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it broke by itself


def said(yes):
    return {"outcome": "ok" if yes else "no"}


def write(**fields):
    with OUTPUT:
        print(json.dumps(fields), flush=True)


def watch():
    """Tells the lab when its host did not run this process: what is late then is not the lock's fault. Time that the process itself used is."""
    while True:
        began, used = time.monotonic(), time.process_time()
        time.sleep(TICK)
        late = time.monotonic() - began - TICK - (time.process_time() - used)
        if late > LATE:
            try:
                write(late_ms=late * 1000)
            except OSError:
                return  # the lab is gone


def main():
    client = Client()
    threading.Thread(target=watch, daemon=True).start()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "exit":
            write(id=request["id"], outcome="ok")
            break
        try:
            answer = client.serve(request)
        except Exception as error:
            answer = {"outcome": "no", "error": repr(error)}
        if answer is not None:
            write(id=request["id"], **answer)
    sys.stdout.flush()
    os._exit(0)  # whatever still waits for a reply is not waited for


if __name__ == "__main__":
    main()
