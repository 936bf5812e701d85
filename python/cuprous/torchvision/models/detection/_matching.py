"""Boxes as differences from other boxes, and which box belongs to which."""

from __future__ import annotations

import math
from typing import Any

import cuprous.torch as torch


class BoxCoder:
    """Boxes as shifts of centers and logarithms of ratios of sides, in terms of other boxes.

    Parameters
    ----------
    weights : Weights
        The factors of the four numbers.
    bbox_xform_clip : float, optional
        The greatest logarithm that is decoded.
    """

    def __init__(self, weights: Any, bbox_xform_clip: float = math.log(1000.0 / 16)) -> None:
        self.weights, self.bbox_xform_clip = tuple(weights), bbox_xform_clip

    def encode(self, reference_boxes: list[Any], proposals: list[Any]) -> Any:
        """Returns the differences of the boxes of several images."""
        counts = [len(boxes) for boxes in reference_boxes]
        return self.encode_single(torch.cat(list(reference_boxes)), torch.cat(list(proposals))).split(counts, 0)

    def encode_single(self, reference_boxes: Any, proposals: Any) -> Any:
        """Returns the differences of boxes (N, 4) from proposals (N, 4)."""
        own, sides = proposals[:, 2:] - proposals[:, :2], reference_boxes[:, 2:] - reference_boxes[:, :2]
        shift = (reference_boxes[:, :2] + 0.5 * sides) - (proposals[:, :2] + 0.5 * own)
        weights = torch.tensor(self.weights, dtype=proposals.dtype, device=proposals.device)
        return torch.cat((weights[:2] * shift / own, weights[2:] * (sides / own).log()), 1)

    def decode(self, rel_codes: Any, boxes: list[Any]) -> Any:
        """Returns the boxes (N, classes, 4) for differences from the boxes of several images."""
        every = torch.cat(list(boxes))
        codes = rel_codes.reshape(every.shape[0], -1) if every.shape[0] else rel_codes
        found = self.decode_single(codes, every)
        return found.reshape(every.shape[0], -1, 4) if every.shape[0] else found

    def decode_single(self, rel_codes: Any, boxes: Any) -> Any:
        """Returns the boxes (N, 4 classes) for differences (N, 4 classes) from boxes (N, 4)."""
        own = boxes.to(rel_codes.dtype)
        sides = own[:, 2:] - own[:, :2]
        centers = own[:, :2] + 0.5 * sides
        weights = torch.tensor(self.weights, dtype=rel_codes.dtype, device=rel_codes.device)
        codes = rel_codes.reshape(rel_codes.shape[0], -1, 4) / weights
        middle = codes[..., :2] * sides[:, None] + centers[:, None]
        half = codes[..., 2:].clamp(max=self.bbox_xform_clip).exp() * sides[:, None] * 0.5
        return torch.cat((middle - half, middle + half), -1).flatten(1)


class Matcher:
    """Assigns each prediction the true box with which it agrees best.

    Parameters
    ----------
    high_threshold : float
        The agreement from which a prediction is matched.
    low_threshold : float
        The agreement below which it is background; between the two it is ignored.
    allow_low_quality_matches : bool, default False
        Whether the predictions that agree best with a true box are matched in any case.
    """

    BELOW_LOW_THRESHOLD, BETWEEN_THRESHOLDS = -1, -2

    def __init__(self, high_threshold: float, low_threshold: float, allow_low_quality_matches: bool = False) -> None:
        if low_threshold > high_threshold:
            raise AssertionError("low_threshold should be <= high_threshold")
        self.high_threshold, self.low_threshold = high_threshold, low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: Any) -> Any:
        """Returns the number of the true box for each prediction, or one of the negative constants.

        Raises
        ------
        ValueError
            Without true boxes or predictions.
        """
        if match_quality_matrix.numel() == 0:
            which = "ground-truth" if match_quality_matrix.shape[0] == 0 else "proposal"
            raise ValueError(f"No {which} boxes available for one of the images during training")
        best, found = match_quality_matrix.max(dim=0)
        matches = torch.where(best < self.low_threshold, self.BELOW_LOW_THRESHOLD, found)
        between = (best >= self.low_threshold) & (best < self.high_threshold)
        matches = torch.where(between, self.BETWEEN_THRESHOLDS, matches)
        if self.allow_low_quality_matches:
            greatest = match_quality_matrix.max(dim=1, keepdim=True).values
            matches = torch.where((match_quality_matrix == greatest).any(0), found, matches)
        return matches


