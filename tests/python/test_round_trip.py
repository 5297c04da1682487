"""Values that go in as a frame and come out as one are the same: over types, sizes, NULLs, strides and chunks."""

import datetime
import random

import pytest

import chalet

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

SIZES = [0, 1, 2, 7, 64, 1000, 70_001]
PARIS = "Europe/Paris"


def of_pandas(dtype, n, rng, nulls):
    """A Series of a dtype; `nulls` is the share of missing values."""
    missing = rng.random(n) < nulls
    kind = str(dtype)
    if kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        info = np.iinfo(kind)
        return pd.Series(rng.integers(info.min, info.max, n, dtype=kind, endpoint=True))
    if kind in ("float32", "float64"):
        values = rng.standard_normal(n).astype(kind)
        values[missing] = np.nan
        return pd.Series(values)
    if kind == "bool":
        return pd.Series(rng.random(n) < 0.5)
    if kind in ("Int8", "Int64", "UInt32", "UInt64"):
        info = np.iinfo(kind.lower())
        return pd.Series(pd.arrays.IntegerArray(rng.integers(info.min, info.max, n, dtype=kind.lower(), endpoint=True), missing))
    if kind == "boolean":
        return pd.Series(pd.arrays.BooleanArray(rng.random(n) < 0.5, missing))
    if kind.startswith("datetime64"):
        values = pd.Series(rng.integers(-(10**9), 4 * 10**9, n)).astype("datetime64[s]").astype(kind.split(",")[0].rstrip("]") + "]")
        values[missing] = pd.NaT
        return values.dt.tz_localize("UTC").dt.tz_convert(PARIS) if "," in kind else values
    if kind.startswith("timedelta64"):
        values = pd.Series(rng.integers(-(10**9), 10**9, n)).astype("timedelta64[s]").astype(kind)
        values[missing] = pd.NaT
        return values
    texts = [None if gone else "".join(random.choices("ab é\0'\n", k=int(k))) for gone, k in zip(missing, rng.integers(0, 30, n), strict=True)]
    return pd.Series(texts, dtype=dtype)


PANDAS = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool", "Int8", "Int64",
    "UInt32", "UInt64", "boolean", "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]",
    f"datetime64[us, {PARIS}]", "timedelta64[s]", "timedelta64[ms]", "timedelta64[us]", "timedelta64[ns]", "str",
]  # fmt: skip


@pytest.mark.parametrize("kind", PANDAS)
def test_pandas(db, kind):
    rng = np.random.default_rng(PANDAS.index(kind))
    for n in SIZES:
        for nulls in (0, 0.3, 1):
            series = of_pandas(kind, n, rng, nulls)
            frame = pd.DataFrame({"x": series, "i": np.arange(n)})
            back = db.query("SELECT x, i FROM frame ORDER BY i", "DataFrame")
            same(back["x"], series)
            if n > 5:
                for part in (frame[::2], frame[::-1], frame[3:-1], frame[1::3], frame.sample(frac=0.5, random_state=1)):
                    back = db.query("SELECT x FROM part ORDER BY _row_id", "DataFrame")
                    same(back["x"], part["x"].reset_index(drop=True))


def same(back, series):
    """Equal values, NULLs at the same places, and the dtype of the series where it can say NULL and has to."""
    expected = str(series.dtype)
    if expected in ("Int8", "Int64", "UInt32", "UInt64", "boolean") and not series.isna().any():
        expected = {"boolean": "bool"}.get(expected, expected.lower())
    assert str(back.dtype) == expected
    assert len(back) == len(series)
    assert (back.isna().to_numpy() == series.isna().to_numpy()).all()
    there = ~series.isna().to_numpy()
    assert (back[there].to_numpy() == series[there].to_numpy()).all()


def test_matrices_have_strides(db):
    rng = np.random.default_rng(5)
    for order in "CF":
        matrix = np.asarray(rng.integers(0, 1000, (70_001, 5)), order=order)
        frame = pd.DataFrame(matrix, copy=False)
        back = db.query("SELECT * FROM frame ORDER BY _row_id", "DataFrame")
        assert (back.to_numpy() == matrix).all()
        assert db.query("SELECT sum(`3`) FROM frame").data() == f"{matrix[:, 3].sum()}\n"


