"""The 22 queries of TPC-H in Polars, with the specification's default parameters.

Prices and quantities are float64. Each function takes the tables by name and returns a lazy frame.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import polars as pl

Tables = dict[str, pl.LazyFrame]
QUERIES: dict[int, Callable[[Tables], pl.LazyFrame]] = {}
c = pl.col


def query(number: int) -> Callable[[Any], Any]:
    """Registers a query under its number."""

    def add(function: Callable[[Tables], pl.LazyFrame]) -> Callable[[Tables], pl.LazyFrame]:
        QUERIES[number] = function
        return function

    return add


def revenue() -> pl.Expr:
    """The price of a line after its discount."""
    return c("l_extendedprice") * (1 - c("l_discount"))


def within(column: str, first: date, after: date) -> pl.Expr:
    """Whether a date is in a half-open range."""
    return (c(column) >= first) & (c(column) < after)


@query(1)
def pricing_summary(t: Tables) -> pl.LazyFrame:
    """Sums and averages of the lines shipped until a date."""
    return (
        t["lineitem"]
        .filter(c("l_shipdate") <= date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            c("l_quantity").sum().alias("sum_qty"),
            c("l_extendedprice").sum().alias("sum_base_price"),
            revenue().sum().alias("sum_disc_price"),
            (revenue() * (1 + c("l_tax"))).sum().alias("sum_charge"),
            c("l_quantity").mean().alias("avg_qty"),
            c("l_extendedprice").mean().alias("avg_price"),
            c("l_discount").mean().alias("avg_disc"),
            pl.len().alias("count_order"),
        )
        .sort("l_returnflag", "l_linestatus")
    )


@query(2)
def minimum_cost_supplier(t: Tables) -> pl.LazyFrame:
    """The cheapest suppliers of brass parts in Europe."""
    offers = (
        t["part"]
        .filter((c("p_size") == 15) & c("p_type").str.ends_with("BRASS"))
        .join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
        .join(t["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
        .join(t["nation"], left_on="s_nationkey", right_on="n_nationkey")
        .join(t["region"].filter(c("r_name") == "EUROPE"), left_on="n_regionkey", right_on="r_regionkey")
    )
    cheapest = offers.group_by("p_partkey").agg(c("ps_supplycost").min())
    return (
        offers.join(cheapest, on=["p_partkey", "ps_supplycost"])
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort(["s_acctbal", "n_name", "s_name", "p_partkey"], descending=[True, False, False, False])
        .head(100)
    )


@query(3)
def shipping_priority(t: Tables) -> pl.LazyFrame:
    """The unshipped orders of most revenue."""
    return (
        t["customer"]
        .filter(c("c_mktsegment") == "BUILDING")
        .join(t["orders"].filter(c("o_orderdate") < date(1995, 3, 15)), left_on="c_custkey", right_on="o_custkey")
        .join(t["lineitem"].filter(c("l_shipdate") > date(1995, 3, 15)), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue().sum().alias("revenue"))
        .select(c("o_orderkey").alias("l_orderkey"), "revenue", "o_orderdate", "o_shippriority")
        .sort(["revenue", "o_orderdate"], descending=[True, False])
        .head(10)
    )


@query(4)
def order_priority(t: Tables) -> pl.LazyFrame:
    """Orders with a late line, by priority."""
    late = t["lineitem"].filter(c("l_commitdate") < c("l_receiptdate"))
    return (
        t["orders"]
        .filter(within("o_orderdate", date(1993, 7, 1), date(1993, 10, 1)))
        .join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(pl.len().alias("order_count"))
        .sort("o_orderpriority")
    )


@query(5)
def local_supplier_volume(t: Tables) -> pl.LazyFrame:
    """Revenue within each nation of Asia."""
    return (
        t["region"]
        .filter(c("r_name") == "ASIA")
        .join(t["nation"], left_on="r_regionkey", right_on="n_regionkey")
        .join(t["customer"], left_on="n_nationkey", right_on="c_nationkey")
        .join(
            t["orders"].filter(within("o_orderdate", date(1994, 1, 1), date(1995, 1, 1))),
            left_on="c_custkey", right_on="o_custkey",
        )
        .join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
        .join(t["supplier"], left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .group_by("n_name")
        .agg(revenue().sum().alias("revenue"))
        .sort("revenue", descending=True)
    )  # fmt: skip


@query(6)
def revenue_change(t: Tables) -> pl.LazyFrame:
    """What small discounts cost in a year."""
    return (
        t["lineitem"]
        .filter(
            within("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)),
            c("l_discount").is_between(0.05, 0.07 + 1e-9),
            c("l_quantity") < 24,
        )
        .select((c("l_extendedprice") * c("l_discount")).sum().alias("revenue"))
    )


@query(7)
def volume_shipping(t: Tables) -> pl.LazyFrame:
    """Trade between France and Germany."""
    nations = t["nation"].filter(c("n_name").is_in(["FRANCE", "GERMANY"]))
    supplier = nations.select(c("n_nationkey").alias("supp_key"), c("n_name").alias("supp_nation"))
    customer = nations.select(c("n_nationkey").alias("cust_key"), c("n_name").alias("cust_nation"))
    return (
        t["lineitem"]
        .filter(c("l_shipdate").is_between(date(1995, 1, 1), date(1996, 12, 31)))
        .join(t["supplier"], left_on="l_suppkey", right_on="s_suppkey")
        .join(supplier, left_on="s_nationkey", right_on="supp_key")
        .join(t["orders"], left_on="l_orderkey", right_on="o_orderkey")
        .join(t["customer"], left_on="o_custkey", right_on="c_custkey")
        .join(customer, left_on="c_nationkey", right_on="cust_key")
        .filter(c("supp_nation") != c("cust_nation"))
        .group_by("supp_nation", "cust_nation", c("l_shipdate").dt.year().alias("l_year"))
        .agg(revenue().sum().alias("revenue"))
        .sort("supp_nation", "cust_nation", "l_year")
    )


@query(8)
def market_share(t: Tables) -> pl.LazyFrame:
    """Brazil's share of a kind of steel in America."""
    america = t["region"].filter(c("r_name") == "AMERICA").join(
        t["nation"], left_on="r_regionkey", right_on="n_regionkey"
    )  # fmt: skip
    brazil = pl.when(c("nation") == "BRAZIL").then(c("volume")).otherwise(0.0)
    makers = t["nation"].select(c("n_nationkey").alias("maker"), c("n_name").alias("nation"))
    return (
        t["part"]
        .filter(c("p_type") == "ECONOMY ANODIZED STEEL")
        .join(t["lineitem"], left_on="p_partkey", right_on="l_partkey")
        .join(t["supplier"], left_on="l_suppkey", right_on="s_suppkey")
        .join(
            t["orders"].filter(c("o_orderdate").is_between(date(1995, 1, 1), date(1996, 12, 31))),
            left_on="l_orderkey", right_on="o_orderkey",
        )
        .join(t["customer"], left_on="o_custkey", right_on="c_custkey")
        .join(america, left_on="c_nationkey", right_on="n_nationkey")
        .join(makers, left_on="s_nationkey", right_on="maker")
        .select(c("o_orderdate").dt.year().alias("o_year"), revenue().alias("volume"), "nation")
        .group_by("o_year")
        .agg((brazil.sum() / c("volume").sum()).alias("share"))
        .sort("o_year")
    )  # fmt: skip


