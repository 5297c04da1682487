"""Writes docs/coverage.md: what of the dialect is here, by the lists that the kernel and this engine have of themselves.

    python tools/coverage.py                         # needs chalet installed, as in the environment of tests
    python tools/coverage.py --kernel PYTHON         # an interpreter with chdb: asks the kernel for its lists anew

Without the kernel the names are those that the engine's sources keep of it, and the formats those of the page as it is. Why something
is missing stands in REASONS; a function's reason is on docs/functions.md.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
TARGET = ROOT / "docs" / "coverage.md"
SYSTEM = ROOT / "crates" / "engine" / "src" / "system"
SETTINGS = ROOT / "crates" / "engine" / "src" / "settings"

# Lists that are a column `name` of a table of the system database: title, table, whether names in parentheses are aliases.
LISTS = [
    ("Functions and aggregates", "functions"),
    ("Combinators of aggregates", "aggregate_function_combinators"),
    ("Types", "data_type_families"),
    ("Formats", "formats"),
    ("Table engines", "table_engines"),
    ("Table functions", "table_functions"),
    ("Database engines", "database_engines"),
    ("Layouts of dictionaries", "dictionary_layouts"),
    ("Sources of dictionaries", "dictionary_sources"),
    ("Codecs", "codecs"),
    ("System tables", "tables WHERE database = 'system'"),
    ("information_schema", "tables WHERE database = 'information_schema'"),
    ("Settings", "settings"),
    ("Settings of MergeTree", "merge_tree_settings"),
]

# Why names are missing: a pattern for names, and the reason.
REASONS = {
    "tables WHERE database = 'system'": [
        (r"users|roles|role_grants|grants|quota|row_policies|masking|settings_profile", "reading fails with ACCESS_DENIED, as in the kernel's embedded form"),
        (r"symbols|stack_trace|fail_points|jemalloc|licenses|contributors", "about the program of the kernel itself"),
        (r"unicode|documentation|statements|settings_changes|dashboards", "texts and tables that the kernel brings with it"),
        (r"distributed_ddl_queue", "needs a keeper"),
        (r"session_query_ids", "not written yet"),
    ],
    "table_engines": [
        (r"Replicated|KeeperMap|.*Queue$", "needs a keeper"),
        (r"Loop|Fuzz.*|GenerateRandom|TimeSeries|QueryRunner|FileLog|Executable.*", "not written yet under this name"),
        (r".*", "a client of another system"),
    ],
    "table_functions": [
        (r"loop|eval|fuzz.*|generateRandom|input|view.*|mergeTree.*|timeSeries.*|prometheus.*|executable|SQLStandardValues|filesystem", "not written yet"),
        (r".*Cluster", "fails with the kernel's error for a cluster that is not known"),
        (r".*", "a client of another system"),
    ],
    "database_engines": [(r"Ordinary|Replicated", "refused with the kernel's error"), (r".*", "a client of another system")],
    "dictionary_layouts": [(r".*", "not written yet")],
    "dictionary_sources": [(r".*", "a client of another system")],
    "formats": [
        (r"MySQLWire|PostgreSQLWire", "the protocol of another server"),
        (r"AvroConfluent", "needs a registry of schemas on the network"),
        (r".*", "not written yet"),
    ],
    "data_type_families": [(r".*", "not written yet")],
    "codecs": [(r".*", "experimental in the kernel")],
}

# A statement of each kind; what comes before it prepares it.
STATEMENTS = [
    ("CREATE DATABASE", "CREATE DATABASE d"),
    ("CREATE TABLE", "CREATE TABLE t (a Int32, s String DEFAULT 'x', d Date DEFAULT today()) ENGINE = MergeTree ORDER BY a"),
    ("INSERT", "INSERT INTO t (a, s) VALUES (1, 'a'), (2, 'b')"),
    ("INSERT SELECT", "INSERT INTO t (a, s) SELECT number, 'c' FROM numbers(3)"),
    ("SELECT", "SELECT a, count() FROM t GROUP BY a HAVING a > 0 ORDER BY a LIMIT 3"),
    ("WITH RECURSIVE", "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r"),
    ("ALTER ADD COLUMN", "ALTER TABLE t ADD COLUMN n UInt8"),
    ("ALTER MODIFY COLUMN", "ALTER TABLE t MODIFY COLUMN n UInt16"),
    ("ALTER RENAME COLUMN", "ALTER TABLE t RENAME COLUMN n TO m"),
    ("ALTER DROP COLUMN", "ALTER TABLE t DROP COLUMN m"),
    ("ALTER UPDATE", "ALTER TABLE t UPDATE s = 'z' WHERE a = 1"),
    ("ALTER DELETE", "ALTER TABLE t DELETE WHERE a = 2"),
    ("DELETE", "DELETE FROM t WHERE a = 7"),
    ("ALTER ADD INDEX", "ALTER TABLE t ADD INDEX i a TYPE minmax"),
    ("ALTER ADD PROJECTION", "ALTER TABLE t ADD PROJECTION p (SELECT a ORDER BY s)"),
    ("ALTER MODIFY TTL", "ALTER TABLE t MODIFY TTL d + INTERVAL 100 YEAR"),
    ("ALTER MODIFY SETTING", "ALTER TABLE t MODIFY SETTING min_rows_for_wide_part = 1"),
    ("CREATE INDEX", "CREATE INDEX j ON t (a) TYPE minmax"),
    ("UPDATE", "UPDATE t SET s = 'q' WHERE a = 1"),
    ("OPTIMIZE", "OPTIMIZE TABLE t FINAL"),
    ("CHECK TABLE", "CHECK TABLE t"),
    ("EXPLAIN", "EXPLAIN SELECT 1"),
    ("EXPLAIN PIPELINE", "EXPLAIN PIPELINE SELECT 1"),
    ("EXPLAIN AST", "EXPLAIN AST SELECT 1"),
    ("EXPLAIN SYNTAX", "EXPLAIN SYNTAX SELECT 1"),
    ("EXPLAIN ESTIMATE", "EXPLAIN ESTIMATE SELECT a FROM t"),
    ("EXPLAIN QUERY TREE", "EXPLAIN QUERY TREE SELECT 1"),
    ("SHOW TABLES", "SHOW TABLES"),
    ("SHOW FULL TABLES", "SHOW FULL TABLES"),
    ("SHOW CREATE", "SHOW CREATE TABLE t"),
    ("SHOW COLUMNS", "SHOW COLUMNS FROM t"),
    ("SHOW INDEXES", "SHOW INDEXES FROM t"),
    ("SHOW FUNCTIONS", "SHOW FUNCTIONS"),
    ("SHOW SETTINGS", "SHOW SETTINGS LIKE 'max_block_size'"),
    ("SHOW ENGINES", "SHOW ENGINES"),
    ("SHOW PROCESSLIST", "SHOW PROCESSLIST"),
    ("SHOW GRANTS", "SHOW GRANTS"),
    ("DESCRIBE", "DESCRIBE TABLE t"),
    ("EXISTS", "EXISTS TABLE t"),
    ("CREATE VIEW", "CREATE VIEW v AS SELECT a FROM t"),
    ("CREATE MATERIALIZED VIEW", "CREATE MATERIALIZED VIEW mv ENGINE = Memory AS SELECT a FROM t"),
    ("CREATE DICTIONARY", "CREATE DICTIONARY di (a UInt64, s String) PRIMARY KEY a SOURCE(CLICKHOUSE(TABLE 't')) LAYOUT(FLAT()) LIFETIME(0)"),
    ("CREATE FUNCTION", "CREATE FUNCTION f AS x -> x + 1"),
    ("CREATE NAMED COLLECTION", "CREATE NAMED COLLECTION nc AS a = 1"),
    ("CREATE USER", "CREATE USER u"),
    ("CREATE ROLE", "CREATE ROLE r"),
    ("GRANT", "GRANT SELECT ON t TO default"),
    ("CREATE WORKLOAD", "CREATE WORKLOAD w"),
    ("BACKUP", "BACKUP TABLE t TO Memory('b')"),
    ("RESTORE", "RESTORE TABLE t AS t2 FROM Memory('b')"),
    ("RENAME", "RENAME TABLE t2 TO t3"),
    ("EXCHANGE", "EXCHANGE TABLES t AND t3"),
    ("DETACH", "DETACH TABLE t3"),
    ("ATTACH", "ATTACH TABLE t3"),
    ("TRUNCATE", "TRUNCATE TABLE t3"),
    ("DROP", "DROP TABLE t3"),
    ("UNDROP", "UNDROP TABLE t3"),
    ("SET", "SET max_threads = 2"),
    ("USE", "USE default"),
    ("KILL QUERY", "KILL QUERY WHERE query_id = 'none'"),
    ("SYSTEM", "SYSTEM FLUSH LOGS"),
    ("BEGIN TRANSACTION", "BEGIN TRANSACTION"),
    ("PARALLEL WITH", "CREATE TABLE p1 (a Int8) ENGINE = Memory PARALLEL WITH CREATE TABLE p2 (a Int8) ENGINE = Memory"),
]


def rows(query, sql: str) -> list:
    return [json.loads(line) for line in str(query(sql, "JSONCompactEachRow")).splitlines() if line]


def names(query, table: str) -> list[str]:
    return sorted({row[0] for row in rows(query, f"SELECT name FROM system.{table}")})


def asked_kernel(python: str) -> dict[str, list[str]]:
    """The kernel's lists, asked in a process of its own."""
    program = (
        "import chdb, json\n"
        "def names(table):\n"
        "    text = str(chdb.query(f'SELECT DISTINCT name FROM system.{table}', 'JSONCompactEachRow'))\n"
        "    return [json.loads(line)[0] for line in text.splitlines() if line]\n"
        f"print(json.dumps({{table: names(table) for table in {[table for _, table in LISTS]!r}}}))"
    )
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def kept_of_kernel() -> dict[str, list[str]]:
    """What the engine's sources know of the kernel's lists."""
    first = lambda path: [line.split("\t")[0] for line in path.read_text().splitlines() if line and line[0] != "\t"]
    kept = {
        "functions": first(SYSTEM / "functions.tsv"),
        "settings": first(SETTINGS / "known.tsv"),
        "merge_tree_settings": first(SETTINGS / "merge_tree.tsv"),
    }
    for table in ["table_engines", "table_functions", "aggregate_function_combinators"]:
        kept[table] = first(SYSTEM / "rows" / f"{table}.tsv")[1:]
    return kept


