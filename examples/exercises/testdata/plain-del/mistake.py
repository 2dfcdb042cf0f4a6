#!/usr/bin/env python3
"""A common mistake: the client remembers that it holds the lock."""

import redis

import locklab


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.key, self.lease = servers[0], key, lease
        self.redis = redis.Redis(host, port, decode_responses=True, single_connection_client=True)
        self.held = False

    def acquire(self):
        self.held = self.redis.set(self.key, "locked", nx=True, px=int(self.lease * 1000)) is not None
        return self.held

    def release(self):
        if not self.held:  # it stays true when the lease is over
            return False
        self.held = False
        return self.redis.delete(self.key) == 1

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SET NX PX and a flag")
