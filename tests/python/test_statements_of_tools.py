"""What tools ask a ClickHouse server for, in words of our own: drivers of JDBC for their metadata, dbt for its models, drawers of charts
for their columns. The answers have the names and types that the tools read."""

import json
import urllib.request

import pytest

import chalet.server


@pytest.fixture(scope="module")
def ask():
    with chalet.server.start() as server:

        def run(sql):
            """Names and types of the columns, and the rows; nothing of statements without rows."""
            url = f"http://127.0.0.1:{server.http_port}/?default_format=JSONCompact"
            with urllib.request.urlopen(urllib.request.Request(url, sql.encode(), method="POST"), timeout=300) as response:
                text = response.read()
            if not text:
                return None
            document = json.loads(text)
            return {one["name"]: one["type"] for one in document["meta"]}, document["data"]

        run("CREATE TABLE t (id UInt32, s Nullable(String) COMMENT 'text', d DateTime64(3)) ENGINE = MergeTree ORDER BY id COMMENT 'of tools'")
        run("CREATE VIEW v AS SELECT id FROM t")
        yield run


def test_metadata_of_jdbc(ask):
    kinds = "multiIf(engine LIKE '%View', 'VIEW', engine LIKE 'System%', 'SYSTEM TABLE', 'TABLE')"
    names, rows = ask(
        f"SELECT '' AS TABLE_CAT, t.database AS TABLE_SCHEM, t.name AS TABLE_NAME, {kinds.replace('engine', 't.engine')} AS TABLE_TYPE,"
        " t.comment AS REMARKS, NULL::Nullable(String) AS TYPE_CAT FROM system.tables t JOIN system.databases d"
        " ON system.tables.database = system.databases.name WHERE t.database LIKE 'default' AND TABLE_TYPE IN ('TABLE', 'VIEW') ORDER BY TABLE_NAME"
    )
    assert list(names.values()) == ["String"] * 5 + ["Nullable(String)"]
    assert rows == [["", "default", "t", "TABLE", "of tools", None], ["", "default", "v", "VIEW", "", None]]
    names, rows = ask(
        "SELECT name AS COLUMN_NAME, type AS TYPE_NAME, toInt32(position) AS ORDINAL_POSITION, numeric_precision::Nullable(Int32) AS COLUMN_SIZE,"
        " comment AS REMARKS, default_expression AS COLUMN_DEF FROM system.columns WHERE database = 'default' AND table = 't' ORDER BY position"
    )
    assert list(names.values()) == ["String", "String", "Int32", "Nullable(Int32)", "String", "String"]
    assert [row[:3] for row in rows] == [["id", "UInt32", 1], ["s", "Nullable(String)", 2], ["d", "DateTime64(3)", 3]] and rows[1][4] == "text"
    names, rows = ask(
        "SELECT system.columns.name AS COLUMN_NAME, row_number() OVER ()::Int16 AS KEY_SEQ, 'PRIMARY' AS PK_NAME FROM system.columns"
        " WHERE is_in_primary_key = 1 AND database ILIKE 'default' AND table ILIKE 't'"
    )
    assert names == {"COLUMN_NAME": "String", "KEY_SEQ": "Int16", "PK_NAME": "String"} and rows == [["id", 1, "PRIMARY"]]
    names, rows = ask("SELECT name, case_insensitive, alias_to FROM system.data_type_families WHERE alias_to = '' AND name = 'UInt8'")
    assert list(names.values()) == ["String", "UInt8", "String"] and len(rows) == 1
    assert ask("SELECT '' AS PROCEDURE_CAT, 0::Int16 AS RESERVED1 LIMIT 0") == ({"PROCEDURE_CAT": "String", "RESERVED1": "Int16"}, [])


def test_what_is_asked_at_the_beginning(ask):
    names, rows = ask("SELECT version(), timezone(), currentUser(), currentDatabase(), hostName(), displayName(), uptime() >= 0")
    assert rows[0][1:4] == ["UTC", "default", "default"] and set(names.values()) == {"String", "UInt8"}
    names, rows = ask("SELECT name, value, changed, readonly FROM system.settings WHERE name IN ('readonly', 'max_threads') ORDER BY name")
    assert list(names.values()) == ["String", "String", "UInt8", "UInt8"] and [row[0] for row in rows] == ["max_threads", "readonly"]
    # What completes words in a terminal.
    names, rows = ask(
        "SELECT DISTINCT arrayJoin(extractAll(name, '[\\\\w_]{2,}')) AS res FROM (SELECT name FROM system.functions UNION ALL SELECT name FROM"
        " system.table_engines UNION ALL SELECT name FROM system.formats UNION ALL SELECT name FROM system.table_functions UNION ALL SELECT name"
        " FROM system.data_type_families UNION ALL SELECT name FROM system.merge_tree_settings UNION ALL SELECT name FROM system.settings"
        " UNION ALL SELECT cluster FROM system.clusters UNION ALL SELECT macro FROM system.macros UNION ALL SELECT policy_name FROM"
        " system.storage_policies UNION ALL SELECT concat(func.name, comb.name) FROM system.functions AS func CROSS JOIN"
        " system.aggregate_function_combinators AS comb WHERE is_aggregate UNION ALL SELECT name FROM system.databases UNION ALL SELECT"
        " DISTINCT name FROM system.tables UNION ALL SELECT DISTINCT name FROM system.dictionaries UNION ALL SELECT DISTINCT name FROM"
        " system.columns) WHERE notEmpty(res)"
    )
    assert names == {"res": "String"} and {"MergeTree", "sumIf", "max_threads", "JSONEachRow"} <= {row[0] for row in rows}
    assert ask("EXISTS TABLE t")[1] == [[1]] and ask("EXISTS VIEW v")[1] == [[1]] and ask("EXISTS nothing")[1] == [[0]]
    assert ask("KILL QUERY WHERE query_id = 'nobody' SYNC") is None


