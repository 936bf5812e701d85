"""Functions through points, with `scipy.interpolate`'s names: piecewise constant and linear ones."""

from cuprous.scipy.interpolate._grid import RegularGridInterpolator, interpn
from cuprous.scipy.interpolate._line import interp1d

__all__ = ["RegularGridInterpolator", "interp1d", "interpn"]
