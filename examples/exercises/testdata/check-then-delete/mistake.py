#!/usr/bin/env python3
"""A common mistake: the delete is in a transaction, and the comparison is not."""

import uuid

import redis

import locklab


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
        if self.redis.get(self.key) != self.token:
            return False
        with self.redis.pipeline(transaction=True) as transaction:  # without WATCH, nothing holds what was read
            transaction.delete(self.key)
            return transaction.execute()[0] == 1

    def ping(self):
        self.redis.ping()


locklab.serve(Lock, name="mylock", about="SET NX PX with a token, compared, then deleted in a transaction")
