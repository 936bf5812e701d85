"""Binds packages when Python starts, in processes of a program that has them bound (`cuprous.runner`).

Python imports this module by its name because the folder is on PYTHONPATH. Another module of this name is run too.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _HERE]

if os.environ.get("CUPROUS_BIND") and find_spec("cuprous"):  # another Python may lack Cuprous
    from cuprous.runner import bind

    bind(*os.environ["CUPROUS_BIND"].split(","), quiet=True)

_next = PathFinder.find_spec("sitecustomize", sys.path)
if _next is not None and _next.loader is not None:
    sys.modules["sitecustomize"] = module_from_spec(_next)
    _next.loader.exec_module(sys.modules["sitecustomize"])
