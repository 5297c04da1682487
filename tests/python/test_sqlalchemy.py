"""The dialect of SQLAlchemy."""

import datetime
import decimal
import importlib
import ipaddress
import pathlib
import tomllib
import uuid
import warnings

import pytest

import chalet

sa = pytest.importorskip("sqlalchemy")

from sqlalchemy.dialects import registry  # noqa: E402

from chalet.sqlalchemy import Engine, File, Log, Memory, types  # noqa: E402
from chalet.sqlalchemy.type_names import column_type, type_of  # noqa: E402

# What an installed package has as an entry point.
registry.register("chalet", "chalet.sqlalchemy.dialect", "ChaletDialect")


@pytest.fixture
def engine():
    made = sa.create_engine("chalet://")
    yield made
    made.dispose()


@pytest.fixture
def connection(engine):
    with engine.connect() as opened:
        yield opened


@pytest.fixture
def things(connection):
    table = sa.Table(
        "things",
        sa.MetaData(),
        sa.Column("id", types.UInt64, primary_key=True),
        sa.Column("name", sa.String),
        sa.Column("tags", types.Array(sa.String)),
        chalet_engine=Memory(),
    )
    table.create(connection)
    rows = [{"id": n, "name": None if n == 3 else f"n{n}%'_", "tags": ["a", str(n)]} for n in range(1, 6)]
    assert connection.execute(table.insert(), rows).rowcount == 5
    return table


def test_entry_point():
    project = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, name = project["entry-points"]["sqlalchemy.dialects"]["chalet"].split(":")
    assert getattr(importlib.import_module(module), name).name == "chalet"


def test_urls():
    with sa.create_engine("chalet://?max_threads=3&join_use_nulls=0").connect() as connection:
        assert connection.execute(sa.text("SELECT getSetting('max_threads'), getSetting('join_use_nulls')")).one() == (3, False)
    one, other = sa.create_engine("chalet://"), sa.create_engine("chalet:///:memory:")
    with one.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (a UInt8) ENGINE = Memory"))
    # All connections of an engine see one database, those of another one do not.
    assert sa.inspect(one).has_table("t") and not sa.inspect(other).has_table("t")
    for made in (one, other):
        made.dispose()
    arguments = sa.make_url("chalet:///some/path?max_threads=1")
    from chalet.sqlalchemy import ChaletDialect

    assert ChaletDialect().create_connect_args(arguments)[1]["path"].startswith("some/path?")


def test_a_database_on_disk(tmp_path):
    url = f"chalet:///{tmp_path}/database"
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("x", sa.String))
    made = sa.create_engine(url)
    with made.connect() as one, made.connect() as other:
        table.create(one)
        one.execute(table.insert(), [{"id": 1, "x": "a"}])
        assert other.execute(sa.select(table)).all() == [(1, "a")]
    made.dispose()
    again = sa.create_engine(url)
    with again.connect() as connection:
        assert connection.execute(sa.select(table)).all() == [(1, "a")]
    again.dispose()


VALUES = {
    "i": (types.Int8, -5),
    "big": (types.UInt256, 2**255),
    "f": (sa.Float, 0.1),
    "d": (sa.Numeric(20, 3), decimal.Decimal("-12345.678")),
    "b": (sa.Boolean, True),
    "s": (sa.String, "it's \\ \n {x:$} :y %s % ü \0"),
    "raw": (sa.LargeBinary, b"\x00\xff"),
    "text": (sa.LargeBinary, b"text"),
    "day": (sa.Date, datetime.date(1912, 6, 23)),
    "at": (sa.DateTime, datetime.datetime(2024, 2, 29, 1, 2, 3, 456789)),
    "zoned": (types.DateTime64(3, "Europe/Berlin"), datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)),
    "clock": (sa.Time, datetime.time(23, 59, 59, 1)),
    "u": (sa.Uuid, uuid.UUID(int=5)),
    "e": (sa.Enum("small", "it's large"), "it's large"),
    "e16": (types.Enum16(values={"x": -300, "y": 5}), "x"),
    "ip": (types.IPv4, ipaddress.IPv4Address("1.2.3.4")),
    "a": (types.Array(types.Array(types.Nullable(types.Int32))), [[1, None], []]),
    "sql_array": (sa.ARRAY(sa.Integer, dimensions=2), [[1, 2], [3]]),
    "m": (types.Map(sa.String, types.UInt8), {"k": 1}),
    "pair": (types.Tuple(types.Int8, sa.String), (1, "x")),
    "low": (types.LowCardinality(sa.String), "often"),
    "j": (sa.JSON, {"a": [1, None]}),
    "fixed": (types.FixedString(3), "abc"),
}


