"""The first few rows of a sort over a scan: the last row that counts gets better with every few rows that pass, and the scan passes by what sorts behind it."""

import pytest

import chalet

ROWS = 400_000
COUNTER = "TopKFilteredRows"


@pytest.fixture(scope="module", params=["UInt64", "Nullable(UInt64)", "Nullable(DateTime64(3))", "String"])
def table(request, tmp_path_factory):
    """Rows in many row groups, each of which has some that are among the first of all that came before."""
    ty = request.param
    made = {"String": "leftPad(toString(cityHash64(number) % 100000000), 8, '0')"}.get(ty, "cityHash64(number) % 100000000")
    with chalet.connect(str(tmp_path_factory.mktemp("top") / "db")) as db:
        db.sql("SET max_threads = 1, use_top_k_dynamic_filtering_for_variable_length_types = 1")
        db.sql("CREATE TABLE t (n UInt64, v " + ty + ", s String) ENGINE = MergeTree ORDER BY n")
        db.sql(f"INSERT INTO t SELECT number, {made}, if(number % 3 = 0, '', 'text ' || toString(number % 50000)) FROM numbers({ROWS})")
        yield db, ty


@pytest.mark.parametrize("limit", [1, 10, 200])
@pytest.mark.parametrize("direction", ["", " DESC"])
def test_few_rows_pass(table, counted, limit, direction):
    db, _ = table
    sql = f"SELECT v, n FROM t WHERE s != '' ORDER BY v{direction}, n LIMIT {limit}"
    answer, filtered = counted(db, sql, COUNTER)
    assert answer == str(db.query(sql + " SETTINGS query_plan_enable_optimizations = 0", "TSV"))
    assert filtered > 0


@pytest.mark.parametrize("limit", [1, 10])
def test_the_last_row_that_counts_gets_better(table, counted, limit):
    """Behind the first rows, of all that follow about as many pass as would by a row that is always the best known one."""
    db, _ = table
    sql = f"SELECT v, n FROM t WHERE s != '' ORDER BY v, n LIMIT {limit} SETTINGS max_block_size = 1000"
    _, filtered = counted(db, sql, COUNTER)
    first_blocks = 2000
    assert ROWS - filtered < first_blocks + 20 * limit


def test_limits_from_one_to_all(counted):
    with chalet.connect() as db:
        db.sql("CREATE TABLE t (v Int32, n UInt32) ENGINE = MergeTree ORDER BY n")
        db.sql("INSERT INTO t SELECT cityHash64(number) % 5000 - 2500, number FROM numbers(30000)")
        for limit in [0, 1, 2, 3, 7, 100, 1023, 1024, 1025, 5000, 29_999, 30_000, 40_000]:
            for offset in [0, 5]:
                sql = f"SELECT v, n FROM t ORDER BY v, n LIMIT {limit} OFFSET {offset}"
                for block in [1000, 65_000]:
                    answer = str(db.query(f"{sql} SETTINGS max_block_size = {block}", "TSV"))
                    whole = str(db.query("SELECT v, n FROM t ORDER BY v, n", "TSV")).splitlines(keepends=True)
                    assert answer == "".join(whole[offset : offset + limit])
