"""The engine: what runs where, what is left to Polars and why."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuprous as cp
import cuprous.frames
from cuprous.frames.plan.adapters import ADAPTERS, Adapter
from cuprous.frames.reasons import Refused

c = pl.col
DATA = pl.DataFrame({
    "k": [1, 2, 1, None, 2], "x": [1.5, float("nan"), -0.0, 2.0, None], "s": ["a", "b", None, "a", "b"],
    "l": [[1], [2], [], None, [3]],
})  # fmt: skip


@pytest.fixture
def engine() -> cuprous.frames.Engine:
    return cuprous.frames.Engine(take="all")


def test_a_query_that_fits_runs_wholly_here(engine: Any) -> None:
    lf = DATA.lazy().filter(c("k") > 0).group_by("k").agg(c("x").sum(), c("s").n_unique()).sort("k")
    assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))
    report = engine.last_report
    assert report.complete and report.reasons == []
    assert [one.node for one in report.entries] == ["Scan", "Filter", "GroupBy", "Sort"]
    assert report.entries[1].rows_in == 5 and report.entries[1].rows_out == 4
    assert "GroupBy" in str(report) and report.milliseconds > 0


def test_the_largest_parts_at_the_leaves_run_here(engine: Any) -> None:
    lf = DATA.lazy().select("k", "x").filter(c("k") > 0).with_columns(c("x").sin().alias("y")).sort("k", "y")
    assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))
    report = engine.last_report
    assert not report.complete
    assert report.reasons == ["HStack: the function sin is not supported", "Sort: an input is left to Polars"]
    assert [one.node for one in report.entries if one.where != "polars"] == ["Scan", "Filter"]


def test_both_uses_of_a_shared_part_are_right(engine: Any) -> None:
    shared = DATA.lazy().select("k", "x").filter(c("k") > 0)
    lf = shared.with_columns(c("x").sin()).join(shared, on="k", maintain_order="left_right")
    assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))


def test_a_strict_engine_raises_every_reason() -> None:
    strict = cuprous.frames.Engine(take="all", strict=True)
    lf = DATA.lazy().select(c("x").sin(), c("l").list.len().alias("n"))
    with pytest.raises(NotImplementedError, match=r"dtype List.*left to Polars") as raised:
        lf.collect(engine=strict)
    assert "Select" in str(raised.value)
    other = DATA.lazy().select(c("x").sin().alias("a")).unique().join(DATA.lazy().select(c("x").cos()), how="cross")
    with pytest.raises(NotImplementedError, match=r"sin is not supported.*cos is not supported"):
        other.collect(engine=strict)


def test_polars_raises_its_own_errors(engine: Any) -> None:
    lf = DATA.lazy().select(c("k").cast(pl.Int8), (c("k") * 1000).cast(pl.Int8).alias("wide"))
    with pytest.raises(pl.exceptions.InvalidOperationError, match="conversion from"):
        lf.collect(engine=engine)
    assert engine.last_report.reasons == ["Select: a strict cast meets a value that does not fit"]
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        DATA.lazy().select("nothing").collect(engine=engine)


def test_report_says_what_would_run_where() -> None:
    found = cuprous.frames.report(DATA.lazy().select(c("x").sin()), cuprous.frames.Engine(take="all"))
    assert found.reasons == ["Select: the function sin is not supported"]
    assert [one.where for one in found.entries] == ["cpu" if cp.get_device() == "cpu" else "gpu", "polars"]


def test_sinks_are_left_to_polars(engine: Any, tmp_path: Any) -> None:
    path = tmp_path / "x.parquet"
    DATA.lazy().select("k").filter(c("k") > 1).sink_parquet(path, engine=engine)
    assert pl.read_parquet(path)["k"].to_list() == [2, 2]


def test_several_queries_and_other_calls(engine: Any) -> None:
    lf = DATA.lazy().select(c("k").sum())
    first, second = pl.collect_all([lf, DATA.lazy().filter(c("k") > 1)], engine=engine)
    assert first.item() == 6 and second.height == 2
    assert [batch["k"].to_list() for batch in lf.collect_batches(engine=engine)] == [[6]]
    assert lf.collect(engine=engine, background=True).fetch_blocking().item() == 6
    assert engine.last_report.reasons == ["plan: Polars runs it in the background"]


def test_polars_reads_parquet_for_queries_here(engine: Any, tmp_path: Any) -> None:
    for name in ("a", "b"):
        DATA.select("k", "x", c("s") + name).write_parquet(tmp_path / f"{name}.parquet")
    lf = pl.scan_parquet(tmp_path / "*.parquet")
    for query in (
        lf.group_by("k").agg(c("x").count()).sort("k"),
        lf.filter(c("k") > 1).select("s", "x"),
        lf.head(7).filter(c("k") > 1),
        lf.slice(3, 4).select("s"),
        lf.select(pl.len()),
    ):
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"))
    assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))
    assert engine.last_report.complete and engine.stats()["columns"] == 0


def test_scans_with_options_are_left_to_polars(engine: Any, tmp_path: Any) -> None:
    DATA.select("k", "x").write_parquet(tmp_path / "x.parquet")
    DATA.select("k").write_parquet(tmp_path / "y.parquet")
    DATA.select("k", "x").write_csv(tmp_path / "x.csv")
    for scan in (
        pl.scan_parquet(tmp_path / "x.parquet", row_index_name="row"),
        pl.scan_parquet(tmp_path / "x.parquet", include_file_paths="path"),
        pl.scan_parquet(tmp_path / "*.parquet", missing_columns="insert"),
        pl.scan_csv(tmp_path / "x.csv"),
    ):
        query = scan.filter(c("k") > 1)
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"))
        assert not engine.last_report.complete, scan
    with pytest.raises(FileNotFoundError):
        pl.scan_parquet(tmp_path / "none.parquet").collect(engine=engine)


def test_an_outer_join_by_inequalities_is_not_taken_for_one_by_equal_keys(engine: Any) -> None:
    """Some versions of Polars' plans do not tell them apart."""
    left, right = pl.LazyFrame({"a": [1, 2, 3]}), pl.LazyFrame({"b": [2, 1, None]})
    for lf in (
        left.join_where(right, c("a") < c("b"), how="left"),
        left.join_where(right, c("a") < c("b"), how="right"),
        left.join_where(right, c("a") >= c("b"), c("a") < c("b") + 2, how="right"),
        left.join(right, left_on="a", right_on="b", how="right"),
        left.join(right, left_on="a", right_on="b", how="right", coalesce=False),
        left.join_where(right, (c("a") < c("b")) | (c("b") == 1), how="left"),
        left.join(right, left_on="a", right_on="b", how="left", coalesce=False),
        left.join(right, left_on="a", right_on="b", how="left"),
        left.join(right, left_on="a", right_on="b", how="full"),
    ):
        want = lf.collect(engine="in-memory")
        assert_frame_equal(lf.collect(engine=engine), want, check_row_order=False)
        report = engine.last_report
        assert report is not None and not any("unexpected" in reason for reason in report.reasons)