@pytest.mark.parametrize("many", [False, True])
def test_types_both_ways(connection, many):
    columns = [sa.Column(name, ty) for name, (ty, _) in VALUES.items()]
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), *columns, chalet_engine="Memory")
    table.create(connection)
    row = {name: value for name, (_, value) in VALUES.items()}
    nothing = {name: value if name in ("a", "sql_array", "m", "pair") else None for name, value in row.items()}
    if many:
        connection.execute(table.insert(), [{"id": 1, **row}, {"id": 2, **nothing}])
    else:
        connection.execute(table.insert(), {"id": 1, **row})
        connection.execute(sa.insert(table).values(id=2, **nothing))
    first, second = connection.execute(sa.select(table).order_by(table.c.id)).mappings().all()
    assert dict(first) == {"id": 1, **row}
    assert dict(second) == {"id": 2, **nothing}
    # As parameters, too.
    for name, (_, value) in VALUES.items():
        # A Tuple and a Map have no equality with a parameter's type; JSON is a text.
        if name not in ("pair", "m", "j", "a", "sql_array"):
            assert connection.scalar(sa.select(table.c.id).where(table.c[name] == value)) == 1, name


def test_statements(connection, things):
    ask = lambda statement: [tuple(row) for row in connection.execute(statement)]  # noqa: E731
    ids = sa.select(things.c.id).order_by(things.c.id)
    assert ask(ids.where(things.c.id.in_([1, 2, 99]))) == [(1,), (2,)]
    assert ask(ids.where(things.c.id.in_([]))) == [] and len(ask(ids.where(things.c.id.not_in([])))) == 5
    assert ask(ids.limit(2).offset(1)) == [(2,), (3,)] and ask(ids.offset(4)) == [(5,)]
    assert ask(ids.where(things.c.name.is_(None))) == [(3,)]
    assert ask(ids.where(things.c.name.is_distinct_from("n1%'_"))) == [(2,), (3,), (4,), (5,)]
    assert ask(ids.where(things.c.name.ilike("N1%"))) == [(1,)] and ask(ids.where(things.c.name.like("N1%"))) == []
    assert ask(ids.where(things.c.name.contains("1%'_", autoescape=True))) == [(1,)]
    assert ask(ids.where(things.c.name.contains("1'", autoescape=True))) == []
    matches = {"a##%": "a#b", "a#%": "a%", "a#_": "a_", "##": "#", "a\\%": "a\\b", "#_#%##": "_%#"}
    for pattern, text in matches.items():
        assert connection.scalar(sa.select(sa.literal(text).like(pattern, escape="#"))) is True, pattern
    assert connection.scalar(sa.select(sa.literal("axx").like("a#%", escape="#"))) is False
    assert ask(ids.where(things.c.name.regexp_match("^N[12]", flags="i"))) == [(1,), (2,)]
    assert ask(sa.select(sa.literal("abcb").regexp_replace("b", "%"))) == [("a%c%",)]
    assert ask(sa.select(things.c.tags[2]).where(things.c.id == 4)) == [("4",)]
    assert ask(sa.union(sa.select(sa.literal(1)), sa.select(sa.literal(1)))) == [(1,)]
    both = sa.union_all(sa.select(things.c.id), sa.select(things.c.id + 10))
    assert ask(both.order_by(sa.desc("id")).limit(2).offset(1)) == [(14,), (13,)]
    assert ask(sa.select(sa.func.count()).select_from(both.limit(3).subquery())) == [(3,)]
    named = sa.select(things.c.id).where(things.c.id < 3).cte("named")
    assert ask(sa.union_all(sa.select(named.c.id), sa.select(named.c.id)).order_by("id")) == [(1,), (1,), (2,), (2,)]
    assert ask(sa.except_(sa.select(things.c.id), sa.select(sa.literal(1)))) == [(2,), (3,), (4,), (5,)]
    assert ask(sa.select(sa.func.count(), sa.func.sum(things.c.id).filter(things.c.id > 3))) == [(5, 9)]
    assert ask(sa.select(sa.func.row_number().over(order_by=things.c.id.desc()), things.c.id).limit(1)) == [(1, 5)]
    assert ask(sa.select(sa.cast(None, sa.Integer), sa.try_cast("x", sa.Integer), sa.cast("7", types.UInt8))) == [(None, None, 7)]
    other = things.alias()
    outer = sa.select(things.c.id, other.c.id).outerjoin(other, sa.and_(things.c.id == other.c.id, other.c.id < 2))
    assert ask(outer.order_by(things.c.id).limit(2)) == [(1, 1), (2, None)]
    some = sa.select(things.c.id).where(things.c.id > 3).cte("some")
    assert ask(sa.select(sa.func.max(some.c.id))) == [(5,)]
    assert ask(sa.select(things.c.id % 2).distinct().order_by(sa.text("1"))) == [(0,), (1,)]
    assert ask(sa.select(sa.case((things.c.id > 3, "many"), else_="few")).distinct().order_by(sa.desc(sa.text("1")))) == [("many",), ("few",)]
    assert ask(ids.with_statement_hint("SETTINGS max_threads = 1").limit(1)) == [(1,)]
    assert ask(sa.select(sa.literal_column("'50%'"), sa.literal_column("7 % 4"))) == [("50%", 3)]


