"""SQLAlchemy's dialect that comes with clickhouse-connect, and pandas and polars over it, against a server: programs in the style of their documentation."""

import datetime as dt

import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from clickhouse_connect.cc_sqlalchemy.datatypes.sqltypes import Array, DateTime, Int64, String, UInt32
from clickhouse_connect.cc_sqlalchemy.ddl.tableengine import MergeTree

import chalet.server


@pytest.fixture(scope="module")
def engine():
    with chalet.server.start(tcp=None) as served:
        made = sa.create_engine(f"clickhousedb://default:@127.0.0.1:{served.http_port}/default")
        yield made
        made.dispose()


def test_text_with_parameters(engine):
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1
        asked = sa.text("SELECT :a AS a, :b AS b")
        assert tuple(connection.execute(asked, {"a": 5, "b": "it's 5 %"}).one()) == (5, "it's 5 %")
        rows = connection.execute(sa.text("SELECT number AS n, toString(number) AS s FROM numbers(3)")).mappings().all()
        assert rows[2] == {"n": 2, "s": "2"}


def test_tables_are_made_filled_asked_and_reflected(engine):
    meta = sa.MetaData()
    visits = sa.Table(
        "visits",
        meta,
        sa.Column("id", UInt32),
        sa.Column("name", String),
        sa.Column("at", DateTime),
        sa.Column("tags", Array(String)),
        MergeTree(order_by="id"),
    )
    meta.create_all(engine)
    given = [
        {"id": 1, "name": "a", "at": dt.datetime(2024, 1, 1), "tags": ["x"]},
        {"id": 2, "name": "b", "at": dt.datetime(2024, 1, 2), "tags": []},
    ]
    with engine.begin() as connection:
        connection.execute(visits.insert(), given)
        found = connection.execute(sa.select(visits).where(visits.c.id >= 1).order_by(visits.c.id.desc()).limit(5)).all()
        assert [(row.id, row.name, row.tags) for row in found] == [(2, "b", []), (1, "a", ["x"])]
        assert tuple(connection.execute(sa.select(sa.func.count(), sa.func.max(visits.c.name)).select_from(visits)).one()) == (2, "b")
        other = visits.alias()
        joined = sa.select(visits.c.id, other.c.name).join(other, visits.c.id == other.c.id).order_by(visits.c.id)
        assert [tuple(row) for row in connection.execute(joined)] == [(1, "a"), (2, "b")]
        connection.execute(sa.delete(visits).where(visits.c.id == 1))
        assert connection.execute(sa.select(sa.func.count()).select_from(visits)).scalar() == 1
    inspector = sa.inspect(engine)
    assert "visits" in inspector.get_table_names() and "default" in inspector.get_schema_names()
    assert [column["name"] for column in inspector.get_columns("visits")] == ["id", "name", "at", "tags"]
    assert inspector.has_table("visits") and not inspector.has_table("nothing")
    reflected = sa.Table("visits", sa.MetaData(), autoload_with=engine)
    assert [type(column.type).__name__ for column in reflected.c][:2] == ["UInt32", "String"]
    meta.drop_all(engine)
    assert not sa.inspect(engine).has_table("visits")


def test_pandas_reads_and_writes(engine):
    sql = "SELECT number AS n, toDate('2024-01-01') + number AS d, if(number = 1, NULL, number) AS u FROM numbers(3)"
    frame = pd.read_sql(sql, engine)
    assert list(frame.columns) == ["n", "d", "u"] and frame["n"].tolist() == [0, 1, 2] and frame["u"].isna().tolist() == [False, True, False]
    meta = sa.MetaData()
    sa.Table("frames", meta, sa.Column("a", Int64), sa.Column("b", String), MergeTree(order_by="a"))
    meta.create_all(engine)
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_sql("frames", engine, if_exists="append", index=False)
    assert pd.read_sql_table("frames", engine).sort_values("a")["b"].tolist() == ["x", "y"]
    parts = list(pd.read_sql("SELECT number FROM numbers(10)", engine, chunksize=4))
    assert [len(part) for part in parts] == [4, 4, 2]


def test_polars_reads(engine):
    with engine.connect() as connection:
        frame = pl.read_database("SELECT number AS n, toString(number) AS s FROM numbers(4)", connection=connection)
    assert frame.shape == (4, 2) and frame["s"].to_list() == ["0", "1", "2", "3"]


def test_errors_are_those_of_the_server(engine):
    with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError, match="UNKNOWN_TABLE"):
        connection.execute(sa.text("SELECT a FROM nothing_here"))
