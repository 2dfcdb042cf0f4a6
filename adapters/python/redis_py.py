#!/usr/bin/env python3
"""A client of the lab for redis-py's lock. Words: no-timeout, as by default; retry, for a Redis client that sends again what got no reply."""

import sys
from contextlib import suppress

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import LockError  # the lock is not, or no longer, held
from redis.retry import Retry

from kit import locklab

RETRY = {"retry": Retry(ConstantBackoff(0.01), 3), "retry_on_error": [redis.ConnectionError]} if "retry" in sys.argv else {}
TIMEOUT = "no-timeout" not in sys.argv


class Lock:
    def __init__(self, servers, key, lease):
        self.redis = redis.Redis(*servers[0], **RETRY)
        self.lock = self.redis.lock(key, timeout=lease if TIMEOUT else None)

    def acquire(self):
        return self.lock.acquire(blocking=False)

    def release(self):
        with suppress(LockError):
            return self.lock.release() is None

    def renew(self):
        with suppress(LockError):
            return self.lock.reacquire()

    def check(self):
        return self.lock.owned()

    def ping(self):
        self.redis.ping()


if not TIMEOUT:
    del Lock.renew  # there is nothing to renew
locklab.serve(
    Lock, name="-".join(["redis-py", *sys.argv[1:]]), about=f"redis-py {redis.__version__}", resends=bool(RETRY), leaseless=not TIMEOUT,
    promises=["exclusion", "release-by-owner", "renew-by-owner", "ignores-clocks"] + ["crash-safe"] * TIMEOUT,
)