def test_bits(connection):
    table = sa.values(sa.column("x", sa.Integer), name="v").data([(6,)])
    x, literal = table.c.x, sa.literal
    found = connection.execute(
        sa.select(x.bitwise_and(3), x.bitwise_or(3), x.bitwise_xor(3), x.bitwise_not(), x.bitwise_lshift(3), x.bitwise_rshift(1))
    ).one()
    assert found == (2, 7, 5, -7, 48, 3)
    found = connection.execute(sa.select(literal(6).bitwise_not(), literal(1).bitwise_lshift(20), literal(5).bitwise_and(3) + 1)).one()
    assert found == (-7, 1 << 20, 2)


def test_values(connection):
    ask = lambda statement: [tuple(row) for row in connection.execute(statement)]  # noqa: E731
    columns = [sa.column("a", sa.Integer), sa.column("odd `b`", sa.String), sa.column("c", types.Array(sa.String))]
    rows = [(1, "it's", ["x"]), (2, None, []), (sa.func.plus(1, 2), "{x:$}", [])]
    table = sa.values(*columns, name="v").data(rows)
    wanted = [(1, "it's", ["x"]), (2, None, []), (3, "{x:$}", [])]
    assert ask(sa.select(table).order_by(table.c.a)) == wanted
    assert ask(sa.select(sa.select(table).subquery("other")).limit(1)) == wanted[:1]
    cte = table.cte("rows")
    assert ask(sa.select(cte.c.a).where(cte.c.a > 1).order_by("a")) == [(2,), (3,)]
    literal = sa.values(*columns[:2], name="v", literal_binds=True).data([(1, "it's")])
    assert ask(sa.select(literal)) == [(1, "it's")] and "'it\\'s'" in str(sa.select(literal).compile(connection))
    untyped = sa.values(sa.column("a"), sa.column("b"), name="v").data([(1, "x"), (300, None)])
    assert ask(sa.select(untyped.c.b, untyped.c.a)) == [("x", 1), (None, 300)]
    unnamed = sa.values(sa.column("a", sa.Integer)).data([(1,), (2,)])
    assert ask(sa.select(unnamed)) == [(1,), (2,)]
    assert ask(sa.select(sa.literal(2).in_(unnamed.scalar_values()), sa.literal(3).in_(unnamed.scalar_values()))) == [(True, False)]
    two = sa.values(sa.column("a", sa.Integer), name="u").data([(1,), (2,)])
    joined = sa.select(table.c.a).join(two, two.c.a == table.c.a).order_by(two.c.a)
    assert ask(joined) == [(1,), (2,)]
    with pytest.raises(sa.exc.CompileError, match="LATERAL"):
        ask(sa.select(table.lateral()))


