#!/usr/bin/env python3
"""A common mistake: each try sets the expiry, also one that is refused."""

import redis

import locklab


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.key, self.lease = servers[0], key, lease
        self.redis = redis.Redis(host, port, decode_responses=True, single_connection_client=True)

    def acquire(self):
        got = self.redis.execute_command("SETNX", self.key, "locked") == 1
        self.redis.pexpire(self.key, int(self.lease * 1000))  # also by those who are refused: they keep a dead holder's lock alive
        return got

    def release(self):
        return self.redis.delete(self.key) == 1

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SETNX, then always PEXPIRE")
