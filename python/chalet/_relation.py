"""`connection.sql(query)`: a query that is planned and runs when its rows are asked for, and of which further queries are made.

Each step is a query over the one before, which it names; the engine reads all of them as one statement. A relation keeps the
objects and parameters that its query named when it was made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._chalet import ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ._chalet import Connection, Result

Row = tuple[Any, ...]

# How a relation is called in the text of a step, unless it has an alias.
_ALIAS = "relation"
_JOINS = {
    "inner": "INNER JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "cross": "CROSS JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
    "asof": "ASOF JOIN",
}
_EXPLAINED = ("", "PLAN", "PIPELINE", "SYNTAX", "AST", "QUERY TREE", "ESTIMATE", "ANALYZE")
# Rows that are shown, and rows that are made at once for who iterates.
_SHOWN = 20
_BATCH = 8192


def relate(
    connection: Connection,
    query: str,
    params: Mapping[str, Any] | None = None,
    tables: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Relation | Result:
    """The relation of a query. Other statements run at once: those with rows become the relation of these rows, for those
    without the answer is returned."""
    params = None if params is None else dict(params)
    tables = None if tables is None else dict(tables)
    outline = connection._outline(query, params, tables)
    if outline is not None:
        return Relation(connection, query, params, outline, timeout)
    result = connection.query(query, None, params, tables=tables, timeout=timeout)
    try:
        outline = (result.columns, result.types, {"result": result})
    except ValueError:
        return result
    return Relation(connection, "SELECT * FROM result", None, outline, timeout)


class Relation:
    """A query that runs when its rows are asked for: `df()`, `pl()`, `arrow()`, `fetchall()`, iteration, printing.

        trips = db.sql("SELECT * FROM 'trips.parquet'")
        trips.filter("distance > 10").aggregate("city, avg(fare) AS fare", "city").order("fare DESC").limit(5)

    Expressions are SQL. A relation is a table of other queries of its connection by the name of the variable that holds it,
    and of other connections too, which take its rows.

    >>> db = chalet.connect()
    >>> numbers = db.sql("SELECT number AS n, number % 3 AS k FROM numbers(10)")
    >>> numbers.filter("n > 2").aggregate("k, sum(n) AS s", "k").order("k").fetchall()
    [(0, 18), (1, 11), (2, 13)]
    >>> numbers.columns, numbers.types, numbers.shape
    (['n', 'k'], ['UInt64', 'UInt8'], (10, 2))
    >>> db.query("SELECT max(n) FROM numbers").data()
    '9\\n'
    """

    __slots__ = ("_alias", "_connection", "_fetched", "_order", "_outline", "_params", "_query", "_timeout", "__weakref__")

    def __init__(
        self,
        connection: Connection,
        query: str,
        params: dict[str, Any] | None,
        outline: tuple[list[str], list[str], dict[str, Any]],
        timeout: float | None = None,
    ) -> None:
        self._connection = connection
        self._query = query
        self._params = params
        self._outline = outline
        self._timeout = timeout
        self._alias: str | None = None
        # What was ordered and how, since a limit is to see the order.
        self._order: tuple[Relation, str, Mapping[str, Any] | None] | None = None
        # The answer that `fetchone` and `fetchmany` take rows of.
        self._fetched: Result | None = None

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def query(self) -> str:
        """The text of the query; a step names the relation that it was made of."""
        return self._query

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._outline[0])

    @property
    def types(self) -> list[str]:
        """Types of the columns, as SQL text."""
        return list(self._outline[1])

    dtypes = types

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]]:
        """Seven values a column, as DB-API 2.0 has them: name, type and five unknown ones."""
        return [(name, ty, None, None, None, None, None) for name, ty in zip(*self._outline[:2], strict=True)]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, which are counted for that, and columns."""
        counted = self._read(f"SELECT count() FROM {_ident(_ALIAS)}", None, {_ALIAS: self}).fetchone()
        return counted[0], len(self._outline[0])

    def alias(self, name: str) -> Relation:
        """The same under a name for the expressions of its steps and joins: `db.sql(...).alias("t").filter("t.x > 1")`."""
        if not name:
            raise ProgrammingError("an alias must have a letter at least")
        made = type(self)(self._connection, self._query, self._params, self._outline, self._timeout)
        made._alias, made._order = str(name), self._order
        return made

    set_alias = alias

    # --- steps ------------------------------------------------------------------------------------------------------

    def filter(self, condition: str, *, params: Mapping[str, Any] | None = None) -> Relation:
        """The rows for which an SQL expression holds: `filter("x > {least:Int64}", params={"least": 3})`."""
        return self._step(f"SELECT * FROM {self._name()} WHERE {condition}\n", params)

    where = filter

    def select(self, *expressions: str | Sequence[str], params: Mapping[str, Any] | None = None) -> Relation:
        """Columns of SQL expressions: `select("a", "b + 1 AS c")`, `select(["a", "b"])`, `select("* EXCEPT (d)")`."""
        return self._step(f"SELECT {_listed(expressions)}\nFROM {self._name()}", params)

    project = select

    def aggregate(
        self, aggregates: str | Sequence[str], groups: str | Sequence[str] = "", *, params: Mapping[str, Any] | None = None
    ) -> Relation:
        """Columns of SQL expressions with aggregate functions, for each group: `aggregate("k, sum(x) AS total", "k")`. Without
        groups they are what no aggregate function is about: `aggregate("k, sum(x)")` is the same."""
        by = _listed(groups) if groups else "ALL"
        return self._step(f"SELECT {_listed(aggregates)}\nFROM {self._name()} GROUP BY {by}\n", params)

    def order(self, *keys: str | Sequence[str], params: Mapping[str, Any] | None = None) -> Relation:
        """The rows in order of SQL expressions: `order("a DESC", "b")`."""
        text = _listed(keys)
        made = self._step(f"SELECT * FROM {self._name()} ORDER BY {text}\n", params)
        made._order = (self, text, params)
        return made

    sort = order

    def limit(self, n: int, offset: int = 0) -> Relation:
        """The first `n` rows behind `offset` ones."""
        of, by, params = self._order or (self, None, None)
        ordered = "" if by is None else f" ORDER BY {by}\n"
        return of._step(f"SELECT * FROM {of._name()}{ordered} LIMIT {counted(n)} OFFSET {counted(offset)}", params)

    def distinct(self) -> Relation:
        """Each row once."""
        return self._step(f"SELECT DISTINCT * FROM {self._name()}")

    def join(
        self,
        other: Any,
        on: str | Sequence[str] | None = None,
        how: str = "inner",
        *,
        params: Mapping[str, Any] | None = None,
    ) -> Relation:
        """The rows of two relations side by side. `on` is the name of a column of both, a list of such names, or an SQL
        condition in which the two are `lhs` and `rhs`, or have their aliases: `a.join(b, "lhs.x = rhs.y")`. `how` is inner,
        left, right, full, cross, semi, anti or asof. `other` may be any object that is a table."""
        words = _JOINS.get(how.lower())
        if words is None:
            raise ProgrammingError(f"how must be one of {', '.join(_JOINS)}, not {how!r}")
        right = self._other(other)
        names = [self._alias or "lhs", right._alias or "rhs"]
        if names[0] == names[1]:
            raise ProgrammingError(f"both relations are called {names[0]!r}: give one of them another alias")
        keys = [] if on is None else [on] if isinstance(on, str) else list(on)
        if bool(keys) == (how.lower() == "cross") or not all(keys):
            raise ProgrammingError("a join needs `on`, except for a cross join, which has none")
        text = f"SELECT * FROM {_ident(names[0])} {words} {_ident(names[1])}"
        if isinstance(on, str) and not (on in self._outline[0] and on in right._outline[0]):
            text += f" ON {on}\n"
        elif keys:
            text += f" USING ({', '.join(map(_ident, keys))})"
        return self._of(text, dict(zip(names, (self, right), strict=True)), params)

    def union(self, other: Any, *, distinct: bool = False) -> Relation:
        """The rows of both, with `distinct` each once. Columns go by their places."""
        return self._with(other, "UNION DISTINCT" if distinct else "UNION ALL")

    def intersect(self, other: Any) -> Relation:
        """The rows that are in both."""
        return self._with(other, "INTERSECT")

    def except_(self, other: Any) -> Relation:
        """The rows that are not in the other."""
        return self._with(other, "EXCEPT")

    def _with(self, other: Any, words: str) -> Relation:
        text = f"SELECT * FROM {_ident('lhs')} {words} SELECT * FROM {_ident('rhs')}"
        return self._of(text, {"lhs": self, "rhs": self._other(other)})

    def _other(self, other: Any) -> Relation:
        if isinstance(other, Relation):
            return other
        return self._of(f"SELECT * FROM {_ident('other')}", {"other": other})

    def _name(self) -> str:
        return _ident(self._alias or _ALIAS)

    def _step(self, query: str, params: Mapping[str, Any] | None = None) -> Relation:
        return self._of(query, {self._alias or _ALIAS: self}, params)

    def _of(self, query: str, tables: dict[str, Any], params: Mapping[str, Any] | None = None) -> Relation:
        given = None if params is None else dict(params)
        outline = self._connection._outline(query, given, tables)
        if outline is None:
            raise ProgrammingError(f"the expressions make more of it than one query: {query}")
        return Relation(self._connection, query, given, outline, self._timeout)

    # --- what is known of it ----------------------------------------------------------------------------------------

    def describe(self) -> Relation:
        """Its columns: `name` and `type`."""
        names, types, _ = self._outline
        return self._of("SELECT name, type FROM columns", {"columns": {"name": list(names), "type": list(types)}})

    def explain(self, kind: str = "PLAN") -> str:
        """How it would run; `kind` is one of EXPLAIN: PLAN, PIPELINE, SYNTAX, AST, QUERY TREE, ESTIMATE, ANALYZE."""
        words = " ".join(kind.upper().split())
        if words not in _EXPLAINED:
            raise ProgrammingError(f"kind must be one of {', '.join(_EXPLAINED[1:])}, not {kind!r}")
        rows = self._read(f"EXPLAIN {words} {self._query}").fetchall()
        return "\n".join(str(row[0]) for row in rows)

    def summarize(self) -> Relation:
        """For each column its type, ends, number of values, of different ones (about) and share of NULLs (percent), and for
        numbers their mean, deviation and quartiles. Reads the rows once when it is asked for."""
        from ._summary import summary

        return self._step(f"{summary(self.columns, self.types, _ident)} FROM {self._name()})")

    # --- rows -------------------------------------------------------------------------------------------------------

    def execute(self) -> Result:
        """Runs it: a `Result` with rows."""
        return self._read(self._query)

    def _read(self, query: str, format: str | None = None, tables: dict[str, Any] | None = None) -> Any:
        given = self._outline[2] if tables is None else tables
        return self._connection._read(query, format, self._params, given, self._timeout)

    def df(self) -> Any:
        """A pandas DataFrame."""
        return self.execute().df()

    def pl(self, lazy: bool = False) -> Any:
        """A polars DataFrame, or a LazyFrame over it."""
        return self.execute().pl(lazy)

    def arrow(self) -> Any:
        """A pyarrow Table."""
        return self.execute().arrow()

    def arrow_reader(self) -> Any:
        """A pyarrow RecordBatchReader."""
        return self.execute().arrow_reader()

    def numpy(self) -> dict[str, Any]:
        """A dict of numpy arrays."""
        return self.execute().numpy()

    def to_dicts(self) -> list[dict[str, Any]]:
        """A list of dicts by name."""
        return self.execute().to_dicts()

    fetchdf, fetchnumpy, fetch_arrow_table = df, numpy, arrow
    to_df, to_arrow_table = df, arrow

    def fetchall(self) -> list[Row]:
        """The rows as tuples: those that `fetchone` and `fetchmany` have left. Then it is at its beginning again."""
        result, self._fetched = self._fetched or self.execute(), None
        return result.fetchall()

    def fetchmany(self, size: int = 1) -> list[Row]:
        """The next rows, at most `size`."""
        return self._running().fetchmany(counted(size))

    def fetchone(self) -> Row | None:
        """The next row, None at the end."""
        return self._running().fetchone()

    def _running(self) -> Result:
        if self._fetched is None:
            self._fetched = self.execute()
        return self._fetched

    def __iter__(self) -> Iterator[Row]:
        result = self.execute()
        while rows := result.fetchmany(_BATCH):
            yield from rows

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Its rows through the Arrow C stream interface; may be called again."""
        return self.execute().__arrow_c_stream__(requested_schema)

    def bytes(self) -> bytes:
        """Its rows as CSV."""
        return self._read(self._query, "CSV").bytes()

    def data(self) -> str:
        """Its rows as CSV text."""
        return self._read(self._query, "CSV").data()

    # --- to look at -------------------------------------------------------------------------------------------------

    def show(self, n: int = _SHOWN) -> None:
        """Prints the first `n` rows."""
        print(self._shown("as_text", n))

    def __repr__(self) -> str:
        return self._shown("as_text", _SHOWN)

    def _repr_html_(self) -> str:
        return self._shown("as_html", _SHOWN)

    def _shown(self, how: str, n: int) -> str:
        import json

        from . import _show

        lines = self._first(n, "JSONCompactStringsEachRow").data()
        # Not splitlines: values have other separators of lines in them.
        rows = [json.loads(line) for line in lines.split("\n") if line]
        return getattr(_show, how)(self.columns, self.types, rows[:n], len(rows) > n)

    def _first(self, n: int, format: str | None = None) -> Result:
        """The first rows, and one more, which tells whether there are more."""
        return self._read(f"SELECT * FROM {_ident(_ALIAS)} LIMIT {counted(n) + 1}", format, {_ALIAS: self})


def _ident(name: str) -> str:
    """A name as an identifier of SQL."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _listed(expressions: str | Sequence[str | Sequence[str]]) -> str:
    """Expressions, and lists of them, as a list of SQL."""
    text = expressions if isinstance(expressions, str) else ", ".join(map(_listed, expressions))
    if not text.strip():
        raise ProgrammingError("an expression is missing")
    return text


def counted(n: int) -> int:
    """A number of rows."""
    import operator

    number = operator.index(n)
    if number < 0:
        raise ProgrammingError(f"a number of rows cannot be {number}")
    return number