def test_arrays(connection, things):
    ask = lambda statement: [tuple(row) for row in connection.execute(statement)]  # noqa: E731
    ids = sa.select(things.c.id).order_by(things.c.id)
    array = sa.literal([1, 2, 3], types.Array(types.Int32))
    assert ask(sa.select(array[1:2], array[2:], array[:2], array[3:1], array[:], array[2:2])) == [([1, 2], [2, 3], [1, 2], [], [1, 2, 3], [2])]
    with pytest.raises(sa.exc.CompileError, match="step"):
        ask(sa.select(array[1:3:2]))
    tags = things.c.tags
    assert ask(ids.where(sa.literal("3") == sa.any_(tags))) == [(3,)] and ask(ids.where(sa.any_(tags) == "3")) == [(3,)]
    assert ask(ids.where(~(sa.literal("3") == sa.any_(tags)))) == [(1,), (2,), (4,), (5,)]
    assert ask(ids.where(sa.literal("3") != sa.all_(tags))) == [(1,), (2,), (4,), (5,)]
    assert ask(ids.where(sa.any_(tags) > "a")) == [] and ask(ids.where(sa.literal("4") <= sa.all_(tags))) == [(4,), (5,)]
    assert ask(ids.where(sa.cast(things.c.id, sa.String) == sa.any_(tags))) == [(1,), (2,), (3,), (4,), (5,)]
    assert ask(ids.where(things.c.id == sa.any_(array))) == [(1,), (2,), (3,)]
    some = sa.select(things.c.id).where(things.c.id > 3).scalar_subquery()
    assert ask(ids.where(things.c.id == sa.any_(some))) == [(4,), (5,)]
    # The condition joins both.
    other = things.alias()
    pairs = sa.select(things.c.id, other.c.id).where(sa.cast(other.c.id, sa.String) == sa.any_(things.c.tags))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ask(pairs)) == 5


def test_json(connection):
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("j", sa.JSON), chalet_engine=Memory())
    table.create(connection)
    value = {"a": {"b": 1 << 40, "it's {x:$}": None}, "l": [1, "x", {"y": [2]}], "s": "text", "f": 1.5, "t": True, "1": "one"}
    connection.execute(table.insert(), [{"id": 1, "j": value}])
    j = table.c.j
    one = lambda *columns: tuple(connection.execute(sa.select(*columns)).one())  # noqa: E731
    assert one(j["a"], j["l"][2]["y"], j["nothing"], j["l"].as_json()) == (value["a"], [2], None, value["l"])
    assert one(j["a"]["b"].as_integer(), j[("a", "b")].as_integer(), j[("l", 2, "y", 0)].as_integer()) == (1 << 40, 1 << 40, 2)
    assert one(j["s"].as_string(), j["l"][-2].as_string(), j["1"].as_string(), j["l"][7].as_string()) == ("text", "x", "one", None)
    assert one(j["f"].as_float(), j["t"].as_boolean(), j["f"].as_numeric(10, 2)) == (1.5, True, decimal.Decimal("1.50"))
    assert one(j["a"]["it's {x:$}"].as_string(), j[("a", "nothing", "more")].as_integer()) == (None, None)
    # What looks like a place of a value is none.
    assert one(j["{param_1:$}"].as_string(), j[("a", "{j_2:$}")].as_string(), sa.literal(datetime.datetime(2024, 1, 1)) > "2023-01-01") == (
        None,
        None,
        True,
    )
    # The same text of a statement with other places.
    assert [one(j["l"][place].as_string())[0] for place in (0, 1, 9)] == ["1", "x", None]
    assert connection.scalar(sa.select(table.c.id).where(j["s"].as_string() == "text")) == 1


