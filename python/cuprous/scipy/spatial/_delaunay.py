"""Triangulations. They are computed on the host by SciPy (Qhull)."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device


class Delaunay:
    """The Delaunay triangulation of points. It is computed on the host by SciPy.

    Parameters
    ----------
    points : array_like
        The points, one a row.
    furthest_site : bool, default False
        Whether to compute the triangulation of the farthest points.
    incremental : bool, default False
        Not supported.
    qhull_options : str, optional
        Options of Qhull.

    Attributes
    ----------
    points : array_like
        The points as float64.
    simplices : object
        The indices of the corners of each simplex, int32.
    neighbors : object
        The indices of the neighbors opposite of each corner, -1 for none.
    convex_hull : object
        The indices of the corners of each face of the hull.

    Raises
    ------
    NotImplementedError
        For `incremental`.
    ValueError
        For points that are not 2-d, not real or not finite, or of fewer than two coordinates.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.spatial.KDTree

    Examples
    --------
    >>> mesh = cp.scipy.spatial.Delaunay([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> mesh.find_simplex([[0.2, 0.2], [2.0, 2.0]])
    array([ 0, -1], dtype=int32)
    """

    @on_array_device
    def __init__(
        self, points: Any, furthest_site: bool = False, incremental: bool = False, qhull_options: str | None = None
    ) -> None:
        if incremental:
            raise NotImplementedError("[Delaunay] incremental= is not supported; triangulate all points at once")
        try:
            from scipy.spatial import Delaunay as OnHost
        except ImportError:
            raise ImportError("[Delaunay] points are triangulated by SciPy: pip install scipy") from None
        given = array(points)
        #: SciPy's own triangulation.
        self.on_host = OnHost(_core.to_numpy(given), furthest_site, qhull_options=qhull_options)
        self.points = _core.cast(given, "float64")
        self.simplices, self.neighbors, self.convex_hull = (
            _core.from_numpy(a) for a in (self.on_host.simplices, self.on_host.neighbors, self.on_host.convex_hull)
        )

    @property
    @on_array_device
    def vertex_neighbor_vertices(self) -> tuple[ndarray, ndarray]:
        """The neighbors of points: starts, and the indices of all neighbors."""
        starts, indices = self.on_host.vertex_neighbor_vertices
        return _core.from_numpy(starts), _core.from_numpy(indices)

    @on_array_device
    def find_simplex(self, xi: Any, bruteforce: bool = False, tol: float | None = None) -> ndarray:
        """Finds the simplices in which points lie, on the host.

        Parameters
        ----------
        xi : array_like
            The points, along the last axis.
        bruteforce : bool, default False
            Whether to try all simplices.
        tol : float, optional
            How far outside of a simplex a point may be.

        Returns
        -------
        ndarray
            An int32 array of the indices, -1 for points outside of all simplices.

        Raises
        ------
        ValueError
            For points of another number of coordinates.

        Examples
        --------
        >>> mesh = cp.scipy.spatial.Delaunay([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> mesh.find_simplex([0.2, 0.2])
        array(0, dtype=int32)
        """
        import numpy as np

        found = self.on_host.find_simplex(_core.to_numpy(array(xi)), bruteforce, tol)
        return _core.from_numpy(np.asarray(found, dtype="int32"))


__all__ = ["Delaunay"]
