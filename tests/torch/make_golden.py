"""Writes golden.json by PyTorch itself: `python -m tests.torch.make_golden [FILE]`, where PyTorch is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    import torch

    from tests.torch.cases import CASES

    golden = {"version": torch.__version__} | {name: case(torch) for name, case in CASES.items()}
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("golden.json")
    target.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