def test_strings_put_together(connection, things):
    both = sa.func.aggregate_strings(things.c.name, "'; ").filter(things.c.id < 3), sa.func.aggregate_strings(sa.distinct(things.c.tags[1]), ", ")
    assert connection.execute(sa.select(*both)).one() == ("n1%'_'; n2%'_", "a")
    odd = sa.func.aggregate_strings(things.c.name, "{param_1:$}").filter(things.c.id < 3), sa.literal("'")
    assert connection.execute(sa.select(*odd)).one() == ("n1%'_{param_1:$}n2%'_", "'")


def test_what_is_refused(engine, connection, things):
    for statement in (things.insert().returning(things.c.id), things.delete().returning(things.c.id)):
        with pytest.raises(sa.exc.CompileError, match="RETURNING"):
            connection.execute(statement, {"id": 1} if statement.is_insert else {})
    with pytest.raises(sa.exc.CompileError, match="begin_nested"):
        connection.begin_nested()
    assert connection.scalar(sa.select(sa.func.count()).select_from(things)) == 5


def test_update_and_delete(engine, connection, things):
    count = sa.select(sa.func.count()).select_from(things)
    connection.execute(things.update().where(things.c.id > 2).values(name="x"))
    assert connection.scalar(count.where(things.c.name == "x")) == 3
    connection.execute(things.delete().where(things.c.id == 1))
    assert connection.scalar(count) == 4


def test_isolation_levels():
    made = sa.create_engine("chalet://", isolation_level="AUTOCOMMIT")
    with made.connect() as connection:
        assert connection.get_isolation_level() == connection.default_isolation_level == "AUTOCOMMIT"
        assert connection.scalar(sa.select(1)) == 1
    with made.execution_options(isolation_level="AUTOCOMMIT").begin() as connection:
        assert connection.scalar(sa.select(1)) == 1
    with pytest.raises(sa.exc.ArgumentError, match="AUTOCOMMIT"):
        made.execution_options(isolation_level="SERIALIZABLE").connect()
    made.dispose()


def test_texts_are_left_alone(connection):
    assert connection.execute(sa.text("SELECT '50%', 7 % 4, 1::UInt8, '{x:$}', :y").bindparams(y="it's")).one() == (
        "50%",
        3,
        1,
        "{x:$}",
        "it's",
    )
    assert connection.exec_driver_sql("SELECT '50%', 7 % 4").one() == ("50%", 3)
    assert connection.exec_driver_sql("SELECT {a:UInt8} + 1", {"a": 1}).scalar() == 2
    assert connection.exec_driver_sql("SELECT %s || %s", ("a", "b")).scalar() == "ab"
    assert connection.exec_driver_sql("SELECT %(a)s", {"a": None}).scalar() is None


def test_values_are_bound(connection, engine):
    evil = "'); DROP TABLE things; --"
    seen = []
    sa.event.listen(engine, "before_cursor_execute", lambda conn, cursor, statement, *_: seen.append(statement))
    assert connection.scalar(sa.select(sa.literal(evil))) == evil
    assert connection.scalar(sa.select(sa.bindparam("odd name {}%", evil))) == evil
    assert not any("DROP" in statement for statement in seen)


