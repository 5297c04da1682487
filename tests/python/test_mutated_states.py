"""States of aggregate functions whose bytes are damaged: each is read or refused, and nothing panics."""

import random

import chalet
import pytest

STATES = [
    "uniqHLL12State(number)",
    "uniqHLL12State(toString(number))",
    "uniqCombinedState(12)(number)",
    "uniqExactState(toString(number))",
    "uniqExactState(toUInt256(number))",
    "contingencyState(number % 3, number % 2)",
    "theilsUState(number % 3, 'a')",
    "groupArrayState([toString(number)])",
    "groupArrayLastState(3)(toString(number))",
    "groupArraySampleState(3, 7)([number])",
    "groupArraySortedState(5)((number, toString(number)))",
    "groupArrayInsertAtState('x')(toString(number), number % 9)",
    "groupArrayMovingSumState(3)(number)",
    "groupArrayMovingAvgState(toFloat32(number))",
    "groupConcatState(',')(number)",
    "groupConcatState(',', 3)(number)",
    "groupUniqArrayState([number])",
    "groupUniqArrayState(toDecimal64(number, 2))",
    "minMapState([number % 3], [toString(number)])",
    "maxMapState([number % 3], [if(number > 2, NULL, number)])",
    "quantileDDState(0.05)(toInt64(number) - 3)",
    "quantileTimingState(number)",
    "quantileTimingWeightedState(number, 300)",
    "topKState(3)([number % 7])",
    "singleValueOrNullState(number)",
]

MUTATIONS = 60


def mutated(state, random):
    bytes = bytearray(state)
    kind = random.randrange(4)
    if kind == 0:
        return bytes[: random.randrange(len(bytes))]
    if kind == 1:
        at = random.randrange(len(bytes) + 1)
        bytes[at:at] = random.randbytes(random.randrange(1, 9))
        return bytes
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(bytes) if random.random() < 0.5 else min(len(bytes), 16))
        bytes[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256), bytes[at] ^ 1 << random.randrange(8)])
    return bytes


@pytest.mark.parametrize("call", STATES)
def test_damaged_states_are_read_or_refused(call):
    rng = random.Random(call)
    with chalet.connect() as db:
        ty = str(db.query(f"SELECT toTypeName({call}) FROM numbers(1)", "TabSeparatedRaw")).strip()
        merge = call[: call.index("State")] + "Merge"
        rest = call[call.index("State") + len("State") :]
        if ")(" in rest:
            merge += rest[: rest.index(")(") + 1]
        quoted = ty.replace("\\", "\\\\").replace("'", "\\'")
        for n in (0, 1, 40):
            whole = bytes.fromhex(str(db.query(f"SELECT hex({call}) FROM numbers({n})", "TabSeparatedRaw")).strip())
            for _ in range(MUTATIONS):
                state = mutated(whole, rng).hex()
                one = f"CAST(unhex('{state}'), '{quoted}')"
                for sql in (
                    f"SELECT finalizeAggregation({one})",
                    f"SELECT {merge}(s) FROM (SELECT {one} AS s UNION ALL SELECT {call} FROM numbers(5))",
                ):
                    try:
                        db.query(sql, "TabSeparatedRaw").bytes()
                    except chalet.Error as error:
                        assert "panic" not in str(error).lower() and "LOGICAL_ERROR" not in str(error), sql
