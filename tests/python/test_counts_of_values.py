"""count(x) of a Nullable column of a Parquet file is answered from the statistics of the file."""

import chalet


def test_counts_of_values_come_from_statistics(tmp_path, counted):
    path = tmp_path / "counts.parquet"
    with chalet.connect() as db:
        db.query(
            f"INSERT INTO FUNCTION file('{path}') SELECT if(number % 3 = 0, NULL, number) AS n, "
            "toLowCardinality(if(number % 4 = 0, NULL, toString(number))) AS s, number AS k FROM numbers(1000)"
        )
        sql = f"SELECT count(), count(n), count(s), count(k) FROM file('{path}')"
        assert counted(db, sql, "StatisticsAnswers") == ("1000\t666\t750\t1000\n", 1)
        assert counted(db, f"{sql} SETTINGS optimize_count_from_files = 0", "StatisticsAnswers") == ("1000\t666\t750\t1000\n", 0)
