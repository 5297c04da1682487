"""Fills calls.txt with the kernel's answers: every aggregate below under every combinator, over three tables.

Run it with a Python that has chdb, a development-only dependency. A person reads the difference.
"""

import chdb

COLUMNS = [
    ("i8", "Int8"), ("u", "UInt32"), ("i", "Int64"), ("f", "Float64"), ("f32", "Float32"), ("d", "Decimal(9, 2)"),
    ("s", "String"), ("fs", "FixedString(3)"), ("dt", "Date"), ("ts", "DateTime('UTC')"), ("b", "Bool"),
    ("c", "UInt8"), ("a", "Array(Int32)"), ("a2", "Array(UInt8)"), ("t", "Tuple(Int32, String)"),
    ("m", "Map(String, Int32)"), ("w", "UInt8"), ("i128", "Int128"), ("n", "Nullable(Int32)"),
    ("ns", "Nullable(String)"), ("nf", "Nullable(Float64)"), ("nc", "Nullable(UInt8)"),
    ("an", "Array(Nullable(Int32))"), ("fn", "Float64"),
]

ROWS = """
(1, 10, -5, 0.5, 1.5, 1.11, 'b', 'abc', '2020-01-03', '2020-01-03 00:00:05', true, 1, [1,2], [1,0], (2,'x'), {'k':1}, 1, 7, NULL, 'p', 1.5, 1, [1,NULL], nan)
(-3, 7, 100, 1.25, -2.25, 2.22, 'a', 'zz', '2020-01-01', '2021-06-01 12:30:00', false, 0, [3], [1], (1,'z'), {'k':2,'j':5}, 3, -9, 5, NULL, NULL, NULL, [], 2.5)
(1, 42, 7, -7, 10, 5.55, 'longer than twenty-two bytes', 'abc', '2021-01-01', '2020-01-03 00:00:05', true, 1, [], [], (2,'a'), {}, 2, 100000000000000000000, 3, '', 0.25, 0, [4,5,6], -1)
(100, 7, 7, 3.5, 4.5, -1.01, '', 'c', '1999-12-31', '1999-12-31 23:59:59', true, 0, [4,5,6], [1,1,1], (1,'z'), {'j':-1}, 1, 0, 5, 'q', NULL, 1, [NULL], nan)
(7, 10, -5, 0.5, 1.5, 1.11, 'b', 'abc', '2020-01-03', '2022-02-02 00:00:00', false, 1, [1,-2], [0,1], (0,''), {'z':9}, 5, 7, NULL, NULL, -3.75, NULL, [7], 0)
(2, 99, 8, 2.75, 0.125, 9.99, 'a', 'bcd', '2020-01-02', '2020-05-05 05:05:05', true, 1, [8], [1], (3,'y'), {'k':3}, 2, 12, -8, 'r', 2.5, 1, [NULL,2], 7)
""".strip().split("\n")

ONE = ["i8", "u", "i", "f", "f32", "d", "s", "fs", "dt", "ts", "b", "a", "t", "m", "i128", "n", "ns", "nf", "fn"]
NUMBERS = ["i8", "u", "i", "f", "f32", "d", "b", "i128", "n", "nf", "fn"]

