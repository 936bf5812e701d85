"""Plans of earlier saves: what has not changed since is not sent, and not planned, again."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cuprous.torch.distributed.checkpoint import _wire
from cuprous.torch.distributed.checkpoint.metadata import Metadata
from cuprous.torch.distributed.checkpoint.planner import SavePlan


@dataclass
class PlanCache:
    """What a process knows of the plans of the planners of one kind.

    A rank whose plan is that of its last save sends the plan's digest, and that of what it has been given for it. The
    coordinator keeps plans by their digests, so a rank never gets what was made for another plan.
    """

    #: The digest of the plan that this rank has sent last, of what it has been given then, and that itself.
    sent: str | None = None
    given: str | None = None
    final: SavePlan | None = None
    #: On the coordinator, plans by digest, and by the digests of all ranks what they are given and the contents.
    plans: dict[str, SavePlan] = field(default_factory=dict)
    made: tuple[list[str], list[SavePlan], Metadata] | None = None
    _sending: str | None = None

    def to_send(self, plan: SavePlan, modules: Iterable[str]) -> SavePlan:
        """Returns what this rank sends in place of its plan."""
        self._sending = _digest(plan, modules)
        if self._sending != self.sent:
            return plan
        return SavePlan([], planner_data=[self.sent, self.given], usable=False)

    def combine(self, plans: list[SavePlan], combine: Callable[[list[SavePlan]], tuple[list[SavePlan], Metadata]],
                modules: Iterable[str]) -> tuple[list[SavePlan], Metadata]:  # fmt: skip
        """Returns what `combine` makes of the plans of all ranks: what each is sent, and the contents.

        Raises
        ------
        ValueError
            If a rank refers to a plan that this one has not got.
        """
        digests = [_digest(plan, modules) if plan.usable else plan.planner_data[0] for plan in plans]
        self.plans |= {digest: plan for digest, plan in zip(digests, plans, strict=True) if plan.usable}
        missing = [rank for rank, digest in enumerate(digests) if digest not in self.plans]
        if missing:
            raise ValueError(
                f"enable_plan_caching=True: ranks {missing} have sent their plans to another rank; save with the same "
                "ranks in the same order, or with another planner"
            )
        before = [] if self.made is None else self.made[0]
        if self.made is None or before != digests:
            self.made = digests, *combine([self.plans[digest] for digest in digests])
        # If this save fails, the next one may refer to the plans of the one before.
        self.plans = {digest: self.plans[digest] for digest in {*digests, *before}}
        _, given, contents = self.made
        is_known = (not plan.usable and plan.planner_data[1] == _digest(own, modules)
                    for plan, own in zip(plans, given, strict=True))  # fmt: skip
        sent = [SavePlan([], usable=False) if known else own for known, own in zip(is_known, given, strict=True)]
        return sent, dataclasses.replace(contents)

    def received(self, plan: SavePlan, modules: Iterable[str]) -> SavePlan:
        """Returns what this rank has been given."""
        if plan.usable:
            self.sent, self.final, self.given = self._sending, plan, _digest(plan, modules)
            return plan
        assert self.final is not None, "the coordinator refers to a plan that this rank has not been given"
        return dataclasses.replace(self.final, storage_data=plan.storage_data)


def _digest(plan: SavePlan, modules: Iterable[str]) -> str:
    """Returns the digest of a plan, without what the storage adds."""
    text = _wire.to_text(dataclasses.replace(plan, storage_data=None), modules)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


__all__ = ["PlanCache"]