def test_inserts(connection, things):
    connection.execute(things.insert().values(id=10, name=sa.func.upper("abc")))
    connection.execute(sa.insert(things).values([{"id": 11, "name": None}, {"id": 12, "name": "x"}]))
    connection.execute(things.insert().from_select(["id", "name"], sa.select(things.c.id + 100, things.c.name).where(things.c.id > 10)))
    rows = connection.execute(sa.select(things.c.id, things.c.name).where(things.c.id >= 10).order_by(things.c.id)).all()
    assert rows == [(10, "ABC"), (11, None), (12, "x"), (111, None), (112, "x")]
    # Rows go in together: 30 000 of them take a moment, not a minute.
    assert connection.execute(things.insert(), [{"id": n, "name": "y"} for n in range(1000, 31000)]).rowcount == 30000
    assert connection.scalar(sa.select(sa.func.count()).where(things.c.name == "y")) == 30000
    connection.execute(things.delete())
    assert connection.scalar(sa.select(sa.func.count()).select_from(things)) == 0


def test_definitions(connection, tmp_path):
    metadata = sa.MetaData()
    table = sa.Table(
        "odd `name`",
        metadata,
        sa.Column("index", sa.Integer, primary_key=True),
        sa.Column("select", sa.String, nullable=False, server_default=sa.text("'x'"), comment="it's"),
        sa.Column("twice", types.Int64, sa.Computed("`index` * 2", persisted=True)),
        sa.Column("other", sa.Integer, sa.ForeignKey("odd `name`.index"), index=True, unique=True),
        sa.CheckConstraint(sa.text("`index` > 0"), name="positive"),
        comment="a comment",
        chalet_engine=Memory(),
    )
    metadata.create_all(connection)
    metadata.create_all(connection)
    connection.execute(table.insert(), [{"index": 5}])
    assert connection.execute(sa.select(table)).all() == [(5, "x", 10, None)]
    with pytest.raises(sa.exc.IntegrityError):
        connection.execute(table.insert(), [{"index": -5}])
    inspector = sa.inspect(connection)
    assert inspector.get_table_comment("odd `name`") == {"text": "a comment"}
    columns = {column["name"]: column for column in inspector.get_columns("odd `name`")}
    assert columns["select"]["default"] == "'x'" and columns["select"]["comment"] == "it's"
    assert columns["twice"]["computed"]["persisted"] is True and columns["other"]["nullable"] is True
    assert inspector.get_check_constraints("odd `name`") == [{"name": "positive", "sqltext": "index > 0"}]
    metadata.drop_all(connection)
    assert not sa.inspect(connection).has_table("odd `name`")
    file = tmp_path / "rows.csv"
    written = sa.Table("f", sa.MetaData(), sa.Column("a", types.UInt8, nullable=False), chalet_engine=File("CSV", str(file)))
    written.create(connection)
    connection.execute(written.insert(), [{"a": 1}, {"a": 2}])
    assert file.read_text() == "1\n2\n"


def test_engines():
    table = sa.Table("t", sa.MetaData(), sa.Column("a", types.UInt8), sa.Column("at", sa.DateTime), chalet_engine=None)
    table.dialect_options["chalet"]["engine"] = Engine(
        "ReplacingMergeTree",
        "it's",
        1,
        order_by=[table.c.a, "at"],
        partition_by=sa.func.toYYYYMM(table.c.at),
        ttl="at + INTERVAL 1 DAY",
        settings={"index_granularity": 8192},
    )
    from chalet.sqlalchemy import ChaletDialect

    text = str(sa.schema.CreateTable(table).compile(dialect=ChaletDialect()))
    for part in ("ReplacingMergeTree('it\\'s', 1)", "ORDER BY (a, at)", "PARTITION BY toYYYYMM(`at`)", "index_granularity = 8192"):
        assert part in text or part.replace("`", "") in text
    assert repr(Log()) == "<Engine ENGINE = Log>"


