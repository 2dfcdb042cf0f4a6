"""The protocol of Lock Lab for clients in Python (docs/protocol.md): it needs nothing but the standard library.
Give serve() a class of locks. Its constructor gets (servers, key, lease): a list of (host, port), and seconds. Its methods:

    acquire()  True: acquired; False: another client holds it; a number: valid for so many seconds; {"fence": 7, "valid_ms": 950}: with these fields
    release()  True: released; False: it was not, or no longer, ours
    ping()     returns when the connections work (optional, but without it many scenarios do not apply)
    renew()    check()    close()    optional; the first two answer like release
    wait(s)    optional: acquires within s seconds in the library's own way, such as a queue; without it acquire() is tried again and again
    cancel()   optional, from another thread: has the operation under way give up; True: it does, and cleans up, over the connections that it has
    keys       optional: what its keys on its server are called, if not as the one that it is given; need: "majority" if that is enough
Whatever they raise means that the outcome is unknown. From any thread, self.lost(why) says that the lock is no longer held, and self.valid(s) that
it is valid for s seconds from now. A loss that may be told late names its hold: self.lost(why, hold), with what self.hold was during its acquire().
"""

import json
import os
import queue
import socket
import sys
import threading
import time
from contextlib import suppress

OUTPUT = threading.Lock()
FENCED = """if tonumber(redis.call("GET", KEYS[1]) or 0) > tonumber(ARGV[1]) then return redis.error_reply("STALEFENCE a greater one was seen") end
redis.call("SET", KEYS[1], ARGV[1]) return ARGV[2] and redis.call("SET", KEYS[2], ARGV[2])"""  # what the resource compares a fence by
GRACE = 1  # seconds in which an operation that its library gives up must end; then its connections are cut


def write(**fields):
    with OUTPUT:
        print(json.dumps(fields), flush=True)


def said(got, **fields):
    """The answer to what a method of a lock returned. After an error the outcome is unknown."""
    if isinstance(got, Exception):
        return {"outcome": "unknown", "error": repr(got)}
    if got is True or got is False or got is None:
        return {"outcome": "ok" if got else "no", **fields}
    return {"outcome": "ok", **(got if isinstance(got, dict) else {"valid_ms": got * 1000})}


def address(text):
    host, port = text.split("://")[-1].rsplit(":", 1)
    return host.strip("[]"), int(port)