@pytest.mark.parametrize("dtype", [">i2", ">i8", ">f4", ">f8", ">u4", ">M8[ms]", "f2", "U5", ">U5", "S4", "M8[D]", "M8[M]", "M8[h]", "m8[D]"])
def test_numpy_types(db, dtype):
    rng = np.random.default_rng(1)
    if dtype[-1] in "0123456789" and "U" in dtype or dtype == "S4":
        array = np.array(["a", "é" if "U" in dtype else "e", "", "abcd"]).astype(dtype)
    else:
        array = rng.integers(0, 1000, 100).astype("i8").astype(dtype)
    arrays = {"x": array, "y": array[::-1][::2].repeat(2)[: len(array)]}
    for column, values in arrays.items():
        back = db.sql(f"SELECT {column} FROM arrays").fetchall()
        expected = values.tolist()
        if dtype == "S4":
            expected = [v.decode() for v in expected]
        if "m8" in dtype:
            expected = [datetime.timedelta(days=int(v.astype("i8"))) for v in values]
        assert [v for (v,) in back] == expected


def test_masked_arrays(db):
    array = np.ma.MaskedArray([1, 2, 3], [False, True, False])
    arrays = {"x": array}
    assert db.sql("SELECT x FROM arrays").fetchall() == [(1,), (None,), (3,)]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", datetime.timezone(datetime.timedelta(hours=5, minutes=30)), datetime.timezone.utc])
def test_zones(db, zone):
    moments = pd.Series(pd.to_datetime(["2024-03-31 00:30", "2024-10-27 01:30"])).dt.tz_localize("UTC").dt.tz_convert(zone)
    frame = pd.DataFrame({"t": moments})
    back = db.query("SELECT t FROM frame", "DataFrame")["t"]
    assert (back == moments).all() and back.dt.tz is not None
    assert db.sql("SELECT toHour(t) FROM frame").fetchall() == [(h,) for h in moments.dt.hour]


@pytest.mark.parametrize("n", [0, 1, 1000, 70_001])
def test_categories(db, n):
    rng = np.random.default_rng(n)
    values = pd.Categorical.from_codes(rng.integers(-1, 3, n), ["x", "a longer category", ""])
    numbers = pd.Categorical.from_codes(rng.integers(0, 2, n), [10, 20])
    frame = pd.DataFrame({"c": values, "n": numbers})
    back = db.sql("SELECT c, n FROM frame ORDER BY _row_id").fetchall()
    assert [c for c, _ in back] == [None if pd.isna(v) else v for v in values]
    assert [v for _, v in back] == list(numbers)


ARROW = [
    pa.int8(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.string_view(),
    pa.binary(), pa.date32(), pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.timestamp("us", PARIS), pa.time64("us"),
    pa.duration("ms"), pa.decimal128(20, 3), pa.list_(pa.int32()), pa.list_(pa.string()), pa.large_list(pa.list_(pa.float64())),
    pa.struct([("a", pa.int64()), ("b", pa.string())]), pa.dictionary(pa.int32(), pa.string()), pa.binary(3),
]  # fmt: skip


def arrow_value(ty, rng):
    import decimal

    text = "".join(rng.choices("abé ", k=rng.randrange(20)))
    if pa.types.is_boolean(ty):
        return rng.random() < 0.5
    if pa.types.is_integer(ty):
        return rng.randrange(128)
    if pa.types.is_floating(ty):
        return rng.randrange(1000) / 8
    if pa.types.is_fixed_size_binary(ty):
        return bytes(rng.randrange(1, 256) for _ in range(3))
    if pa.types.is_binary(ty):
        return text.encode()
    if pa.types.is_date(ty):
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=rng.randrange(20000))
    if pa.types.is_timestamp(ty):
        zone = datetime.timezone.utc if ty.tz else None
        return datetime.datetime(2024, 1, 1, tzinfo=zone) + datetime.timedelta(seconds=rng.randrange(10**8))
    if pa.types.is_time(ty):
        return datetime.time(rng.randrange(24), rng.randrange(60), 1, 5)
    if pa.types.is_duration(ty):
        return datetime.timedelta(milliseconds=rng.randrange(10**6))
    if pa.types.is_decimal(ty):
        return decimal.Decimal(rng.randrange(10**15)).scaleb(-3)
    if pa.types.is_list(ty) or pa.types.is_large_list(ty):
        return [arrow_value(ty.value_type, rng) for _ in range(rng.randrange(4))]
    if pa.types.is_struct(ty):
        return {"a": rng.randrange(100), "b": text}
    return text