def without_effect(settings: list[str]) -> list[str]:
    """Settings that no source mentions but the lists of names: they are taken and change nothing."""
    text = []
    for path in [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/**/*.py")]:
        if path.name != "list.rs" or path.parent.name != "settings":
            text.append(path.read_text())
    words = set(re.findall(r"[a-z][a-z0-9_]{3,}", "\n".join(text)))
    return [name for name in settings if name not in words]


def statements(chalet) -> list[str]:
    """A row for each kind of statement: does ours run it?"""
    lines = ["| statement | here |", "|---|---|"]
    with chalet.connect() as connection:
        for name, sql in STATEMENTS:
            try:
                connection.query(sql)
                state = "yes"
            except Exception as error:  # noqa: BLE001: whatever it is, it is told
                code = re.search(r"\((\w+)\)\s*$", str(error).splitlines()[0]) or re.search(r"\(([A-Z_]+)\)", str(error))
                state = f"fails with {code[1] if code else type(error).__name__}"
            lines.append(f"| `{name}` | {state} |")
    return lines


def reason(table: str, name: str) -> str:
    for pattern, text in REASONS.get(table, []):
        if re.fullmatch(pattern, name) or pattern != ".*" and re.match(pattern, name):
            return text
    return "see docs/functions.md" if table == "functions" else "not written yet"


def section(title: str, table: str, theirs: list[str], ours: list[str]) -> list[str]:
    missing = sorted(set(theirs) - set(ours))
    lines = [f"## {title}", "", f"{len(set(theirs)) - len(missing)} of {len(set(theirs))} are here.", ""]
    by_reason: dict[str, list[str]] = {}
    for name in missing:
        by_reason.setdefault(reason(table, name), []).append(name)
    if by_reason:
        lines += ["| missing | why |", "|---|---|"]
        lines += [f"| {', '.join(f'`{name}`' for name in found)} | {why} |" for why, found in by_reason.items()]
        lines.append("")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", metavar="PYTHON", help="an interpreter that has chdb")
    arguments = parser.parse_args()
    import chalet

    theirs = asked_kernel(arguments.kernel) if arguments.kernel else kept_of_kernel()
    lines = [
        "# What of the dialect is here",
        "",
        "Made by `make coverage`, by the lists of names that the kernel (chdb-core 26.9) and this engine have of themselves. Where something is",
        "here and answers otherwise on purpose, [differences.md](differences.md) says so.",
        "",
    ]
    if not arguments.kernel:
        lines += ["Lists of which the engine's sources keep no names are left out.", ""]
    lines += ["## Statements", "", *statements(chalet), ""]
    for title, table in LISTS:
        if table in theirs:
            lines += section(title, table, theirs[table], names(chalet.query, table))
        if table == "settings":
            idle = without_effect(theirs[table])
            formats = [name for name in idle if re.match(r"(input_format|output_format|format|schema_inference)_", name)]
            lines += [f"{len(idle)} are taken and have no effect. Of those of formats: {', '.join(f'`{name}`' for name in formats)}.", ""]
    TARGET.write_text("\n".join(lines).rstrip() + "\n")
    print(f"{TARGET.relative_to(ROOT)} is written")


if __name__ == "__main__":
    sys.exit(main())
