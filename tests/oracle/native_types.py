"""Every type in the kernel's Native bytes: random rows that the kernel writes are read here, written here, and read by the kernel again.

    python tests/oracle/native_types.py [--ours FOLDER] [--rows 500] [--seed 7]

Both run in processes of their own; the values at the end are compared by the kernel, as text and as RowBinary. Exit status 1 where some differ, or where the
kernel has a family of types (`system.data_type_families`) that is in none of both lists.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NUMBERS = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64, 128, 256)]
PLAIN = NUMBERS + [
    "Float32", "Float64", "BFloat16", "Bool", "Decimal32(3)", "Decimal64(4)", "Decimal128(10)", "Decimal256(20)", "Decimal(9, 2)", "String", "FixedString(5)", "Date",
    "Date32", "DateTime", "DateTime('Asia/Tokyo')", "DateTime64(3)", "DateTime64(9, 'UTC')", "Time", "Time64(6)", "UUID", "IPv4", "IPv6", "Enum8('a' = -1, 'b' = 7)",
    "Enum16('x' = -3000, 'y' = 3000)",
]  # fmt: skip
# As expressions of `number` where the kernel makes no random ones.
MADE = {
    "IntervalDay": "toIntervalDay(toInt64(number) - 5)", "IntervalNanosecond": "toIntervalNanosecond(number)", "IntervalMicrosecond": "toIntervalMicrosecond(number)",
    "IntervalMillisecond": "toIntervalMillisecond(number)", "IntervalSecond": "toIntervalSecond(number)", "IntervalMinute": "toIntervalMinute(number)",
    "IntervalHour": "toIntervalHour(number)", "IntervalWeek": "toIntervalWeek(number)", "IntervalMonth": "toIntervalMonth(number)",
    "IntervalQuarter": "toIntervalQuarter(number)", "IntervalYear": "toIntervalYear(number)", "Array(Nothing)": "[]", "Nullable(Nothing)": "NULL",
    "Time": "CAST(toInt32(number * 7) - 100, 'Time')", "Time64(6)": "CAST(number * 7, 'Time64(6)')", "Nullable(Time)": "if(number % 3 = 0, NULL, CAST(toInt32(number), 'Time'))",
    "BFloat16": "toBFloat16(number / 4)", "Array(BFloat16)": "arrayMap(x -> toBFloat16(x / 4), range(number % 5))",
    "Point": "(number / 2, -number)::Point", "Ring": "[(number, 1), (2, number)]::Ring", "LineString": "[(number, 1), (2, number)]::LineString",
    "MultiLineString": "[[(number, 1), (2, number)]]::MultiLineString", "Polygon": "[[(number, 1), (2, number)]]::Polygon",
    "MultiPolygon": "[[[(number, 1), (2, number)]]]::MultiPolygon", "MultiPoint": "[(number, 1)]::MultiPoint", "QBit(Float32, 4)": "[number, 1, 2, number / 2]::QBit(Float32, 4)",
    "Variant(UInt64, String, Array(UInt8))": "multiIf(number % 4 = 0, number::Variant(UInt64, String, Array(UInt8)), number % 4 = 1, toString(number)::Variant(UInt64, String, Array(UInt8)), number % 4 = 2, NULL::Variant(UInt64, String, Array(UInt8)), [toUInt8(number)]::Variant(UInt64, String, Array(UInt8)))",
    "Dynamic": "multiIf(number % 4 = 0, number::Dynamic, number % 4 = 1, toString(number)::Dynamic, number % 4 = 2, NULL::Dynamic, [number]::Dynamic)",
    "JSON": "concat('{\"a\":', toString(number), if(number % 2 = 0, ',\"b\":\"x\"', ',\"c\":[1,2]'), '}')::JSON",
    "JSON(a UInt32)": "concat('{\"a\":', toString(number), ',\"d\":{\"e\":1.5}}')::JSON(a UInt32)",
    "Array(Dynamic)": "[number::Dynamic, toString(number)::Dynamic]", "Tuple(a Dynamic, b JSON)": "(number::Dynamic, '{\"x\":1}'::JSON)::Tuple(a Dynamic, b JSON)",
    "AggregateFunction(sum, UInt64)": "initializeAggregation('sumState', number)", "AggregateFunction(uniqExact, UInt32)": "initializeAggregation('uniqExactState', toUInt32(number))",
    "AggregateFunction(max, String)": "initializeAggregation('maxState', toString(number))", "AggregateFunction(avg, Float64)": "initializeAggregation('avgState', number / 2)",
    "AggregateFunction(topK(2), String)": "initializeAggregation('topKState(2)', toString(number))",
    "AggregateFunction(entropy, String)": "initializeAggregation('entropyState', toString(number))",
    "SimpleAggregateFunction(sum, UInt64)": "number::SimpleAggregateFunction(sum, UInt64)",
}  # fmt: skip
NESTED = [
    *(f"Nullable({ty})" for ty in PLAIN if "Time" not in ty and ty != "BFloat16"), *(f"Array({ty})" for ty in PLAIN if "Time(" not in ty and not ty.startswith(("Time", "BFloat"))),
    *(f"LowCardinality({ty})" for ty in ("String", "FixedString(3)", "UInt8", "UInt64", "Int32", "Date", "DateTime", "Float64", "UUID", "Nullable(String)", "Nullable(UInt16)")),
    "Array(Nullable(String))", "Array(Array(Nullable(Int16)))", "Array(LowCardinality(Nullable(String)))", "Map(String, UInt64)", "Map(UInt8, Array(String))",
    "Map(LowCardinality(String), Nullable(Float64))", "Tuple(UInt8, String)", "Tuple(a Nullable(Int64), b Array(Tuple(Date, UUID)))", "Nested(x UInt8, y String)",
    "Array(Map(String, Tuple(UInt8, LowCardinality(String))))", "Array(Tuple(UInt8, Nullable(String)))",
]  # fmt: skip
# Names that no column has, or that are others' forms.
OTHERS = {"Set", "Expression", "Nothing", "Object", "Decimal", "Geometry", "DateTime32", "Enum"}
# What is known to differ, and how.
KNOWN = {"SimpleAggregateFunction(sum, UInt64)": "a column that is read from a file has the type of its values"}


def expressions(seed, rows):
    """The query of each type."""
    for ty in dict.fromkeys(PLAIN + NESTED):
        if ty not in MADE:
            structure = f"v {ty}".replace("'", "\\'")
            yield ty, f"SELECT v FROM generateRandom('{structure}', {seed}, 20, 5) LIMIT {rows}"
    for ty, expression in MADE.items():
        yield ty, f"SELECT {expression} AS v FROM numbers({rows})"


SETTINGS = " SETTINGS allow_suspicious_low_cardinality_types = 1, allow_experimental_time_time64_type = 1, enable_time_time64_type = 1, allow_experimental_qbit_type = 1"


def kernel_writes(arguments, folder):
    import chdb

    names = {line for line in str(chdb.query("SELECT name FROM system.data_type_families WHERE alias_to = ''", "TSV")).split()}
    written = []
    for at, (ty, sql) in enumerate(expressions(arguments.seed, arguments.rows)):
        try:
            chdb.query(f"SELECT * FROM ({sql}) INTO OUTFILE '{folder}/{at}.native' FORMAT Native{SETTINGS}", "Null")
            written.append((at, ty))
        except Exception as error:  # noqa: BLE001 - told below
            print(f"not made by the kernel: {ty}: {str(error)[:200]}")
    (folder / "written.json").write_text(json.dumps(written))
    (folder / "names.json").write_text(json.dumps(sorted(names)))


def ours_passes_on(arguments, folder):
    import chalet

    failed = {}
    for at, ty in json.loads((folder / "written.json").read_text()):
        try:
            data = chalet.query(f"SELECT * FROM file('{folder}/{at}.native', Native){SETTINGS.replace(', allow_experimental_qbit_type = 1', '')}", "Native").bytes()
            (folder / f"{at}.ours").write_bytes(data)
        except Exception as error:  # noqa: BLE001 - told below
            failed[ty] = str(error)[:300]
    (folder / "failed.json").write_text(json.dumps(failed))


def kernel_compares(arguments, folder):
    import chdb

    failed = json.loads((folder / "failed.json").read_text())
    written = json.loads((folder / "written.json").read_text())
    for at, ty in written:
        if ty in failed:
            continue
        answers = []
        for name in (f"{at}.native", f"{at}.ours"):
            try:
                # States are compared by their results: sets come in any order.
                value = "finalizeAggregation(v)" if ty.startswith("Aggregate") else "v"
                sql = f"SELECT count(), any(toTypeName(v)), hex(sipHash128(groupArray(toString({value})))) FROM file('{folder}/{name}', Native){SETTINGS}"
                answers.append(str(chdb.query(sql, "TSV")))
            except Exception as error:  # noqa: BLE001 - told below
                answers.append(f"{name}: {str(error)[:300]}")
        if answers[0] != answers[1]:
            failed[ty] = " / ".join(answers)
    names = set(json.loads((folder / "names.json").read_text()))
    known = set()
    for _, ty in written:
        for sign in "(),'":
            ty = ty.replace(sign, " ")
        known |= set(ty.split())
    missing = names - known - OTHERS
    print(f"{len(written)} types, {len(written) - len(failed)} equal; families that no type has: {', '.join(sorted(missing)) or 'none'}")
    for ty, why in failed.items():
        print(f"{ty}: {KNOWN.get(ty, why)}")
    return bool(set(failed) - set(KNOWN) or missing)


STEPS = {"write": kernel_writes, "pass": ours_passes_on, "compare": kernel_compares}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", help="the folder of our package, if it is not installed")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        return STEPS[arguments.step](arguments, arguments.folder)
    with tempfile.TemporaryDirectory() as folder:
        for step in STEPS:
            environment = dict(os.environ)
            if arguments.ours and step == "pass":
                environment["PYTHONPATH"] = arguments.ours
            command = [sys.executable, __file__, "--step", step, "--folder", folder, "--rows", str(arguments.rows), "--seed", str(arguments.seed)]
            status = subprocess.run(command, env=environment).returncode
            if status:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