@query(9)
def product_profit(t: Tables) -> pl.LazyFrame:
    """Profit of green parts by nation and year."""
    return (
        t["part"]
        .filter(c("p_name").str.contains("green", literal=True))
        .join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
        .join(t["lineitem"], left_on=["p_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .join(t["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
        .join(t["orders"], left_on="l_orderkey", right_on="o_orderkey")
        .join(t["nation"], left_on="s_nationkey", right_on="n_nationkey")
        .select(
            c("n_name").alias("nation"),
            c("o_orderdate").dt.year().alias("o_year"),
            (revenue() - c("ps_supplycost") * c("l_quantity")).alias("amount"),
        )
        .group_by("nation", "o_year")
        .agg(c("amount").sum().alias("sum_profit"))
        .sort("nation", "o_year", descending=[False, True])
    )


@query(10)
def returned_items(t: Tables) -> pl.LazyFrame:
    """The customers whose returns cost most."""
    return (
        t["customer"]
        .join(
            t["orders"].filter(within("o_orderdate", date(1993, 10, 1), date(1994, 1, 1))),
            left_on="c_custkey", right_on="o_custkey",
        )
        .join(t["lineitem"].filter(c("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey")
        .join(t["nation"], left_on="c_nationkey", right_on="n_nationkey")
        .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
        .agg(revenue().sum().alias("revenue"))
        .sort("revenue", descending=True)
        .head(20)
    )  # fmt: skip


@query(11)
def important_stock(t: Tables) -> pl.LazyFrame:
    """The parts that hold most of Germany's stock."""
    stock = (
        t["partsupp"]
        .join(t["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
        .join(t["nation"].filter(c("n_name") == "GERMANY"), left_on="s_nationkey", right_on="n_nationkey")
        .with_columns((c("ps_supplycost") * c("ps_availqty")).alias("value"))
    )
    total = stock.select((c("value").sum() * 0.0001).alias("least"))
    return (
        stock.group_by("ps_partkey")
        .agg(c("value").sum())
        .join(total, how="cross")
        .filter(c("value") > c("least"))
        .select("ps_partkey", "value")
        .sort("value", "ps_partkey", descending=[True, False])
    )


@query(12)
def shipping_modes(t: Tables) -> pl.LazyFrame:
    """Late orders of two modes, urgent ones and others."""
    urgent = c("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        t["orders"]
        .join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
        .filter(
            c("l_shipmode").is_in(["MAIL", "SHIP"]),
            c("l_commitdate") < c("l_receiptdate"),
            c("l_shipdate") < c("l_commitdate"),
            within("l_receiptdate", date(1994, 1, 1), date(1995, 1, 1)),
        )
        .group_by("l_shipmode")
        .agg(urgent.sum().alias("high_line_count"), (~urgent).sum().alias("low_line_count"))
        .sort("l_shipmode")
    )


@query(13)
def customer_distribution(t: Tables) -> pl.LazyFrame:
    """How many customers have how many orders."""
    orders = t["orders"].filter(~c("o_comment").str.contains("special.*requests"))
    return (
        t["customer"]
        .join(orders, left_on="c_custkey", right_on="o_custkey", how="left")
        .group_by("c_custkey")
        .agg(c("o_orderkey").count().alias("c_count"))
        .group_by("c_count")
        .agg(pl.len().alias("custdist"))
        .sort("custdist", "c_count", descending=[True, True])
    )


@query(14)
def promotion_effect(t: Tables) -> pl.LazyFrame:
    """The share of revenue of promoted parts."""
    promoted = pl.when(c("p_type").str.starts_with("PROMO")).then(revenue()).otherwise(0.0)
    return (
        t["lineitem"]
        .filter(within("l_shipdate", date(1995, 9, 1), date(1995, 10, 1)))
        .join(t["part"], left_on="l_partkey", right_on="p_partkey")
        .select((100.0 * promoted.sum() / revenue().sum()).alias("promo_revenue"))
    )


@query(15)
def top_supplier(t: Tables) -> pl.LazyFrame:
    """The suppliers of most revenue in a quarter."""
    totals = (
        t["lineitem"]
        .filter(within("l_shipdate", date(1996, 1, 1), date(1996, 4, 1)))
        .group_by("l_suppkey")
        .agg(revenue().sum().alias("total_revenue"))
    )
    return (
        t["supplier"]
        .join(totals, left_on="s_suppkey", right_on="l_suppkey")
        .filter(c("total_revenue") == c("total_revenue").max())
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


@query(16)
def supplier_relationship(t: Tables) -> pl.LazyFrame:
    """How many suppliers offer each kind of part."""
    complaints = t["supplier"].filter(c("s_comment").str.contains("Customer.*Complaints"))
    return (
        t["part"]
        .join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
        .filter(
            c("p_brand") != "Brand#45",
            ~c("p_type").str.starts_with("MEDIUM POLISHED"),
            c("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
        )
        .join(complaints, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size")
        .agg(c("ps_suppkey").n_unique().alias("supplier_cnt"))
        .sort(["supplier_cnt", "p_brand", "p_type", "p_size"], descending=[True, False, False, False])
    )


@query(17)
def small_quantity_revenue(t: Tables) -> pl.LazyFrame:
    """What is lost without small orders of a kind of part."""
    lines = (
        t["part"]
        .filter((c("p_brand") == "Brand#23") & (c("p_container") == "MED BOX"))
        .join(t["lineitem"], left_on="p_partkey", right_on="l_partkey")
    )
    averages = lines.group_by("p_partkey").agg((0.2 * c("l_quantity").mean()).alias("least"))
    return (
        lines.join(averages, on="p_partkey")
        .filter(c("l_quantity") < c("least"))
        .select((c("l_extendedprice").sum() / 7.0).alias("avg_yearly"))
    )


@query(18)
def large_volume_customer(t: Tables) -> pl.LazyFrame:
    """Customers of large orders."""
    large = (
        t["lineitem"].group_by("l_orderkey").agg(c("l_quantity").sum().alias("quantity")).filter(c("quantity") > 300)
    )
    return (
        t["orders"]
        .join(large, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
        .join(t["customer"], left_on="o_custkey", right_on="c_custkey")
        .group_by("c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .agg(c("l_quantity").sum().alias("sum_qty"))
        .sort(["o_totalprice", "o_orderdate"], descending=[True, False])
        .head(100)
    )


@query(19)
def discounted_revenue(t: Tables) -> pl.LazyFrame:
    """Revenue of three kinds of parts that were delivered in person."""
    kinds = [
        ("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5),
        ("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10),
        ("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15),
    ]
    wanted = pl.any_horizontal(
        (c("p_brand") == brand)
        & c("p_container").is_in(containers)
        & c("l_quantity").is_between(least, least + 10)
        & c("p_size").is_between(1, size)
        for brand, containers, least, size in kinds
    )
    return (
        t["part"]
        .join(t["lineitem"], left_on="p_partkey", right_on="l_partkey")
        .filter(c("l_shipmode").is_in(["AIR", "AIR REG"]), c("l_shipinstruct") == "DELIVER IN PERSON")
        .filter(wanted)
        .select(revenue().sum().alias("revenue"))
    )


@query(20)
def potential_promotion(t: Tables) -> pl.LazyFrame:
    """Suppliers in Canada with a surplus of forest parts."""
    shipped = (
        t["lineitem"]
        .filter(within("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)))
        .group_by("l_partkey", "l_suppkey")
        .agg((c("l_quantity").sum() * 0.5).alias("half_sold"))
    )
    offers = (
        t["partsupp"]
        .join(
            t["part"].filter(c("p_name").str.starts_with("forest")),
            left_on="ps_partkey",
            right_on="p_partkey",
            how="semi",
        )
        .join(shipped, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .filter(c("ps_availqty") > c("half_sold"))
    )
    return (
        t["supplier"]
        .join(offers, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .join(t["nation"].filter(c("n_name") == "CANADA"), left_on="s_nationkey", right_on="n_nationkey")
        .select("s_name", "s_address")
        .sort("s_name")
    )


@query(21)
def suppliers_who_wait(t: Tables) -> pl.LazyFrame:
    """Suppliers in Saudi Arabia that alone were late."""
    late = t["lineitem"].filter(c("l_receiptdate") > c("l_commitdate"))
    suppliers = t["lineitem"].group_by("l_orderkey").agg(c("l_suppkey").n_unique().alias("suppliers"))
    late_ones = late.group_by("l_orderkey").agg(c("l_suppkey").n_unique().alias("late_suppliers"))
    return (
        late.join(suppliers.filter(c("suppliers") > 1), on="l_orderkey")
        .join(late_ones.filter(c("late_suppliers") == 1), on="l_orderkey")
        .join(t["orders"].filter(c("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey")
        .join(t["supplier"], left_on="l_suppkey", right_on="s_suppkey")
        .join(t["nation"].filter(c("n_name") == "SAUDI ARABIA"), left_on="s_nationkey", right_on="n_nationkey")
        .group_by("s_name")
        .agg(pl.len().alias("numwait"))
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )


@query(22)
def global_sales_opportunity(t: Tables) -> pl.LazyFrame:
    """Customers with money and no orders, by country code."""
    customers = t["customer"].with_columns(c("c_phone").str.slice(0, 2).alias("cntrycode"))
    customers = customers.filter(c("cntrycode").is_in(["13", "31", "23", "29", "30", "18", "17"]))
    average = customers.filter(c("c_acctbal") > 0.0).select(c("c_acctbal").mean().alias("average"))
    return (
        customers.join(t["orders"], left_on="c_custkey", right_on="o_custkey", how="anti")
        .join(average, how="cross")
        .filter(c("c_acctbal") > c("average"))
        .group_by("cntrycode")
        .agg(pl.len().alias("numcust"), c("c_acctbal").sum().alias("totacctbal"))
        .sort("cntrycode")
    )
