"""Points in space, with `scipy.spatial`'s names: nearest points, triangulations, and distances in `distance`."""

from cuprous.scipy.spatial import distance
from cuprous.scipy.spatial._delaunay import Delaunay
from cuprous.scipy.spatial._kdtree import KDTree, distance_matrix

#: SciPy's two classes are one here, as in CuPy.
cKDTree = KDTree

__all__ = ["Delaunay", "KDTree", "cKDTree", "distance", "distance_matrix"]
