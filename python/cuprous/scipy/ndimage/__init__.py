"""Filters, morphology, measurements and interpolation with `scipy.ndimage`'s names, arguments and errors."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.ndimage._binary import (
    binary_closing,
    binary_dilation,
    binary_erosion,
    binary_fill_holes,
    binary_hit_or_miss,
    binary_opening,
    binary_propagation,
    iterate_structure,
)
from cuprous.scipy.ndimage._distance import distance_transform_bf, distance_transform_cdt, distance_transform_edt
from cuprous.scipy.ndimage._fourier import fourier_ellipsoid, fourier_gaussian, fourier_shift, fourier_uniform
from cuprous.scipy.ndimage._gaussian import (
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    generic_gradient_magnitude,
    generic_laplace,
    laplace,
    prewitt,
    sobel,
)
from cuprous.scipy.ndimage._generic import generic_filter, generic_filter1d, geometric_transform, vectorized_filter
from cuprous.scipy.ndimage._grey import (
    black_tophat,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    morphological_gradient,
    morphological_laplace,
    white_tophat,
)
from cuprous.scipy.ndimage._interpolation import affine_transform, map_coordinates, rotate, shift, zoom
from cuprous.scipy.ndimage._labels import find_objects, label
from cuprous.scipy.ndimage._linear import convolve, convolve1d, correlate, correlate1d, uniform_filter, uniform_filter1d
from cuprous.scipy.ndimage._measurements import (
    center_of_mass,
    extrema,
    histogram,
    labeled_comprehension,
    maximum,
    maximum_position,
    mean,
    median,
    minimum,
    minimum_position,
    standard_deviation,
    sum,
    sum_labels,
    value_indices,
    variance,
)
from cuprous.scipy.ndimage._rank import (
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    rank_filter,
)
from cuprous.scipy.ndimage._spline import spline_filter, spline_filter1d
from cuprous.scipy.ndimage._structures import generate_binary_structure

#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    "watershed_ift": "use scipy.ndimage's on array.get(), or label where the regions do not touch",
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "affine_transform", "binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes",
    "binary_hit_or_miss", "binary_opening", "binary_propagation", "black_tophat", "center_of_mass", "convolve",
    "convolve1d", "correlate", "correlate1d", "distance_transform_bf", "distance_transform_cdt",
    "distance_transform_edt", "extrema", "find_objects", "fourier_ellipsoid", "fourier_gaussian", "fourier_shift",
    "fourier_uniform", "gaussian_filter", "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace",
    "generate_binary_structure", "generic_filter", "generic_filter1d", "generic_gradient_magnitude", "generic_laplace",
    "geometric_transform", "grey_closing", "grey_dilation", "grey_erosion", "grey_opening", "histogram",
    "iterate_structure", "label", "labeled_comprehension", "laplace", "map_coordinates", "maximum", "maximum_filter",
    "maximum_filter1d", "maximum_position", "mean", "median", "median_filter", "minimum", "minimum_filter",
    "minimum_filter1d", "minimum_position", "morphological_gradient", "morphological_laplace", "percentile_filter",
    "prewitt", "rank_filter", "rotate", "shift", "sobel", "spline_filter", "spline_filter1d", "standard_deviation",
    "sum", "sum_labels", "uniform_filter", "uniform_filter1d", "value_indices", "variance", "vectorized_filter",
    "white_tophat", "zoom",
]  # fmt: skip
