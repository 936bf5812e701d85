"""Estimators of scikit-learn that fit and predict on the current device.

Each but `UMAP`, which scikit-learn does not have, is a subclass of scikit-learn's own, with its parameters, attributes
and errors. What the device does not do is left to scikit-learn; `report()` says where the last call ran, and why.

Examples
--------
>>> from cuprous.sklearn import NearestNeighbors
>>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
>>> distances, rows = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(points).kneighbors(points)
>>> rows.tolist()
[[0, 1], [1, 0], [2, 0]]
"""

from __future__ import annotations

from cuprous.sklearn._clusters import KMeans
from cuprous.sklearn._decomposition import TruncatedSVD
from cuprous.sklearn._density import DBSCAN, HDBSCAN
from cuprous.sklearn._linear import LinearRegression
from cuprous.sklearn._neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from cuprous.sklearn._penalized import ElasticNet, Lasso
from cuprous.sklearn._report import report
from cuprous.sklearn._t_sne import TSNE
from cuprous.sklearn._umap import UMAP

__all__ = [
    "DBSCAN",
    "HDBSCAN",
    "TSNE",
    "UMAP",
    "ElasticNet",
    "KMeans",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "Lasso",
    "LinearRegression",
    "NearestNeighbors",
    "TruncatedSVD",
    "report",
]
