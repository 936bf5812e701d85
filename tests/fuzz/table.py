"""All statements, with the weight with which each is drawn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from . import fancy, launches, parts, reductions, routines, statements
from .generate import Maker

_rows: list[tuple[Callable[[Maker], None], float]] = [
    (statements.exact_unary, 3), (statements.smooth_unary, 4), (statements.binary, 7), (statements.with_scalar, 5),
    (statements.divide, 1.5), (statements.integer_binary, 2), (statements.float_remainder, 0.7),
    (statements.compare, 2.5), (statements.extremes, 2), (statements.where, 2.5), (statements.cast, 2.5),
    (statements.out_argument, 2), (statements.in_place, 7), (statements.set_basic, 6), (statements.in_place_part, 4),
    (statements.row_loop, 1), (statements.view, 10), (statements.copy, 1.5), (statements.create, 1),
    (statements.host_read, 2.5), (statements.branch, 0.7), (statements.delete, 2), (statements.join, 1.2),
    (reductions.reduction, 5), (reductions.scan, 1.2), (reductions.product, 1), (reductions.linear, 1.5),
    (reductions.order, 0.8),
    (fancy.gather, 2), (fancy.mask_read, 1), (fancy.scatter, 2), (fancy.mask_write, 2), (fancy.move, 1.2),
    (parts.overlap, 3), (parts.chain, 1.5), (parts.alias_write, 2.5), (parts.part_view, 1.5), (parts.part_write, 1),
    (parts.flat_write, 0.7), (parts.same_bits, 0.4), (routines.take_and_put, 2), (routines.along_axis, 0.8),
    (routines.at, 1), (routines.choose, 1), (routines.search, 0.8), (routines.count, 1), (routines.triangle, 0.7),
    (routines.contract, 0.8), (routines.rearrange, 1.2), (routines.masked_reduction, 0.8), (routines.reduce_into, 0.8),
    (launches.add, 2.5),
]  # fmt: skip
STATEMENTS = [row[0] for row in _rows]
WEIGHTS = list(accumulate(row[1] for row in _rows))