@pytest.mark.parametrize("ty", ARROW, ids=str)
def test_arrow(db, ty):
    rng = random.Random(str(ty))
    nested = pa.types.is_nested(ty)
    for chunks in ([], [0], [1], [5, 0, 3], [1000, 1], [9000]):
        for nulls in (0, 0.3):
            arrays = []
            for n in chunks:
                values = [None if not nested and rng.random() < nulls else arrow_value(ty, rng) for _ in range(n)]
                coded = pa.types.is_dictionary(ty)
                arrays.append(pa.array(values, pa.string()).dictionary_encode() if coded else pa.array(values, ty))
            column = pa.chunked_array(arrays, ty)
            table = pa.table({"x": column})
            for part in (table, table.slice(2), table.slice(1, 3)):
                back = db.sql("SELECT x FROM part ORDER BY _row_id").arrow()
                assert back.num_rows == part.num_rows
                assert plain(back) == plain(part)


def plain(table):
    """Python values, moments in UTC."""
    values = table.column(0).to_pylist()
    if values and any(isinstance(v, datetime.datetime) for v in values):
        values = [v if v is None or v.tzinfo is None else v.astimezone(datetime.timezone.utc).replace(tzinfo=None) for v in values]
    return [bytes(v).decode() if isinstance(v, bytes) and not is_binary(table) else v for v in values]


def is_binary(table):
    ty = table.schema.field(0).type
    return pa.types.is_fixed_size_binary(ty)


POLARS = {
    "i8": pl.Int8, "u64": pl.UInt64, "f32": pl.Float32, "f64": pl.Float64, "b": pl.Boolean, "s": pl.String, "d": pl.Date,
    "t": pl.Datetime("us"), "tz": pl.Datetime("ms", PARIS), "l": pl.List(pl.Int64),
}  # fmt: skip


@pytest.mark.parametrize("n", SIZES)
def test_polars(db, n):
    rng = random.Random(n)
    missing = [rng.random() < 0.2 for _ in range(n)]

    def column(make):
        return [None if gone else make() for gone in missing]

    frame = pl.DataFrame(
        {
            "i8": column(lambda: rng.randrange(-128, 128)),
            "u64": column(lambda: rng.randrange(2**64)),
            "f32": column(lambda: rng.randrange(1000) / 8),
            "f64": column(rng.random),
            "b": column(lambda: rng.random() < 0.5),
            "s": column(lambda: "é" * rng.randrange(20)),
            "d": column(lambda: datetime.date(2024, 1, rng.randrange(1, 29))),
            "t": column(lambda: datetime.datetime(2024, 1, 1, 2, 3, 4, rng.randrange(10**6))),
            "tz": [datetime.datetime(2024, 1, 1, 2, 3, rng.randrange(60)) for _ in range(n)],
            "l": [[rng.randrange(5)] * rng.randrange(4) for _ in range(n)],
        },
        schema=POLARS | {"tz": pl.Datetime("ms")},
    ).with_columns(pl.col("tz").dt.replace_time_zone(PARIS))
    back = db.sql("SELECT * FROM frame ORDER BY _row_id").pl()
    assert back.with_columns(pl.col("t").dt.replace_time_zone(None)).equals(frame)
    assert back.schema == {**frame.schema, "t": pl.Datetime("us", "UTC")}
    parts = pl.concat([frame.slice(n // 2), frame.head(n // 2)], rechunk=False)
    assert db.sql("SELECT s FROM parts ORDER BY _row_id").pl()["s"].equals(parts["s"])
