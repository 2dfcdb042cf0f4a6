#!/usr/bin/env python3
"""A solution."""

import redis

import locklab


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.key, self.lease = servers[0], key, lease
        self.redis = redis.Redis(host, port, decode_responses=True, single_connection_client=True)

    def acquire(self):
        return self.redis.set(self.key, "locked", nx=True, px=int(self.lease * 1000)) is not None

    def release(self):
        return self.redis.delete(self.key) == 1

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SET NX PX and DEL")
