#!/usr/bin/env python3
"""A common mistake: the renewal compares the token, and then prolongs whatever is there."""

import threading
import time
import uuid

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
        token, asked = uuid.uuid4().hex, time.monotonic()
        if self.redis.set(self.key, token, nx=True, px=int(self.lease * 1000)) is None:
            return False
        self.token, self.stop = token, threading.Event()
        threading.Thread(target=self.renew_until, args=(self.stop, token, self.hold), daemon=True).start()
        return self.lease - (time.monotonic() - asked)  # valid for so long: its lease began after it was asked for

    def release(self):
        self.stop.set()
        return self.redis.eval(RELEASE, 1, self.key, self.token) == 1

    def renew_until(self, stop, token, hold):
        """Runs beside the work, over a connection of its own."""
        while not stop.wait(self.lease / 3):
            asked = time.monotonic()
            try:
                held = self.renewals.get(self.key) == token and self.renewals.pexpire(self.key, int(self.lease * 1000))
            except redis.RedisError:
                continue  # nobody knows; the hold is over when it is no longer valid
            if stop.is_set():
                return
            if not held:
                return self.lost("the lock is another client's, or nobody's", hold)
            self.valid(self.lease - (time.monotonic() - asked))

    def close(self):
        self.stop.set()

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SET NX PX with a token, compared, then renewed", renews=True)