# name, parameters, lists of arguments
CALLS = (
    [(name, "", [x]) for name in ("min", "max", "any", "anyLast", "any_respect_nulls", "anyLast_respect_nulls",
                                  "anyHeavy", "groupArray", "uniqExact", "count", "singleValueOrNull", "uniq",
                                  "uniqCombined", "uniqHLL12", "entropy") for x in ONE
     if (name, x) not in (("singleValueOrNull", "a"), ("singleValueOrNull", "m"))]
    + [(name, "", [x]) for name in ("sum", "avg", "sumKahan", "sumWithOverflow", "sumCount", "varPop", "varSamp",
                                    "stddevPop", "stddevSamp", "skewPop", "skewSamp", "kurtPop", "kurtSamp",
                                    "varPopStable", "varSampStable", "stddevPopStable", "stddevSampStable",
                                    "quantile", "quantileExact", "quantileExactLow", "quantileExactHigh",
                                    "quantileExactInclusive", "quantileExactExclusive", "quantileTiming",
                                    "quantileTDigest", "quantileBFloat16", "groupArrayMovingSum",
                                    "groupArrayMovingAvg", "deltaSum") for x in NUMBERS + ["dt", "ts"]]
    + [(name, "(0.25, 0.9)", [x]) for name in ("quantiles", "quantilesExact", "quantilesExactLow", "quantilesExactHigh",
                                               "quantilesExactInclusive", "quantilesExactExclusive", "quantilesTiming",
                                               "quantilesTDigest", "quantilesBFloat16") for x in NUMBERS + ["dt", "ts"]]
    + [(name, "(0.3)", [x, "w"]) for name in ("quantileExactWeighted", "quantileInterpolatedWeighted",
                                              "quantileExactWeightedInterpolated", "quantileTimingWeighted",
                                              "quantileTDigestWeighted", "quantileDeterministic",
                                              "quantileBFloat16Weighted") for x in NUMBERS + ["dt"]]
    + [(name, "", [x, y]) for name in ("argMin", "argMax", "argAndMin", "argAndMax") for x in ("s", "i", "n", "a", "t", "d")
       for y in ("i8", "s", "n", "fn", "ts", "a", "d")]
    + [(name, "", [x, y]) for name in ("covarPop", "covarSamp", "corr", "covarPopStable", "covarSampStable", "corrStable",
                                       "avgWeighted", "simpleLinearRegression", "rankCorr", "boundingRatio",
                                       "maxIntersections", "maxIntersectionsPosition", "intervalLengthSum")
       for x, y in (("i8", "f"), ("u", "i"), ("f32", "f32"), ("f", "nf"), ("n", "w"), ("u", "w"))]
    + [(name, "", [x]) for name in ("groupBitAnd", "groupBitOr", "groupBitXor") for x in ("i8", "u", "i", "b", "i128", "n")]
    + [("groupArray", "(2)", [x]) for x in ("i", "s", "n")]
    + [("groupArrayLast", "(4)", [x]) for x in ("i", "s", "n")]
    + [("groupArraySorted", "(3)", [x]) for x in ("i", "s", "n", "fn", "a", "d")]
    + [("groupArrayInsertAt", p, ["s", "w"]) for p in ("", "('-')", "('-', 4)")]
    + [("groupConcat", p, [x]) for p in ("", "(', ')", "('-', 2)") for x in ("s", "i", "d", "ns", "ts", "a", "f")]
    + [("uniqUpTo", "(2)", [x]) for x in ("i", "s", "n", "t")]
    + [(name, "", ["s", "i"]) for name in ("uniqExact", "uniq", "uniqCombined", "entropy")]
    + [(name, p, [x]) for name in ("topK", "approx_top_k") for p, x in (("(1)", "n"), ("", "b"), ("(2)", "b"))]
    + [("topKWeighted", "(2)", ["s", "w"]), ("topKWeighted", "(3)", ["i128", "u"])]
    + [("sumMapFiltered", "(['k'])", ["m"])]
    + [("sumMap", "", ["m"]), ("minMap", "", ["m"]), ("maxMap", "", ["m"]), ("avgMap", "", ["m"]),
       ("countMap", "", ["m"]), ("sumMap", "", ["a2", "a2"]), ("sumMap", "", ["a2", "an"]), ("maxMap", "", ["a2", "a2"])]
    + [("maxTuple", "", ["t"]), ("countTuple", "", ["t"])]
    + [("histogram", "(3)", [x]) for x in ("i8", "f", "nf")]
    + [("sumResample", "(0, 50, 20)", ["i", "u"]), ("countResample", "(0, 100, 50)", ["u"]),
       ("quantileResample", "(0.5, 0, 50, 20)", ["i", "u"])]
    + [("retention", "", ["c", "b", "nc"]), ("retention", "", ["c", "b"]),
       ("windowFunnel", "(1000)", ["u", "c", "b"]), ("sequenceMatch", "('(?1).*(?2)')", ["u", "c", "b"]),
       ("sequenceCount", "('(?1)(?2)')", ["u", "c", "b"])]
    + [("nothing", "", ["i"]), ("nothingNull", "", ["i"]), ("nothingUInt64", "", ["i"]), ("count", "", []),
       ("exponentialMovingAverage", "(2)", ["f", "u"]), ("studentTTest", "", ["f", "b"]),
       ("welchTTest", "", ["f", "b"]), ("mannWhitneyUTest", "", ["f", "b"]), ("cramersV", "", ["s", "b"]),
       ("theilsU", "", ["s", "b"]), ("contingency", "", ["s", "b"]), ("cramersVBiasCorrected", "", ["s", "b"])]
)

