"""Replaces `import numba` in processes that tests start: binds the peer's imports there, then removes itself."""

import sys
from pathlib import Path

from tests.peers.suites import SUITES

del sys.modules["numba"]
SUITES["numba"].bind(SUITES["numba"].find() or Path())
