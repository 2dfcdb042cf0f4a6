#!/usr/bin/env python3
"""The lock to mend. Edit this file; locklab.py is the protocol."""

import redis

import locklab


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.key, self.lease = servers[0], key, lease
        self.redis = redis.Redis(host, port, decode_responses=True, single_connection_client=True)

    def acquire(self):
        got = self.redis.execute_command("SETNX", self.key, "locked") == 1
        if got:
            self.redis.pexpire(self.key, int(self.lease * 1000))
        return got

    def release(self):
        return self.redis.delete(self.key) == 1

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SETNX, then PEXPIRE")
