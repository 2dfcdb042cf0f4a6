"""Where the clients in this directory find their kit."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../internal/kits/python"))
import locklab  # noqa: E402, F401
