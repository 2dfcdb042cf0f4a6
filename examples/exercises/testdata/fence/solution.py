#!/usr/bin/env python3
"""A solution."""

import uuid

import redis

import locklab

RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
GRANT = 'if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("INCR", KEYS[2]) end return 0'


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.key, self.lease = servers[0], key, lease
        self.redis = redis.Redis(host, port, decode_responses=True, single_connection_client=True)
        self.token = ""

    def acquire(self):
        token = uuid.uuid4().hex
        fence = self.redis.eval(GRANT, 2, self.key, self.key + ":fence", token, int(self.lease * 1000))
        if fence == 0:
            return False
        self.token = token
        return {"fence": fence}

    def release(self):
        return self.redis.eval(RELEASE, 1, self.key, self.token) == 1

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SET NX PX and INCR in one script")