class Proxy:
    """Passes connections on to one server, and can cut all of them: a cancelled operation stops waiting, whatever the library does."""

    def __init__(self, target):
        self.target, self.pairs, self.shut, self.guard = target, [], False, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with suppress(OSError), self.listener:  # until the handle is closed
            while True:
                threading.Thread(target=self.connect, args=(self.listener.accept()[0],), daemon=True).start()

    def connect(self, near):
        try:
            far = socket.create_connection(self.target)
        except OSError:
            return near.close()
        for sock in (near, far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.guard:
            self.pairs.append((near, far))
            if self.shut:
                hang_up(near, far)
        threading.Thread(target=self.pump, args=(near, far), daemon=True).start()
        self.pump(far, near)
        with self.guard:
            self.pairs.remove((near, far))

    def pump(self, source, sink):
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        hang_up(source, sink)

    def cut(self, shut):
        """Ends all connections. Until it is called with shut=False, new ones end at once."""
        with self.guard:
            self.shut = shut
            for pair in self.pairs:
                hang_up(*pair)


def hang_up(*sockets):
    for sock in sockets:
        with suppress(OSError):  # it broke by itself
            sock.shutdown(socket.SHUT_RDWR)


class Resource:
    """The store that the work goes to: just enough of the Redis protocol."""

    def __init__(self, target):
        self.target, self.sock = target, None

    def connect(self):
        if self.sock is None:
            self.sock = socket.create_connection(self.target)
            self.replies = self.sock.makefile("rb")

    def command(self, *words):
        try:
            self.connect()
            encoded = [str(word).encode() for word in words]
            self.sock.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
            line = self.replies.readline()
            if not line.endswith(b"\r\n") or line[:1] == b"-":
                raise OSError("resource: " + (line.decode().strip() or "connection lost"))
            if line[:1] != b"$":
                return line[1:-2].decode()
            return None if line[1:3] == b"-1" else self.replies.read(int(line[1:]) + 2)[:-2].decode()
        except OSError:
            self.sock = None
            raise


class Operation:
    """A request that takes its time: it waits for its turn, runs, and is over. It is answered once."""

    def __init__(self, handle, request, all):
        self.handle, self.request, self.all, self.cancelled = handle, request, all, threading.Event()
        self.state, self.shut, self.guard = "waits", False, threading.RLock()

    def begin(self):
        with self.guard:
            self.state = "runs" if self.state == "waits" else self.state
            return self.state == "runs"

    def end(self, fields):
        with self.guard:
            if self.state == "runs" and self.cancelled.is_set():
                self.handle.resource.sock = None  # it was hung up
            self.state = "over"
            if self.shut:
                self.handle.cut(False)
        self.all.pop(self.request["id"], None)
        write(id=self.request["id"], **fields)

    def cancel(self):
        with self.guard:
            before = self.state
            self.cancelled.set()
            if before == "waits":
                self.end(said(InterruptedError("cancelled before its turn")))
            elif before == "runs":  # its thread answers
                own = getattr(self.handle.lock, "cancel", lambda: False)()
                threading.Timer(GRACE if own else 0, self.break_off, [not own]).start()
                hang_up(*filter(None, [self.handle.resource.sock]))
        return before != "over"

    def break_off(self, shut):
        with self.guard:
            if self.state == "runs":
                self.shut = shut
                self.handle.cut(shut)


class Handle:
    """An open lock. Its operations run in a thread of its own, one after another."""

    def __init__(self, client, request):
        self.resource = Resource(address(request.get("resource", client.init.get("resource", ":0"))))
        self.proxies = [Proxy(address(server)) for server in request.get("servers", client.init["servers"])]
        self.stale, self.busy, self.fence = False, threading.Lock(), None  # stale: its connections were cut; busy: a thread uses self.lock
        self.lock = client.make([proxy.listener.getsockname() for proxy in self.proxies], request["key"], request["lease_ms"] / 1000)
        self.name, self.guard, self.kept = request["handle"], threading.Lock(), None  # kept: notices during an acquire, which come behind its answer
        self.lock.lost = lambda why="", hold=0: self.notice(lambda: {"lost": self.name, "why": str(why), "hold": hold})
        self.lock.valid = self.valid
        self.operations = queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def valid(self, seconds):
        until = time.monotonic() + seconds
        self.notice(lambda: {"valid": self.name, "valid_ms": (until - time.monotonic()) * 1000})

    def notice(self, notice):
        with self.guard:
            if self.kept is None:
                write(**notice())
            else:
                self.kept.append(notice)

    def run(self):
        while True:
            if not (operation := self.operations.get()).begin():
                continue
            with self.guard:
                self.kept = [] if operation.request["do"] == "acquire" else None
            try:
                with self.busy:
                    fields = self.perform(operation)
                self.fence = fields.get("fence", self.fence)
            except Exception as error:  # it may have been carried out, or not
                fields = said(error)
            operation.end(fields)
            with self.guard:
                for notice in self.kept or []:
                    write(**notice())
                self.kept = None
            if operation.request["do"] == "close":
                return

    def perform(self, operation):
        verb = operation.request["do"]
        if verb == "work":
            return self.work(operation)
        if verb == "close":
            getattr(self.lock, "close", lambda: None)()
            hang_up(*[proxy.listener for proxy in self.proxies])  # what it has connected, the lock ends itself
            return said(True)
        if self.stale and hasattr(self.lock, "ping"):
            self.refresh()
        return self.acquire(operation) if verb == "acquire" else said(getattr(self.lock, verb)())

    def acquire(self, operation):
        self.lock.hold, within = operation.request["id"], operation.request.get("within_ms", 0) / 1000
        if within and hasattr(self.lock, "wait"):
            return said(self.lock.wait(within))
        until = time.monotonic() + within
        while not operation.cancelled.is_set():
            got = self.lock.acquire()
            if got is not False and got is not None or time.monotonic() >= until:
                return said(got)
            operation.cancelled.wait(0.02)
        return said(InterruptedError("cancelled"))

    def work(self, operation):
        if operation.request.get("workload", "counter") != "counter":
            return said(False, error="unknown workload", unsupported=True)
        key, fence, fields = operation.request["key"], self.fence, said(True)
        try:
            self.resource.connect()
            if operation.cancelled.is_set():  # before there was a connection to hang up
                raise InterruptedError("cancelled")
            if fence is not None:
                self.resource.command("EVAL", FENCED, 1, key + ":fence", fence)
            fields.update(read=(read := int(self.resource.command("GET", key) or 0)), wrote=read + 1)
            self.resource.command(*(["EVAL", FENCED, 2, key + ":fence", key, fence] if fence is not None else ["SET", key]), fields["wrote"])
        except OSError as error:
            fields.update(said(False, error=str(error)) if "STALEFENCE" in str(error) else said(error))
        return fields

    def cut(self, shut):
        self.stale = True
        for proxy in self.proxies:
            proxy.cut(shut)

    def refresh(self):
        """Returns the error if the connections do not work. A library may have kept several dead ones."""
        for tries in range(5):
            try:
                self.lock.ping()
                self.stale = False
                return None
            except Exception as error:
                last = error
        return last


class Client:
    def __init__(self, make, hello):
        self.make, self.hello, self.handles, self.operations = make, hello, {}, {}

    def serve(self, request):
        verb = request["do"]
        if verb == "init":
            self.init = request
            return {"outcome": "ok", "hello": self.hello} if request["version"] == 2 else said(False, error="this client speaks version 2 of the protocol")
        if verb == "open":
            handle = self.handles[request["handle"]] = Handle(self, request)
            return {**said(True), "keys": getattr(handle.lock, "keys", []), "need": getattr(handle.lock, "need", "all")}
        if verb == "cancel":
            operation = self.operations.get(request["op"])
            return said(True) if operation and operation.cancel() else said(False, error="not under way")
        if verb == "reconnect" and verb in self.hello["verbs"]:
            for handle in self.handles.values():
                handle.cut(False)
            return threading.Thread(target=self.reconnect, args=(request["id"], [*self.handles.values()]), daemon=True).start()
        if verb not in ["acquire", "release", "work", "close", *self.hello["verbs"]] or "wait" in request:
            return said(False, error="unknown verb " + verb, unsupported=True)
        if request["handle"] not in self.handles:
            return said(False, error="this handle is not open")
        handle = self.handles[request["handle"]] if verb != "close" else self.handles.pop(request["handle"])
        self.operations[request["id"]] = operation = Operation(handle, request, self.operations)
        handle.operations.put(operation)  # its thread answers

    def reconnect(self, number, handles):
        """Answers when the libraries have new connections, unless an operation has the lock: it finds them ended itself."""
        answer = said(True)
        for handle in handles:
            if handle.busy.acquire(blocking=False):
                answer = said(False, error=repr(error)) if (error := handle.refresh()) else answer
                handle.busy.release()
        write(id=number, **answer)


def watch():
    """Tells the lab when its host did not run this process: what is late then is not the lock's fault."""
    while True:
        began, used = time.monotonic(), time.process_time()
        time.sleep(0.01)
        if (late := time.monotonic() - began - 0.01 - (time.process_time() - used)) > 0.025:
            write(late_ms=late * 1000)


def serve(make, name, about="", **traits):
    """Serves until the lab ends it. make is the class of the locks; traits are further fields of hello (promises, renews, servers, fair, …)."""
    verbs = [verb for verb, method in {"renew": "renew", "check": "check", "reconnect": "ping"}.items() if hasattr(make, method)]
    client = Client(make, {"version": 2, "name": name, "about": about, "verbs": verbs, "separate": True, **traits})
    threading.Thread(target=watch, daemon=True).start()
    for request in map(json.loads, sys.stdin):
        if request["do"] == "exit":
            write(id=request["id"], outcome="ok")
            break
        try:
            if answer := client.serve(request):
                write(id=request["id"], **answer)
        except Exception as error:
            write(id=request["id"], **said(False, error=repr(error)))
    os._exit(0)  # whatever still waits for a reply is not waited for