# Under combinators only some calls of each function, or there would be too many.
FEW = [
    ("sum", "", ["i"]), ("sum", "", ["n"]), ("count", "", ["n"]), ("count", "", ["s"]), ("avg", "", ["f"]),
    ("min", "", ["s"]), ("max", "", ["n"]), ("any", "", ["t"]), ("anyLast", "", ["ns"]), ("argMin", "", ["s", "u"]),
    ("argMax", "", ["n", "nf"]), ("groupArray", "", ["i8"]), ("groupArray", "", ["ns"]), ("uniqExact", "", ["s"]),
    ("uniqExact", "", ["n"]), ("uniq", "", ["i"]), ("quantileExact", "(0.3)", ["i"]), ("quantiles", "(0.3, 0.6)", ["n"]),
    ("varPop", "", ["f"]), ("groupBitOr", "", ["u"]), ("sumCount", "", ["n"]), ("topK", "(2)", ["b"]),
    ("groupConcat", "(',')", ["s"]), ("any_respect_nulls", "", ["n"]), ("corr", "", ["f", "u"]), ("sumMap", "", ["m"]),
    ("singleValueOrNull", "", ["c"]), ("argMin", "", ["a", "u"]), ("quantileExactWeighted", "(0.4)", ["u", "w"]),
]
OVER_ARRAYS = [
    ("sum", "", ["a"]), ("sum", "", ["an"]), ("count", "", ["an"]), ("avg", "", ["a"]), ("min", "", ["an"]),
    ("any", "", ["a"]), ("groupArray", "", ["an"]), ("uniqExact", "", ["a"]), ("argMin", "", ["a", "a2"]),
    ("quantileExact", "", ["a"]), ("quantiles", "(0.5, 0.6)", ["a"]), ("varPop", "", ["a"]), ("groupBitOr", "", ["a2"]),
    ("any_respect_nulls", "", ["an"]), ("topK", "", ["a2"]), ("sumCount", "", ["an"]),
]

for name, parameters, args in FEW:
    CALLS += [(name + suffix, parameters, args + [c]) for suffix in ("If", "OrNullIf", "IfOrNull", "IfOrDefault", "DistinctIf")
              for c in ("c", "nc", "b")]
    CALLS += [(name + suffix, parameters, args) for suffix in ("OrNull", "OrDefault", "Distinct", "OrNullDistinct")]
    CALLS += [(name + suffix, parameters, args + [key]) for suffix in ("ArgMin", "ArgMax") for key in ("u", "ns")]
for name, parameters, args in OVER_ARRAYS:
    CALLS += [(name + suffix, parameters, args) for suffix in ("Array", "ForEach", "ArrayOrNull", "DistinctArray",
                                                               "ArrayDistinct", "ForEachOrNull", "OrNullForEach",
                                                               "OrDefaultArray")]
    CALLS += [(name + suffix, parameters, args + ["nc"]) for suffix in ("ArrayIf", "ForEachIf")]


def main():
    connection = chdb.connect(":memory:")
    query = lambda sql: str(connection.query(sql, "TabSeparated")).rstrip("\n")
    types = ", ".join(f"{name} {ty}" for name, ty in COLUMNS)
    out = ["# Made by make.py: calls of aggregates and what the kernel answers: result type, then the result."]
    tables = [("plain", ROWS), ("one", ROWS[:1]), ("none", [])]
    for table, rows in tables:
        query(f"CREATE TABLE {table} ({types}) ENGINE = Memory")
        if rows:
            query(f"INSERT INTO {table} VALUES " + ",".join(rows))
        out.append(f"table {table}")
        out += [f"column {name} {ty}" for name, ty in COLUMNS]
        columns = ", ".join(name for name, _ in COLUMNS)
        lines = query(f"SELECT {columns} FROM {table}")
        out += ["row " + line for line in lines.split("\n") if rows]
        seen = set()
        for name, parameters, args in CALLS:
            call = f"{name}{parameters}({', '.join(args)})"
            if call in seen:
                continue
            seen.add(call)
            try:
                answer = query(f"SELECT replaceRegexpAll(toTypeName({call}), '\\\\n *', ' ') AS ty, {call} FROM {table} "
                               "SETTINGS max_threads = 1")
                out.append(f"{call} => {answer}")
            except Exception as error:
                code = str(error).split("Code: ")[1].split(".")[0]
                out.append(f"{call} => error {code}")
    with open(__file__.replace("make.py", "calls.txt"), "w") as file:
        file.write("\n".join(out) + "\n")


main()