def test_reflection(connection, things):
    connection.execute(sa.text("CREATE VIEW seen AS SELECT id FROM things WHERE id > 1"))
    connection.execute(sa.schema.CreateSchema("other"))
    connection.execute(sa.text("CREATE TABLE other.far (a LowCardinality(Nullable(String)), b Array(Nullable(Int8))) ENGINE = Memory"))
    connection.execute(sa.text("CREATE TEMPORARY TABLE here (a UInt8)"))
    inspector = sa.inspect(connection)
    assert inspector.get_table_names() == ["things"] and inspector.get_view_names() == ["seen"]
    assert inspector.get_table_names(schema="other") == ["far"] and "other" in inspector.get_schema_names()
    assert inspector.has_schema("other") and not inspector.has_schema("nowhere")
    assert inspector.get_temp_table_names() == ["here"] and inspector.has_table("here")
    assert inspector.has_table("far", schema="other") and not inspector.has_table("far")
    assert "things" in inspector.get_view_definition("seen")
    assert inspector.get_table_options("things") == {"chalet_engine": "Memory"}
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("nowhere")
    names = (inspector.get_materialized_view_names(), inspector.get_temp_view_names(), inspector.get_sequence_names())
    assert names == ([], [], []) and not inspector.has_sequence("nowhere")
    assert (inspector.get_indexes("things"), inspector.get_foreign_keys("things")) == ([], [])
    far = sa.Table("far", sa.MetaData(), schema="other", autoload_with=connection)
    connection.execute(far.insert(), [{"a": "x", "b": [1]}])
    inner = sa.select(far.c.a).where(far.c.a != "y").subquery()
    assert connection.execute(sa.select(inner.c.a)).all() == [("x",)]
    metadata = sa.MetaData()
    metadata.reflect(connection, views=True)
    again = metadata.tables["things"]
    assert connection.scalar(sa.select(sa.func.count()).select_from(again)) == 5
    assert set(metadata.tables) == {"things", "seen"}
    again.drop(connection)
    # What was reflected can be made again.
    again.create(connection)
    assert repr(sa.inspect(connection).get_columns("things")[2]["type"]) == "Array(String())"


def test_reflection_of_checks(connection):
    connection.execute(
        sa.text(
            "CREATE TABLE t (a Decimal(10, 2) DEFAULT greatest(1, 2), `b c` Array(String), CONSTRAINT positive CHECK a > 0, "
            "CONSTRAINT `odd ``, CHECK` CHECK has(['x', ')'], `b c`[1]) OR (a, 1) != (5, 1)) ENGINE = Memory"
        )
    )
    found = sa.inspect(connection).get_check_constraints("t")
    assert [each["name"] for each in found] == ["positive", "odd `, CHECK"] and found[0]["sqltext"] == "a > 0"
    table = sa.Table("t", sa.MetaData(), autoload_with=connection)
    table.drop(connection)
    table.create(connection)
    assert sa.inspect(connection).get_check_constraints("t") == found
    with pytest.raises(sa.exc.IntegrityError, match="positive"):
        connection.execute(table.insert(), [{"a": -1, "b c": ["x"]}])


@pytest.mark.parametrize(
    "text",
    [
        "UInt64",
        "Decimal(38, 10)",
        "DateTime",
        "DateTime('Europe/Berlin')",
        "DateTime64(3)",
        "DateTime64(9, 'UTC')",
        "FixedString(16)",
        "Enum8('a' = -1, 'it\\'s' = 2)",
        "Array(Array(Nullable(Int8)))",
        "Map(LowCardinality(String), Array(UInt8))",
        "Tuple(UInt8, String)",
        "Tuple(`a` UInt8, `b c` Tuple(String, Int8))",
        "AggregateFunction(sum, UInt64)",
        "Time64(3)",
        "IPv6",
    ],
)
def test_names_of_types(text):
    from chalet.sqlalchemy import ChaletDialect

    dialect = ChaletDialect()
    assert dialect.type_compiler_instance.process(type_of(text)) == text
    assert column_type(f"Nullable({text})")[1] and not column_type(text)[1]


