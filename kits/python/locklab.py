"""The protocol of Lock Lab for clients in Python (docs/protocol.md): it needs nothing but the standard library.
Give serve() a class whose objects are locks. Its constructor gets (servers, key, lease), where servers is a list of (host, port) and the
lease is in seconds. Its methods:

    acquire()  True: acquired; False: another client holds it; a number: acquired, and valid for so many seconds
    release()  True: released; False: it was not, or no longer, ours
    ping()     returns when the connections work (optional, but without it many scenarios do not apply)
    renew()    check()    close()    optional; the first two answer like release

Whatever they raise means that the outcome is unknown. self.lost(why), from any thread, says that the lock is no longer held. A notice that
may come late names the hold that it is about: self.lost(why, hold), where hold is what self.hold was during its acquire().

All connections pass a proxy within this process. That is how a cancelled operation stops waiting, whatever the library does.
"""

import json
import os
import queue
import socket
import sys
import threading
import time

PAUSE = 0.02  # seconds between two tries to acquire
OUTPUT = threading.Lock()


def write(**fields):
    with OUTPUT:
        print(json.dumps(fields), flush=True)


def address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


class Proxy:
    """Passes connections on to one server, and can cut all of them."""

    def __init__(self, target):
        self.target, self.pairs, self.shut, self.guard = target, [], False, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self.connect, args=(near,), daemon=True).start()

    def connect(self, near):
        try:
            far = socket.create_connection(self.target)
        except OSError:
            near.close()
            return
        for sock in (near, far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.guard:
            if self.shut:
                near.close()
                far.close()
                return
            self.pairs.append((near, far))
        threading.Thread(target=self.pump, args=(near, far), daemon=True).start()
        self.pump(far, near)
        with self.guard:
            self.pairs.remove((near, far))

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        hang_up(source, sink)

    def cut(self, shut):
        """Ends all connections. Until it is called with shut=False, new ones end at once."""
        with self.guard:
            self.shut = shut
            for pair in self.pairs:
                hang_up(*pair)


def hang_up(*sockets):
    for sock in sockets:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Resource:
    """The store that the work goes to: just enough of the Redis protocol."""

    def __init__(self, target):
        self.target, self.sock = target, None

    def command(self, *words):
        try:
            if self.sock is None:
                self.sock = socket.create_connection(self.target)
                self.replies = self.sock.makefile("rb")
            encoded = [str(word).encode() for word in words]
            self.sock.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
            line = self.replies.readline()
            if not line.endswith(b"\r\n") or line[:1] == b"-":
                raise OSError("resource: " + (line.decode().strip() or "connection lost"))
            if line[:1] != b"$" or line[1:3] == b"-1":
                return None if line[:1] == b"$" else line[1:-2].decode()
            return self.replies.read(int(line[1:]) + 2)[:-2].decode()
        except OSError:
            self.sock = None
            raise


class Operation:
    """A request that takes its time. It is answered once."""

    def __init__(self, request):
        self.request, self.cancelled, self.guard = request, threading.Event(), threading.Lock()
        self.started, self.over, self.answered = False, False, False

    def answer(self, **fields):
        with self.guard:
            if not self.answered:
                self.answered = True
                write(id=self.request["id"], **fields)


class Handle:
    """An open lock. Its operations run in a thread of its own, one after another."""

    def __init__(self, client, request):
        servers = request.get("servers", client.init["servers"])
        resource = request.get("resource", client.init.get("resource"))
        self.resource = Resource(address(resource)) if resource else None
        self.proxies = [Proxy(address(server)) for server in servers]
        self.stale = False  # its connections were cut
        self.busy = threading.Lock()  # one thread at a time uses self.lock
        self.lock = client.make([proxy.address for proxy in self.proxies], request["key"], request["lease_ms"] / 1000)
        self.lock.lost = lambda why="", hold=0: write(lost=request["handle"], why=str(why), hold=hold)
        self.operations = queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            operation = self.operations.get()
            with operation.guard:
                if operation.cancelled.is_set():
                    continue
                operation.started = True
            try:
                with self.busy:
                    fields = self.perform(operation)
            except Exception as error:  # it may have been carried out, or not
                fields = {"outcome": "unknown", "error": repr(error)}
            with operation.guard:  # a cancel that comes later finds nothing to cut
                operation.over, cancelled = True, operation.cancelled.is_set()
                for proxy in self.proxies if cancelled else ():
                    proxy.cut(False)
            self.stale |= cancelled
            operation.answer(**fields)
            if operation.request["do"] == "close":
                return

    def perform(self, operation):
        verb = operation.request["do"]
        if verb == "work":
            return self.work(operation.request)
        if self.stale and verb != "close" and hasattr(self.lock, "ping"):
            self.reconnect()
        if verb == "acquire":
            return self.acquire(operation)
        if verb == "close":
            getattr(self.lock, "close", lambda: None)()
            return {"outcome": "ok"}
        return said(getattr(self.lock, verb)())

    def acquire(self, operation):
        self.lock.hold = operation.request["id"]
        until = time.monotonic() + operation.request.get("within_ms", 0) / 1000
        while True:
            if operation.cancelled.is_set():
                return {"outcome": "unknown", "error": "cancelled"}
            got = self.lock.acquire()
            if got is not False and got is not None or time.monotonic() >= until:
                return said(got)
            operation.cancelled.wait(PAUSE)

    def work(self, request):
        if request.get("workload", "counter") != "counter":
            return {"outcome": "no", "unsupported": True}
        read = int(self.resource.command("GET", request["key"]) or 0)
        answer = {"outcome": "ok", "read": read, "wrote": read + 1}
        try:
            self.resource.command("SET", request["key"], read + 1)
        except OSError as error:
            answer.update(outcome="unknown", error=repr(error))
        return answer

    def reconnect(self):
        for proxy in self.proxies:
            proxy.cut(False)
        for tries in range(5):  # a library may have kept several dead connections
            try:
                self.lock.ping()
                self.stale = False
                return {"outcome": "ok"}
            except Exception as error:
                answer = {"outcome": "no", "error": repr(error)}
        return answer

    def reconnect_if_idle(self):
        if self.busy.acquire(blocking=False):
            try:
                return self.reconnect()
            finally:
                self.busy.release()
        self.stale = True  # an operation, which may wait for long, has the lock: the next one reconnects
        for proxy in self.proxies:
            proxy.cut(False)
        return {"outcome": "ok"}

    def cancel(self, operation):
        with operation.guard:
            operation.cancelled.set()
            for proxy in self.proxies if operation.started and not operation.over else ():
                proxy.cut(True)
            if operation.started and self.resource and self.resource.sock:
                hang_up(self.resource.sock)
        if not operation.started:
            operation.answer(outcome="unknown", error="cancelled before its turn")


class Client:
    def __init__(self, make, hello):
        self.make, self.hello, self.handles, self.operations = make, hello, {}, {}

    def serve(self, request):
        verb = request["do"]
        if verb == "init":
            if request["version"] != self.hello["version"]:
                return {"outcome": "no", "error": "this client speaks version 2 of the protocol"}
            self.init = request
            return {"outcome": "ok", "hello": self.hello}
        if verb == "open":
            self.handles[request["handle"]] = Handle(self, request)
            return {"outcome": "ok"}
        if verb == "cancel":
            handle, operation = self.operations.get(request["op"], (None, None))
            if operation is None or operation.answered:
                return {"outcome": "no", "error": "not under way"}
            handle.cancel(operation)
            return {"outcome": "ok"}
        if verb == "reconnect" and verb in self.hello["verbs"]:
            return self.reconnect(request)
        if verb in ("acquire", "release", "work", "close") or verb in ("renew", "check") and verb in self.hello["verbs"]:
            return self.start(self.handles.get(request["handle"]), request)
        return {"outcome": "no", "unsupported": True, "error": "unknown verb " + verb}

    def start(self, handle, request):
        if handle is None:
            return {"outcome": "no", "error": "this handle is not open"}
        if request["do"] == "close":
            del self.handles[request["handle"]]
        operation = Operation(request)
        self.operations[request["id"]] = handle, operation
        handle.operations.put(operation)
        return None  # its thread answers

    def reconnect(self, request):
        for handle in list(self.handles.values()):
            answer = handle.reconnect_if_idle()
            if answer["outcome"] != "ok":
                return answer
        return {"outcome": "ok"}


def said(got):
    """The answer to what a method of a lock returned."""
    if got is True or got is False or got is None:
        return {"outcome": "ok" if got else "no"}
    return {"outcome": "ok", "valid_ms": got * 1000}


def watch():
    """Tells the lab when its host did not run this process: what is late then is not the lock's fault."""
    while True:
        began, used = time.monotonic(), time.process_time()
        time.sleep(0.01)
        late = time.monotonic() - began - 0.01 - (time.process_time() - used)
        if late > 0.025:
            write(late_ms=late * 1000)


def serve(make, name, about="", promises=None, **traits):
    """Serves until the lab ends it. make is the class of the locks; traits are further fields of hello (renews, servers, fair, …)."""
    verbs = [verb for verb, method in {"renew": "renew", "check": "check", "reconnect": "ping"}.items() if hasattr(make, method)]
    hello = {"version": 2, "name": name, "about": about, "verbs": verbs, "separate": True, **traits}
    if promises is not None:
        hello["promises"] = promises
    client = Client(make, hello)
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
    os._exit(0)  # whatever still waits for a reply is not waited for
