"""Tables of MergeTree leave no row out that a Memory table finds: keys, indexes, projections and statistics over values at the borders of types."""

import random
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import chalet

sys.path.append(str(Path(__file__).parents[1] / "oracle"))
import fuzz_pruning
from fuzz_engine import Answer

TYPES = ["Int8", "Float64", "String", "Nullable(DateTime('Europe/Berlin'))", "LowCardinality(Nullable(String))", "Decimal(9, 2)", "UUID"]


class Ours:
    """An engine of the fuzzer in this process."""

    def __init__(self, db):
        self.db = db

    def ask(self, sql, _seconds):
        try:
            return Answer(rows=tuple(self.db.query(sql, "TabSeparated").data().splitlines()))
        except chalet.Error as error:
            return Answer(code=1, text=str(error))


@pytest.mark.parametrize("ty", TYPES)
def test_no_row_is_left_out(ty, tmp_path):
    with chalet.connect(str(tmp_path / "db")) as db:
        ours = Ours(db)
        for sql in fuzz_pruning.LIMITS:
            ours.ask(sql, 0)
        args, rng = SimpleNamespace(conditions=6), random.Random(f"{ty} 1")
        found = list(fuzz_pruning.trial(rng, fuzz_pruning.types()[ty], args, (None, ours)))
        assert not found
        asked = db.query("SELECT count() FROM system.tables WHERE database = currentDatabase() AND name LIKE 't\\_%' AND total_rows > 0", "TSV").data()
        assert int(asked) > 8
