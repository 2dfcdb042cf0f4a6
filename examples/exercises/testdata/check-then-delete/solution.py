#!/usr/bin/env python3
"""A solution."""

import uuid

import redis

import locklab

RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.key, self.lease = servers[0], key, lease
        self.redis = redis.Redis(host, port, decode_responses=True, single_connection_client=True)
        self.token = ""

    def acquire(self):
        token = uuid.uuid4().hex
        held = self.redis.set(self.key, token, nx=True, px=int(self.lease * 1000)) is not None
        if held:
            self.token = token
        return held

    def release(self):
        return self.redis.eval(RELEASE, 1, self.key, self.token) == 1

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SET NX PX with a token, compared and deleted by a script")
