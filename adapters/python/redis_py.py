#!/usr/bin/env python3
"""A client of the lab for the lock of redis-py (redis.lock.Lock). Words: no-timeout, for a lock without a time-out, as by default;
retry, for a Redis client that sends again what got no reply."""

import os
import sys

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import LockError
from redis.retry import Retry

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../kits/python"))
import locklab  # noqa: E402

RETRY = {"retry": Retry(ConstantBackoff(0.01), 3), "retry_on_error": [redis.ConnectionError]} if "retry" in sys.argv else {}
TIMEOUT = "no-timeout" not in sys.argv


class Lock:
    def __init__(self, servers, key, lease):
        (host, port), self.lease = servers[0], lease
        self.redis = redis.Redis(host, port, **RETRY)
        self.lock = self.redis.lock(key, timeout=lease if TIMEOUT else None)

    def acquire(self):
        return self.lock.acquire(blocking=False)

    def release(self):
        return said(self.lock.release)

    def renew(self):
        return said(self.lock.reacquire)

    def check(self):
        return self.lock.owned()

    def ping(self):
        self.redis.ping()


if not TIMEOUT:
    del Lock.renew  # there is nothing to renew


def said(call):
    """LockError means that the lock is not, or no longer, held."""
    try:
        return call() is not False
    except LockError:
        return False


words = [word for word in sys.argv[1:] if word in ("no-timeout", "retry")]
promises = ["exclusion", "release-by-owner", "renew-by-owner", "ignores-clocks"] + ["crash-safe"] * TIMEOUT
locklab.serve(
    Lock, name="-".join(["redis-py", *words]), about=" ".join(["redis-py", redis.__version__, *words]), promises=promises,
    resends=bool(RETRY), leaseless=not TIMEOUT,
)
