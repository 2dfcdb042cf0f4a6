#!/usr/bin/env python3
"""A client of the lab for kazoo's lock, on a ZooKeeper. Word: suspended, for a user who stops as soon as kazoo says SUSPENDED."""

import sys
from contextlib import suppress

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout

from kit import locklab

STOPS = "suspended" in sys.argv


class Lock:
    def __init__(self, servers, key, lease):
        self.held = 0
        self.zk = KazooClient(",".join("%s:%d" % server for server in servers), timeout=lease)
        self.zk.add_listener(self.changed)
        self.zk.start()
        self.lock = self.zk.Lock(key)

    def changed(self, state):
        if state == KazooState.LOST and self.held:
            self.lost("kazoo says LOST", self.held)
        if state == KazooState.SUSPENDED and self.held and STOPS:
            self.valid(0)

    def acquire(self, **how):
        self.lock.cancelled = False  # kazoo forgets it only after some of its errors
        acquired = self.lock.acquire(**(how or {"blocking": False}))
        self.held = self.hold if acquired else 0
        return acquired

    def wait(self, within):
        with suppress(LockTimeout):
            return self.acquire(timeout=within)

    def cancel(self):
        self.lock.cancel()
        return True

    def release(self):
        self.held = 0
        return self.lock.release()

    def ping(self):
        self.zk.exists("/")


locklab.serve(
    Lock, name="-".join(["kazoo", *sys.argv[1:]]), about=f"kazoo {kazoo.__version__}", fair=True, resends=True,
    promises=["exclusion", "release-by-owner", "crash-safe", "tells-loss", "ignores-clocks", "fair"] + ["tells-in-time"] * STOPS,
)
