#!/usr/bin/env python3
"""The lock to mend. Edit this file; locklab.py is the protocol."""

import threading
import uuid
from contextlib import suppress

import redis

import locklab

RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.key, self.lease = servers[0], key, lease
        self.redis = redis.Redis(host, port, decode_responses=True, single_connection_client=True)
        self.renewals = redis.Redis(host, port, decode_responses=True, single_connection_client=True)
        self.token, self.stop = "", threading.Event()

    def acquire(self):
        token = uuid.uuid4().hex
        held = self.redis.set(self.key, token, nx=True, px=int(self.lease * 1000)) is not None
        if held:
            self.token, self.stop = token, threading.Event()
            threading.Thread(target=self.renew_until, args=(self.stop,), daemon=True).start()
        return held

    def release(self):
        self.stop.set()
        return self.redis.eval(RELEASE, 1, self.key, self.token) == 1

    def renew_until(self, stop):
        """Runs beside the work, over a connection of its own."""
        while not stop.wait(self.lease / 3):
            with suppress(redis.RedisError):
                self.renewals.pexpire(self.key, int(self.lease * 1000))

    def close(self):
        self.stop.set()

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SET NX PX with a token, and a watchdog", renews=True)
