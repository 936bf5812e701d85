"""Tables in narwhals, and in a library that takes any data frame through it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cuprous as cp
import cuprous.frames

nw: Any = pytest.importorskip("narwhals", "2.29", reason="narwhals 2.29 is not installed (requirements-clients.txt)")
tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads pyproject.toml")
from narwhals import plugins  # noqa: E402


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What an installation of the package writes, from this tree."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    info = tmp_path / "cuprous_of_this_tree-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cuprous_of_this_tree\nVersion: 0\n")
    rows = [f"{name} = {module}" for name, module in project["entry-points"]["narwhals.plugins"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[narwhals.plugins]", *rows]))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    plugins._discover_entrypoints.cache_clear()
    yield
    plugins._discover_entrypoints.cache_clear()


@pytest.fixture
def table() -> cuprous.frames.Table:
    return cuprous.frames.Table.from_arrays({
        "x": cp.arange(6.0), "k": cp.asarray([1, 2, 1, 2, 1, 3]), "s": pl.Series(["a", "b", None, "a", "b", "c"]),
        "d": pl.Series(["1.50", "2.25", None, "0.10", "3.00", "4.75"]).cast(pl.Decimal(10, 2)),
    })  # fmt: skip


def test_a_table_is_a_frame(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = nw.from_native(table, eager_only=True)
    with monkeypatch.context() as inner:
        inner.setattr(cuprous.frames.Table, "to_polars", None)  # what follows reads no values
        assert frame.columns == ["x", "k", "s", "d"] and frame.shape == (6, 4) and len(frame) == 6
        assert frame.schema["k"] == nw.Int64 and frame.schema["s"] == nw.String
    assert frame["x"].to_list() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert frame["s"].null_count() == 1
    assert frame.to_native().equals(table.to_polars())
    np.testing.assert_array_equal(frame.select("x", "k").to_numpy(), np.stack([np.arange(6), [1, 2, 1, 2, 1, 3]], 1))


EAGER: dict[str, Any] = {
    "select": lambda f: f.select(nw.col("x") * 2, nw.col("s").str.to_uppercase()),
    "filter": lambda f: f.filter(nw.col("k") == 1, ~nw.col("s").is_null()),
    "group_by": lambda f: f.group_by("k").agg(nw.col("x").sum(), nw.len()).sort("k"),
    "over": lambda f: f.with_columns(nw.col("x").mean().over("k").alias("m")),
    "join": lambda f: f.join(f.select("k", nw.col("x").alias("y")), on="k").sort("x", "y"),
    "selectors": lambda f: f.select(nw.selectors.numeric()),
    "rename": lambda f: f.rename({"x": "z"}).drop("s").tail(2),
    "unpivot": lambda f: f.unpivot(on=["x", "k"], index="s").sort("variable", "value", "s"),
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", EAGER)
def test_functions_are_those_of_polars(table: Any, name: str, lazy: bool) -> None:
    def run(native: Any) -> pl.DataFrame:
        frame = nw.from_native(native)
        result = EAGER[name](frame.lazy() if lazy else frame)
        return nw.to_native(result.collect() if lazy else result)

    assert run(table).equals(run(table.to_polars()))


def test_a_lazy_frame_runs_on_the_engine(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = cuprous.frames.Engine(take="all", strict=True)
    query = nw.from_native(table).lazy().filter(nw.col("x") > 1).group_by("k").agg(nw.col("x").max()).sort("k")
    assert query.collect(engine=engine).to_native().rows() == [(1, 4.0), (2, 3.0), (3, 5.0)]
    assert engine.last_report is not None and engine.last_report.complete
    monkeypatch.setattr("cuprous.frames.narwhals_frames.Engine", lambda: engine)
    assert query.collect(backend="polars").shape == (3, 2)
    assert engine.last_report.complete


def test_an_estimator_of_scikit_learn_takes_a_table(table: Any) -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    scaled = preprocessing.StandardScaler().fit(nw.from_native(table).select("x", "k").to_native())
    assert list(scaled.feature_names_in_) == ["x", "k"]


def test_without_polars_other_libraries_still_work_with_narwhals(tmp_path: Path) -> None:
    """scikit-learn asks narwhals about each input, and narwhals loads all plugins for that."""
    code = """
import sys

class WithoutPolars:
    @staticmethod
    def find_spec(name, *_):
        if name == "polars":
            raise ModuleNotFoundError("No module named 'polars'")

sys.meta_path.insert(0, WithoutPolars)
import narwhals, numpy as np, sklearn.preprocessing
assert narwhals.plugins._discover_entrypoints()["cuprous"].load().is_native(np.ones(3)) is False
assert sklearn.preprocessing.StandardScaler().fit(np.eye(3)).n_features_in_ == 3
"""
    pytest.importorskip("sklearn.preprocessing")
    path = os.pathsep.join([entry for entry in sys.path if entry])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_other_objects_are_not_taken() -> None:
    for value in (cp.arange(3), cp, object()):
        with pytest.raises(TypeError):
            nw.from_native(value)
    assert nw.from_native(cp.arange(3), pass_through=True).shape == (3,)
