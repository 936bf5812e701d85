"""`import numba` in a process that a test starts: it binds the peer's imports there too, then stands aside."""

import sys
from pathlib import Path

from tests.peers.suites import SUITES

del sys.modules["numba"]
SUITES["numba"].bind(SUITES["numba"].find() or Path())