def test_models_of_dbt(ask):
    ask("CREATE DATABASE IF NOT EXISTS dbt")
    names, rows = ask("SELECT name FROM system.databases WHERE name = 'dbt'")
    assert rows == [["dbt"]]
    ask("CREATE TABLE dbt.m ENGINE = MergeTree() ORDER BY id SETTINGS replicated_deduplication_window = 0 EMPTY AS (SELECT toUInt32(1) AS id, 'a' AS s)")
    ask("INSERT INTO dbt.m (id, s) SELECT number, toString(number) FROM numbers(3)")
    listed = (
        "SELECT t.name AS name, t.database AS schema, multiIf(engine IN ('MaterializedView', 'View'), 'view', 'table') AS type,"
        " db.engine AS db_engine FROM system.tables AS t JOIN system.databases AS db ON t.database = db.name WHERE schema = 'dbt' ORDER BY name"
    )
    assert [row[:3] for row in ask(listed)[1]] == [["m", "dbt", "table"]]
    # A model that is built anew takes the place of the old one.
    ask("CREATE TABLE dbt.m__dbt_backup ENGINE = MergeTree ORDER BY id AS SELECT toUInt32(7) AS id, 'new' AS s")
    ask("EXCHANGE TABLES dbt.m AND dbt.m__dbt_backup")
    assert ask("SELECT * FROM dbt.m")[1] == [[7, "new"]]
    # delete+insert, append and insert_overwrite.
    ask("CREATE TABLE dbt.m__dbt_new_data AS dbt.m")
    ask("INSERT INTO dbt.m__dbt_new_data SELECT number + 6, 'later' FROM numbers(2)")
    ask("DELETE FROM dbt.m WHERE (id) IN (SELECT id FROM dbt.m__dbt_new_data) SETTINGS mutations_sync = 2, allow_nondeterministic_mutations = 1")
    ask("INSERT INTO dbt.m (id, s) SELECT id, s FROM dbt.m__dbt_new_data")
    assert ask("SELECT * FROM dbt.m ORDER BY id")[1] == [[6, "later"], [7, "later"]]
    ask("ALTER TABLE dbt.m REPLACE PARTITION ID 'all' FROM dbt.m__dbt_backup")
    assert ask("SELECT count() FROM dbt.m")[1] == [[3]]
    ask("RENAME TABLE dbt.m TO dbt.n")
    ask("CREATE OR REPLACE VIEW dbt.v AS SELECT id FROM dbt.n")
    names, rows = ask("DESCRIBE TABLE (SELECT * FROM dbt.v LIMIT 0)")
    assert [row[:2] for row in rows] == [["id", "UInt32"]] and list(names)[:3] == ["name", "type", "default_type"]
    ask("ALTER TABLE dbt.n ADD COLUMN IF NOT EXISTS `more` Nullable(Int8)")
    ask("ALTER TABLE dbt.n MODIFY COMMENT 'a model'")
    assert ask("SELECT comment FROM system.tables WHERE database = 'dbt' AND name = 'n'")[1] == [["a model"]]
    ask("DROP DATABASE dbt")


def test_columns_of_charts(ask):
    ask("INSERT INTO t SELECT number, 'x', toDateTime64('2024-01-01 00:00:00', 3) + number FROM numbers(600)")
    names, rows = ask(
        "SELECT toStartOfInterval(toDateTime(d), INTERVAL 60 second) AS time, s AS series, count() AS value FROM t WHERE d >= toDateTime64(1704067200000 / 1000, 3)"
        " AND d <= fromUnixTimestamp64Milli(1704067799000) GROUP BY time, series ORDER BY time WITH FILL STEP 60"
    )
    assert list(names.values()) == ["DateTime", "Nullable(String)", "UInt64"] and len(rows) == 10 and rows[0][2] == 60
    names, rows = ask("SELECT t, groupArray((series, value)) AS g FROM (SELECT intDiv(toUInt32(d), 300) * 300 * 1000 AS t, s AS series, avg(id) AS value FROM t GROUP BY t, series) GROUP BY t ORDER BY t")
    assert len(rows) == 2 and rows[0][1] == [["x", 149.5]]
    assert "UTC" in [row[0] for row in ask("SELECT time_zone FROM system.time_zones")[1]]
