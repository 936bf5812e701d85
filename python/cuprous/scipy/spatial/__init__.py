"""`distance`: distances between points, with `scipy.spatial.distance`'s names."""

from cuprous.scipy.spatial import distance

__all__ = ["distance"]