def test_errors(connection):
    with pytest.raises(sa.exc.ProgrammingError, match="UNKNOWN_IDENTIFIER") as caught:
        connection.execute(sa.text("SELECT nosuch"))
    assert isinstance(caught.value.orig, chalet.Error) and caught.value.orig.code == 47


def test_orm(engine):
    from sqlalchemy import orm

    class Base(orm.DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "authors"
        __table_args__ = {"chalet_engine": Memory()}
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        name: orm.Mapped[str]
        books: orm.Mapped[list["Book"]] = orm.relationship(back_populates="author")

    class Book(Base):
        __tablename__ = "books"
        __table_args__ = {"chalet_engine": Memory()}
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("authors.id"))
        author: orm.Mapped[Author] = orm.relationship(back_populates="books")

    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add_all([Author(id=1, name="a", books=[Book(id=1), Book(id=2)]), Author(id=2, name="b")])
        session.commit()
    with orm.Session(engine) as session:
        loaded = session.scalars(sa.select(Author).options(orm.joinedload(Author.books)).order_by(Author.id)).unique().all()
        assert [(author.name, len(author.books)) for author in loaded] == [("a", 2), ("b", 0)]


def test_pandas(engine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "whole": [1, 2, 3],
            "part": [0.5, None, 1.5],
            "text": ["x", None, "z"],
            "at": pandas.to_datetime(["2024-01-01 01:02:03.456", None, "1900-01-01"], format="ISO8601"),
            "is": [True, False, True],
        }
    )
    assert frame.to_sql("frame", engine, index=False) == 3
    read = pandas.read_sql("SELECT * FROM frame ORDER BY whole", engine)
    pandas.testing.assert_frame_equal(read, frame, check_dtype=False)
    assert frame.to_sql("frame", engine, if_exists="append", index=False, method="multi") == 3
    assert pandas.read_sql_table("frame", engine).shape == (6, 5)
    assert frame.to_sql("frame", engine, if_exists="replace", index=True) == 3
    chosen = pandas.read_sql(sa.text("SELECT text FROM frame WHERE whole > :least"), engine, params={"least": 2})
    assert chosen["text"].tolist() == ["z"]
    with pytest.raises(ValueError):
        frame.to_sql("frame", engine)


def test_a_server():
    import chalet.server

    registry.register("chalet.clickhouse", "chalet.sqlalchemy.dialect", "ClickHouseDialect")
    users = {"alice": {"password": "s/cret@"}}
    with chalet.server.start(http=None, users=users) as server:
        url = sa.URL.create("chalet+clickhouse", "alice", "s/cret@", "127.0.0.1", server.tcp_port, "default", {"max_threads": "1"})
        engine = sa.create_engine(url)
        metadata = sa.MetaData()
        table = sa.Table("t", metadata, sa.Column("id", sa.Integer), sa.Column("name", sa.String), chalet_engine=Memory())
        metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(table.insert(), [{"id": 1, "name": "it's"}, {"id": 2, "name": None}])
            rows = connection.execute(sa.select(table.c.name).where(table.c.id >= 1).order_by(table.c.id)).all()
            assert rows == [("it's",), (None,)]
            assert connection.exec_driver_sql("SELECT getSetting('max_threads')").scalar() == 1
        assert sa.inspect(engine).get_table_names() == ["t"]
        assert [column["name"] for column in sa.inspect(engine).get_columns("t")] == ["id", "name"]
        engine.dispose()
        with pytest.raises(sa.exc.DBAPIError):
            sa.create_engine(url.set(password="wrong")).connect()
