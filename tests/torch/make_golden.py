"""Writes golden.json, golden_layers.json and golden_calls.json where PyTorch is installed:
`python -m tests.torch.make_golden [FILE]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    import torch

    from tests.torch.calls import results
    from tests.torch.cases import CASES
    from tests.torch.layers import golden as layers

    golden = {"version": torch.__version__} | {name: case(torch) for name, case in CASES.items()}
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("golden.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    target.with_name("golden_layers.json").write_text(json.dumps(layers(torch), separators=(",", ":")) + "\n")
    calls = {"version": torch.__version__} | results(torch)
    target.with_name("golden_calls.json").write_text(json.dumps(calls, separators=(",", ":")) + "\n")
