#!/usr/bin/env python3
"""A client of the lab for the lock of `lab new shell`, as it comes."""

import os
import sys

KITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../internal/kits")
sys.path[:0] = [KITS + "/shell", KITS + "/python"]
import client  # noqa: E402
import locklab  # noqa: E402

locklab.serve(client.Lock, name="redis-cli", about="a shell script with redis-cli", promises=client.PROMISES)