def test_a_panic_of_polars_is_a_refusal(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("of a test")

    monkeypatch.setattr("cuprous.frames.plan.translate.Translator._translate", panic)
    assert DATA.lazy().select(c("k").sum()).collect(engine=engine).item() == 6
    assert "not understood: PanicException" in engine.last_report.reasons[0]


def test_an_unknown_plan_is_left_to_polars(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lf = DATA.lazy().select(c("k").sum())
    for major in [*ADAPTERS]:
        monkeypatch.delitem(ADAPTERS, major)
    assert lf.collect(engine=engine).item() == 6
    assert "are not known" in engine.last_report.reasons[0]


def test_an_unknown_node_or_field_is_refused() -> None:
    class Filter:
        input = predicate = new_field = 0

    class Mystery:
        pass

    adapter = Adapter({"Filter": frozenset({"input", "predicate"})})
    with pytest.raises(Refused, match="fields that are not known: new_field"):
        adapter.check(Filter())
    with pytest.raises(Refused, match="nodes of kind Mystery are not supported"):
        adapter.check(Mystery())


def test_a_query_is_not_lost_by_an_error_here(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr("cuprous.frames.engine.Run.frame", broken)
    assert DATA.lazy().select(c("k").sum()).collect(engine=engine).item() == 6
    assert engine.last_report.reasons == ["Select: unexpected error: ZeroDivisionError('of a test')"]


def test_out_of_memory_falls_back(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise cp.OutOfMemoryError("no memory for a test")

    monkeypatch.setattr("cuprous.frames.engine.Run.frame", full)
    assert DATA.lazy().select(c("k").sum()).collect(engine=engine).item() == 6
    assert engine.last_report.reasons == ["Select: out of memory: no memory for a test"]


def test_the_environment_turns_it_off(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUPROUS_FRAMES", "off")
    assert DATA.lazy().select(c("k").sum()).collect(engine=engine).item() == 6
    assert engine.last_report.reasons == ["plan: CUPROUS_FRAMES=off"]


def test_small_frames_are_left_to_polars_by_measured_rates() -> None:
    measured = cuprous.frames.Engine()
    lf = DATA.lazy().select((c("x") * 2 + 1).sum())
    assert_frame_equal(lf.collect(engine=measured), lf.collect(engine="in-memory"))
    report = measured.last_report
    assert report is not None and not report.complete and "5 rows are few" in report.reasons[0]


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="take must be 'measured' or 'all', not 'some'"):
        cuprous.frames.Engine(take="some")  # type: ignore[arg-type]


def test_polars_with_the_engine_as_default() -> None:
    code = (
        "import cuprous.polars as pl, polars\n"
        "lf = pl.LazyFrame({'x': [1, 2]}).select(pl.col('x').sum())\n"
        "assert pl.DataFrame is polars.DataFrame and lf.collect().item() == 3\n"
        "assert pl.engine.last_report is not None\n"
        "pl.engine.last_report = None\n"
        "pl.uninstall()\n"
        "assert lf.collect().item() == 3 and pl.engine.last_report is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_frames_do_not_import_polars() -> None:
    code = "import sys, cuprous.frames; assert not {'polars', 'numpy'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_what_is_faster_by_measured_rates_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = cuprous.frames.Engine(device="cpu")
    monkeypatch.setattr("cuprous.frames.cost.LEAST_ROWS", 20_000)
    numbers = pl.DataFrame({"a": range(40_000), "b": [1, 2] * 20_000})
    sort = numbers.lazy().sort("b", maintain_order=True)
    assert_frame_equal(sort.collect(engine=engine), sort.collect(engine="in-memory"))
    assert engine.last_report is not None and engine.last_report.complete
    rows = numbers.lazy().filter(c("a") > 5)
    assert rows.collect(engine=engine).height == 39_994
    assert "Polars is faster on 40,000 rows" in engine.last_report.reasons[0]


def test_a_query_that_is_left_to_polars_is_translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuprous.frames.cost.LEAST_ROWS", 20_000)
    engine = cuprous.frames.Engine(device="cpu")
    translated = []

    class Counted(cuprous.frames.engine.Translator):  # type: ignore[misc,name-defined]
        def part(self) -> Any:
            translated.append(1)
            return super().part()

    monkeypatch.setattr("cuprous.frames.engine.Translator", Counted)
    frames = [pl.DataFrame({"a": range(height)}) for height in (40_000, 40_000, 50_000)]
    frames.append(pl.DataFrame({"a": range(40_000)}, schema={"a": pl.Int32}))
    reasons, counts = [], []
    for frame in frames:
        for least in (5, 5, 7):
            translated.clear()
            lf = frame.lazy().filter(c("a") > least)
            assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))
            assert engine.last_report is not None
            reasons.append(engine.last_report.reasons[0])
            counts.append(len(translated) > 0)
    assert counts == [True, False, True, False, False, False, True, False, True, True, False, True]
    assert reasons[0] == reasons[1] and "40,000" in reasons[0] and "50,000" in reasons[6] != reasons[0]
    first = len(engine._left)
    for least in range(300):
        frames[0].lazy().filter(c("a") > least).collect(engine=engine)
    assert first == 6 and len(engine._left) <= 256


def test_a_query_left_to_polars_by_execute_has_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = cuprous.frames.Engine(device="cpu")
    DATA.lazy().select(c("k").sum()).execute(engine=engine)
    assert engine.last_report is not None and "5 rows are few" in engine.last_report.reasons[0]


def test_strings_pay_once_they_are_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuprous.frames.cost.LEAST_ROWS", 20_000)
    engine = cuprous.frames.Engine(device="cpu")
    lf = pl.DataFrame({"s": ["ab", "b"] * 20_000}).lazy().select(c("s").str.contains("a").sum())
    assert lf.collect(engine=engine).item() == 20_000
    assert engine.last_report is not None and not engine.last_report.complete
    engine._take = "all"
    lf.collect(engine=engine)
    engine._take = "measured"
    assert lf.collect(engine=engine).item() == 20_000 and engine.last_report.complete


def test_columns_are_copied_when_they_have_been_missed_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuprous.frames.cost.LEAST_ROWS", 20_000)
    engine = cuprous.frames.Engine(device="cpu")
    lf = pl.DataFrame({"s": ["ab", "b"] * 20_000}).lazy().select(c("s").str.contains("a").sum())
    for _ in range(20):
        engine.explain(lf)  # without running it
    complete = []
    for _ in range(20):
        assert lf.collect(engine=engine).item() == 20_000
        assert engine.last_report is not None
        complete.append(engine.last_report.complete)
    assert not complete[0] and complete[-1] and complete == sorted(complete)


def test_means_of_wide_integers_have_the_error_of_their_sums(engine: Any) -> None:
    most = (1 << 63) - 1
    values = [12, -most, 10, -3, 9, most, 2, most, most - 5, -7, 1 << 53, -(1 << 62), most, -most, 3, 4]
    data = pl.DataFrame({"k": [1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3], "x": values})
    found = data.lazy().group_by("k").agg(c("x").mean(), c("x").sum().alias("sum")).sort("k").collect(engine=engine)
    assert engine.last_report.complete
    for key, mean, total in found.iter_rows():
        group = data.filter(c("k") == key)["x"].to_list()
        bound = len(group) * 2**-52 * sum(map(abs, group))
        assert abs(mean * len(group) - sum(group)) <= bound
        assert (total - sum(group)) % (1 << 64) == 0  # sums of integers wrap, and are exact


def test_correlations_are_those_of_polars(engine: Any) -> None:
    data = pl.DataFrame({
        "k": [1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5], "x": [1, 2, 3, None, 7, 7, 7, 1, 5, 6, 9],
        "y": [0.5, 0.1, 0.2, 9.0, 1.0, 2.0, 3.0, 1.0, None, None, float("nan")],
        "same": [0.5] * 11,
    }, strict=False)  # fmt: skip
    lf = data.lazy()
    for query in (
        lf.group_by("k", maintain_order=True).agg(pl.corr("x", "y"), (pl.corr("y", "same") ** 2).alias("same")),
        lf.select(pl.corr("x", c("y").fill_nan(None))),
        lf.filter(c("k") == 1).select(pl.corr("x", "y") ** 2),
        lf.select(pl.corr("x", "y").over("k")),
    ):
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"), rel_tol=1e-12)
        assert engine.last_report.complete, engine.last_report.reasons
    for other in (lf.select(pl.corr("x", "y", method="spearman")), lf.select(c("y") ** 3), lf.select(c("x") ** 2)):
        assert_frame_equal(other.collect(engine=engine), other.collect(engine="in-memory"))
        assert not engine.last_report.complete


def test_a_value_of_all_rows_that_may_be_null_keeps_the_mask_of_all_rows(engine: Any) -> None:
    lf = pl.LazyFrame({"i": [3, 1, 2], "j": [None, 5, None]})
    for query in (
        lf.select("i", r=c("i") - c("i").max()).sort("r"),
        lf.with_columns(r=pl.lit(None, pl.Int64) + c("i")).filter(c("i") > 1),
        lf.with_columns(r=c("i") + c("j").filter(c("i") > 9).max()).sort("i"),
        lf.select(c("i").min() + pl.coalesce(c("j").first(), c("i"))).sort("i", descending=True),
    ):
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"))
        assert engine.last_report.complete, engine.last_report.reasons


def test_what_polars_refuses_or_makes_null(engine: Any) -> None:
    lf = pl.LazyFrame({
        "u": pl.Series([1, 2], dtype=pl.UInt8), "u64": pl.Series([2**64 - 1, 3], dtype=pl.UInt64),
        "d": pl.Series([date(9999, 12, 31), date(2024, 1, 1)]), "i": [2**62, 2**62 + 1],
        "z": pl.Series([datetime(2024, 3, 31, 1)] * 2, dtype=pl.Datetime("us", "UTC")),
        "t": pl.Series([datetime(2024, 3, 31, 1)] * 2, dtype=pl.Datetime("us")),
    })  # fmt: skip
    errors = pl.exceptions.PolarsError
    for expression in (-c("u"), c("d").cast(pl.Datetime("ns")), c("z") - c("t")):
        with pytest.raises(errors):
            lf.select(expression).collect(engine="in-memory")
        with pytest.raises(errors):
            lf.select(expression).collect(engine=engine)
    for expression in (
        c("u64").diff(), c("d").cast(pl.Datetime("ns"), strict=False), c("i").rolling_mean(2), c("z") - c("z").min(),
        pl.LazyFrame({"f": [0.5, float("-inf"), 2.0, 7.0]}).select(c("f").quantile(0.2, "midpoint")),
    ):  # fmt: skip
        query = expression if isinstance(expression, pl.LazyFrame) else lf.select(expression)
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"), check_exact=True)


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_the_largest_values_of_groups(engine: Any, count: int, smallest: bool) -> None:
    data = pl.DataFrame({
        "k": [2, 1, 2, 1, 2, None, None, 3, 3, 3], "x": [1.0, 5.0, float("nan"), -0.0, None, 2.0, 2.0, None, None, 7.0],
        "s": ["a", "b", "a", "b", "a", None, "b", "c", "c", "c"], "i": [3, 1, 2, 3, 3, 5, 5, None, 4, 4],
    })  # fmt: skip
    name = "bottom_k" if smallest else "top_k"
    for keys in (["k"], ["k", "s"]):
        for value in (c("x"), c("i"), c("s"), c("i") + 1):
            for lf in (data.lazy(), data.lazy().filter(c("i") > 2), data.lazy().filter(c("i") > 9)):
                found = getattr(value, name)(count).alias("top")
                query = lf.group_by(keys).agg(found).explode("top", empty_as_null=False)
                order = [pl.all()]
                got, want = query.collect(engine=engine).sort(order), query.collect(engine="in-memory").sort(order)
                assert_frame_equal(got, want)
                assert engine.last_report.complete, engine.last_report.reasons


def test_other_lists_of_groups_are_left_to_polars(engine: Any) -> None:
    lf = DATA.lazy().drop("l").filter(c("k") > 0)
    for query in (
        lf.group_by("k").agg("x").explode("x", empty_as_null=False),
        lf.group_by("k").agg(c("x").top_k(c("k").first())).explode("x", empty_as_null=False),
        lf.group_by("k").agg(c("x").top_k(1), c("s").top_k(1)).explode("x", "s", empty_as_null=False),
        DATA.lazy().select("k", "l").explode("l", empty_as_null=False),
    ):
        try:
            want = query.collect(engine="in-memory")
        except pl.exceptions.PolarsError as error:
            with pytest.raises(type(error)):
                query.collect(engine=engine)
            continue
        assert_frame_equal(query.collect(engine=engine), want, check_row_order=False)
        assert not engine.last_report.complete


@pytest.mark.parametrize("value", [0.1, 22_890_625_431_754_575_3, -(2**63), 2**64 - 1, 1e300])
def test_equal_values_do_not_deviate(engine: Any, value: float) -> None:
    dtype = pl.UInt64 if value == 2**64 - 1 else None
    lf = pl.LazyFrame({"k": [1, 1, 1, 2, 2, 2, 2], "x": pl.Series([value] * 7, dtype=dtype)})
    found = lf.group_by("k").agg(c("x").std(), c("x").var().alias("var")).collect(engine=engine)
    assert found["x"].to_list() == found["var"].to_list() == [0.0, 0.0]
    assert lf.select(c("x").std(ddof=0)).collect(engine=engine).item() == 0.0
    assert engine.last_report.complete