class SSDMatcher(Matcher):
    """Assigns each prediction the true box with which it agrees best, and each true box its best prediction.

    Parameters
    ----------
    threshold : float
        The agreement from which a prediction is matched.
    """

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold)

    def __call__(self, match_quality_matrix: Any) -> Any:
        """Returns the number of the true box for each prediction, or a negative constant."""
        matches = super().__call__(match_quality_matrix)
        best = match_quality_matrix.max(dim=1).indices
        matches[best] = torch.arange(best.shape[0], device=best.device)
        return matches


class BoxLinearCoder:
    """Boxes as distances of their sides from the centers of other boxes.

    Parameters
    ----------
    normalize_by_size : bool, default True
        Whether the distances are in units of the other boxes' sides.
    """

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    def _frame(self, boxes: Any) -> tuple[Any, Any]:
        """Returns centers and sides, twice each."""
        center, sides = 0.5 * (boxes[..., :2] + boxes[..., 2:]), boxes[..., 2:] - boxes[..., :2]
        return torch.cat((center, center), -1), torch.cat((sides, sides), -1)

    def encode(self, reference_boxes: Any, proposals: Any) -> Any:
        """Returns the distances of the sides of `proposals` (..., 4) from the centers of `reference_boxes`."""
        center, sides = self._frame(reference_boxes)
        targets = torch.cat((center[..., :2] - proposals[..., :2], proposals[..., 2:] - center[..., 2:]), -1)
        return targets / sides if self.normalize_by_size else targets

    def decode(self, rel_codes: Any, boxes: Any) -> Any:
        """Returns the boxes for distances from the centers of `boxes`."""
        center, sides = self._frame(boxes.to(rel_codes.dtype))
        codes = rel_codes * sides if self.normalize_by_size else rel_codes
        return torch.cat((center[..., :2] - codes[..., :2], center[..., 2:] + codes[..., 2:]), -1)


class BalancedPositiveNegativeSampler:
    """Chooses random examples of which a given part is positive.

    Parameters
    ----------
    batch_size_per_image : int
        The number of examples.
    positive_fraction : float
        The greatest part that is positive.
    """

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image, self.positive_fraction = batch_size_per_image, positive_fraction

    def __call__(self, matched_idxs: list[Any]) -> tuple[list[Any], list[Any]]:
        """Returns masks of the positive and the negative examples of each image, for labels that are positive, 0, or
        negative, which are left out."""
        chosen: tuple[list[Any], list[Any]] = ([], [])
        for labels in matched_idxs:
            positive, negative = torch.where(labels >= 1)[0], torch.where(labels == 0)[0]
            count = min(positive.numel(), int(self.batch_size_per_image * self.positive_fraction))
            counts = count, min(negative.numel(), self.batch_size_per_image - count)
            for masks, where, number in zip(chosen, (positive, negative), counts, strict=True):
                mask = torch.zeros_like(labels, dtype=torch.bool)
                mask[where[torch.randperm(where.numel(), device=where.device)[:number]]] = True
                masks.append(mask)
        return chosen


def matched(proposals: Any, boxes: Any, matcher: Matcher, similarity: Any) -> tuple[Any, Any, Any]:
    """Returns the number of the true box for each proposal (0 where there is none), and whether it is background or to
    be left out."""
    if boxes.numel() == 0:
        none = torch.zeros((proposals.shape[0],), dtype=torch.int64, device=proposals.device)
        return none, none == 0, none != 0
    found = matcher(similarity(boxes, proposals))
    return found.clamp(min=0), found == matcher.BELOW_LOW_THRESHOLD, found == matcher.BETWEEN_THRESHOLDS
