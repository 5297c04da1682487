"""Statements, tables and types as text of ClickHouse's dialect."""

from __future__ import annotations

import itertools
from typing import Any, NoReturn

import sqlalchemy.types as sa
from sqlalchemy import CheckConstraint, cast, exc, literal_column
from sqlalchemy.sql import compiler, operators
from sqlalchemy.sql.base import _de_clone
from sqlalchemy.sql.elements import BindParameter, Null, Slice, Tuple, _truncated_label
from sqlalchemy.sql.selectable import CompoundSelect
from sqlalchemy.sql.selectable import _CompoundSelectKeyword as Keyword

from .._words import KEYWORDS
from .engines import Engine
from .types import LowCardinality, Nullable, enumerated, quoted

#: A value bound by the engine: what stands for the type is replaced when the value is known.
PLACE = "{%(name)s:$}"

# Stands before clauses of a compound until they are put behind it.
_BEHIND = "\0"

# An item of an array, inside of a function over all of them.
_ITEM = "_item"

_RESERVED = frozenset(word.lower() for word in KEYWORDS)


class Preparer(compiler.IdentifierPreparer):
    """Names in backticks where they need quotes."""

    reserved_words = _RESERVED

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`")

    def _escape_identifier(self, value: str) -> str:
        return value.replace("\\", "\\\\").replace("`", "\\`")

    def _unescape_identifier(self, value: str) -> str:
        return value.replace("\\`", "`").replace("\\\\", "\\")


class Compiler(compiler.SQLCompiler):
    """Statements."""

    compound_keywords = {
        **compiler.SQLCompiler.compound_keywords,
        # Without a word ClickHouse asks for one.
        Keyword.UNION: "UNION DISTINCT",
        Keyword.EXCEPT: "EXCEPT DISTINCT",
        Keyword.INTERSECT: "INTERSECT DISTINCT",
        Keyword.EXCEPT_ALL: "EXCEPT ALL",
        Keyword.INTERSECT_ALL: "INTERSECT ALL",
    }
    bindname_escape_characters = {**compiler.SQLCompiler.bindname_escape_characters, "{": "_", "}": "_"}

    @property
    def bindtemplate(self) -> str:
        return PLACE

    @bindtemplate.setter
    def bindtemplate(self, value: str) -> None:
        """The base class sets that of the parameter style."""

    compilation_bindtemplate = bindtemplate

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += f"\n LIMIT {self.process(select._limit_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)}"
        return _BEHIND + text if text and isinstance(select, CompoundSelect) else text

    def visit_compound_select(self, cs: Any, *args: Any, **kw: Any) -> str:
        """What stands behind the last part belongs to that part in ClickHouse, not to the whole."""
        whole, *behind = super().visit_compound_select(cs, *args, **kw).split(_BEHIND)
        return f"SELECT * FROM ({whole}){''.join(behind)}" if behind else whole

    def order_by_clause(self, select: Any, **kw: Any) -> str:
        text = super().order_by_clause(select, **kw)
        return _BEHIND + text if text and isinstance(select, CompoundSelect) else text

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        if select._distinct_on:
            columns = ", ".join(self.process(column, **kw) for column in select._distinct_on)
            return f"DISTINCT ON ({columns}) "
        return "DISTINCT " if select._distinct else ""

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """There are no locks."""
        return ""

    def get_from_hint_text(self, table: Any, text: str | None) -> str | None:
        """`with_hint(table, "FINAL")`."""
        return text

    def get_statement_hint_text(self, hint_texts: list[str]) -> str:
        """`with_statement_hint("SETTINGS max_threads = 1")`."""
        return " ".join(hint_texts)

    def visit_delete(self, delete_stmt: Any, *args: Any, **kw: Any) -> str:
        text = super().visit_delete(delete_stmt, *args, **kw)
        # DELETE asks for a condition.
        return text if delete_stmt._where_criteria else text.replace("DELETE FROM", "TRUNCATE TABLE", 1)

    def visit_update(self, update_stmt: Any, *args: Any, **kw: Any) -> str:
        text = super().visit_update(update_stmt, *args, **kw)
        return text if update_stmt._where_criteria else f"{text} WHERE true"

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        return f"SELECT {', '.join('NULL' for _ in element_types)} WHERE false"

    def visit_like_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._like(binary, "LIKE", **kw)

    def visit_not_like_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._like(binary, "NOT LIKE", **kw)

    def visit_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._like(binary, "ILIKE", **kw)

    def visit_not_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._like(binary, "NOT ILIKE", **kw)

    def _like(self, binary: Any, word: str, **kw: Any) -> str:
        left, right = (each._compiler_dispatch(self, **kw) for each in (binary.left, binary.right))
        escape = binary.modifiers.get("escape")
        if escape is not None and escape != "\\":
            # Patterns are escaped with backslashes, always. A doubled escape is set aside meanwhile.
            steps = [("\\", "\\\\"), (escape * 2, "\0"), (f"{escape}%", "\\%"), (f"{escape}_", "\\_"), ("\0", escape)]
            for old, new in steps:
                right = f"replaceAll({right}, {quoted(old)}, {quoted(new)})"
        return f"{left} {word} {right}"

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._match(binary, **kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT {self._match(binary, **kw)}"

    def _match(self, binary: Any, **kw: Any) -> str:
        return f"match({self.process(binary.left, **kw)}, {self._pattern(binary, binary.right, **kw)})"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        pattern, replacement = binary.right.clauses
        arguments = [self.process(binary.left, **kw), self._pattern(binary, pattern, **kw), self.process(replacement, **kw)]
        return f"replaceRegexpAll({', '.join(arguments)})"

    def _pattern(self, binary: Any, pattern: Any, **kw: Any) -> str:
        text = self.process(pattern, **kw)
        flags = binary.modifiers.get("flags")
        return text if not flags else f"concat({quoted(f'(?{flags})')}, {text})"

    def visit_bitwise_and_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._call("bitAnd", binary.left, binary.right, **kw)

    def visit_bitwise_or_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._call("bitOr", binary.left, binary.right, **kw)

    def visit_bitwise_xor_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._call("bitXor", binary.left, binary.right, **kw)

    def visit_bitwise_lshift_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._call("bitShiftLeft", _wide(binary.left), binary.right, **kw)

    def visit_bitwise_rshift_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._call("bitShiftRight", binary.left, binary.right, **kw)

    def visit_bitwise_not_op_unary_operator(self, unary: Any, operator: Any, **kw: Any) -> str:
        return self._call("bitNot", _wide(unary.element), **kw)

    def _call(self, function: str, *arguments: Any, **kw: Any) -> str:
        return f"{function}({', '.join(self.process(argument, **kw) for argument in arguments)})"

    def visit_getitem_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        array = self.process(binary.left, **kw)
        if not isinstance(binary.right, Slice):
            return f"{array}[{self.process(binary.right, **kw)}]"
        # Both ends are part of it, the first item is 1, as in the standard.
        if not isinstance(binary.right.step, Null):
            raise exc.CompileError("chalet has no slices of arrays with a step")
        ends = (binary.right.start, binary.right.stop)
        first, last = (None if isinstance(end, Null) else self.process(end, **kw) for end in ends)
        first = first or "1"
        return f"arraySlice({array}, {first}" + (")" if last is None else f", greatest({last} - {first} + 1, 0))")

    def visit_binary(self, binary: Any, *args: Any, **kw: Any) -> str:
        """Comparisons with `any_(array)` and `all_(array)` become functions; those with subqueries are as they are."""
        several = binary.right
        if not getattr(several, "_is_collection_aggregate", False) or several.element.type._type_affinity is not sa.ARRAY:
            return super().visit_binary(binary, *args, **kw)
        linter = kw.get("from_linter")
        if linter:
            both = (_de_clone(side._from_objects) for side in (binary.left, several))
            linter.edges.update(itertools.product(*both))
        is_any = several.operator is operators.any_op
        if is_any and binary.operator is operators.eq:
            return self._call("has", several.element, binary.left, **kw)
        one = binary._clone()
        one.right = literal_column(_ITEM, several.element.type.item_type)
        condition = super().visit_binary(one, *args, **kw)
        return f"{'arrayExists' if is_any else 'arrayAll'}({_ITEM} -> {condition}, {self.process(several.element, **kw)})"

    def visit_json_getitem_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """A part of a text of JSON, NULL where there is none. Places are told as literals: so many arguments there are."""
        document, path = self.process(binary.left, **kw), self.process(binary.right, **{**kw, "literal_execute": True})
        if binary.type._type_affinity is sa.JSON:
            return f"nullIf(JSONExtractRaw({document}, {path}), '')"
        # Integers of JSON are not those of 32 bits.
        ty = sa.BigInteger() if binary.type._type_affinity is sa.Integer else binary.type
        return f"JSONExtract({document}, {path}, {quoted(self.dialect.type_compiler_instance.nullable(ty))})"

    visit_json_path_getitem_op_binary = visit_json_getitem_op_binary

    def visit_values(
        self, element: Any, asfrom: bool = False, from_linter: Any = None, visiting_cte: Any = None, **kw: Any
    ) -> str:
        if element._is_lateral:
            raise exc.CompileError("chalet has no LATERAL")
        if element._independent_ctes:
            self._dispatch_independent_ctes(element, kw)
        name = element.name
        if isinstance(name, _truncated_label):
            name = self._truncated_identifier("values", name)
        if asfrom and from_linter:
            from_linter.froms[element._de_clone()] = name or "(unnamed VALUES element)"
        text = self._rows_of(element, **kw)
        if not asfrom or (visiting_cte is not None and visiting_cte.element is element):
            return f"SELECT * FROM {text}"
        return text if element._unnamed else f"{text} AS {self.preparer.quote(name)}"

    def visit_scalar_values(self, element: Any, **kw: Any) -> str:
        return f"(SELECT * FROM {self._rows_of(element, **kw)})"

    def _rows_of(self, element: Any, **kw: Any) -> str:
        """The table function of rows; without the types of all columns they have those of the values."""
        kw.setdefault("literal_binds", element.literal_binds)
        rows = [
            self.process(Tuple(*row, types=element._column_types).self_group(), **kw) for chunk in element._data for row in chunk
        ]
        columns = [(self.preparer.quote(column.name), column.type) for column in element._column_args]
        if not any(isinstance(ty, sa.NullType) for _, ty in columns):
            nullable = self.dialect.type_compiler_instance.nullable
            structure = ", ".join(f"{name} {nullable(ty)}" for name, ty in columns)
            return f"values({', '.join([quoted(structure), *rows])})"
        named = ", ".join(f"c{number} AS {name}" for number, (name, _) in enumerate(columns, 1))
        return f"(SELECT {named} FROM values({', '.join(rows)}))"

    def visit_aggregate_strings_func(self, fn: Any, **kw: Any) -> str:
        expression, separator = fn.clauses
        # Parameters of aggregate functions are literals.
        parameter = self.process(separator, **{**kw, "literal_execute": True})
        return f"groupConcat({parameter})({self.process(expression, **kw)})"

    def visit_aggregateorderby(self, ordered: Any, **kw: Any) -> NoReturn:
        raise exc.CompileError("chalet has no ORDER BY inside of aggregate functions")

    def returning_clause(self, *args: Any, **kw: Any) -> NoReturn:
        raise exc.CompileError("chalet has no RETURNING")

    def visit_savepoint(self, savepoint_stmt: Any, **kw: Any) -> NoReturn:
        raise exc.CompileError("chalet has no SAVEPOINT, which begin_nested() asks for: every statement stands on its own")

    def visit_try_cast(self, cast: Any, **kw: Any) -> str:
        return f"accurateCastOrNull({self.process(cast.clause, **kw)}, {quoted(self.process(cast.typeclause, **kw))})"

    def visit_now_func(self, fn: Any, **kw: Any) -> str:
        return "now()"

    def visit_current_timestamp_func(self, fn: Any, **kw: Any) -> str:
        return "now64(6)"

    def visit_current_date_func(self, fn: Any, **kw: Any) -> str:
        return "today()"

    def visit_random_func(self, fn: Any, **kw: Any) -> str:
        return "rand()"

    def render_literal_value(self, value: Any, type_: Any) -> str:
        if isinstance(value, str):
            return literal(value)
        return super().render_literal_value(value, type_)


def literal(text: str) -> str:
    """A text as a literal in a statement, where nothing of it is taken for a place."""
    return quoted(text).replace("{", "\\x7b") if ":$}" in text else quoted(text)


def _wide(number: Any) -> Any:
    """A value that is bound has the least type that holds it, which has no room for further bits."""
    return cast(number, sa.BigInteger) if isinstance(number, BindParameter) else number


class DDLCompiler(compiler.DDLCompiler):
    """Definitions. Keys and indexes of other databases are left out: nothing here would hold or use them."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        name = self.preparer.format_column(column)
        text = f"{name} {self.dialect.type_compiler_instance.column(column)}"
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        if column.computed is not None:
            text += f" {self.process(column.computed)}"
        if column.comment is not None:
            text += f" COMMENT {quoted(column.comment)}"
        return text

    def visit_computed_column(self, generated: Any, **kw: Any) -> str:
        word = "ALIAS" if generated.persisted is False else "MATERIALIZED"
        return f"{word} {self.sql_compiler.process(generated.sqltext, include_table=False, literal_binds=True)}"

    def create_table_constraints(self, table: Any, *args: Any, **kw: Any) -> str:
        checks = [c for c in table._sorted_constraints if isinstance(c, CheckConstraint) and not c._type_bound]
        texts = []
        for number, check in enumerate(checks, 1):
            name = self.preparer.quote(str(check.name)) if check.name else f"check_{number}"
            condition = self.sql_compiler.process(check.sqltext, include_table=False, literal_binds=True)
            texts.append(f"CONSTRAINT {name} CHECK {condition}")
        return ", \n\t".join(texts)

    def post_create_table(self, table: Any) -> str:
        engine = table.dialect_options["chalet"]["engine"]
        parts = []
        if isinstance(engine, Engine):
            parts.append(engine.text(self._literal, self._expression))
        elif engine is not None:
            parts.append(engine if str(engine).upper().startswith("ENGINE") else f"ENGINE = {engine}")
        if table.comment is not None:
            parts.append(f"COMMENT {quoted(table.comment)}")
        return "".join(f"\n{part}" for part in parts)

    def _literal(self, value: Any) -> str:
        return quoted(value) if isinstance(value, str) else str(value)

    def _expression(self, expression: Any) -> str:
        return self.sql_compiler.process(expression, include_table=False, literal_binds=True)

    def visit_create_index(self, create: Any, *args: Any, **kw: Any) -> str:
        return ""

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        return ""

    def visit_create_schema(self, create: Any, **kw: Any) -> str:
        return f"CREATE DATABASE {'IF NOT EXISTS ' if create.if_not_exists else ''}{self.preparer.format_schema(create.element)}"

    def visit_drop_schema(self, drop: Any, **kw: Any) -> str:
        return f"DROP DATABASE {'IF EXISTS ' if drop.if_exists else ''}{self.preparer.format_schema(drop.element)}"

    def visit_set_table_comment(self, create: Any, **kw: Any) -> str:
        table = self.preparer.format_table(create.element)
        return f"ALTER TABLE {table} MODIFY COMMENT {quoted(create.element.comment or '')}"


class TypeCompiler(compiler.GenericTypeCompiler):
    """Types. Those of SQLAlchemy become what holds their values: dates before 1970 too, moments with microseconds."""

    def column(self, column: Any) -> str:
        """The type of a column, with Nullable where it may be NULL."""
        return self.nullable(column.type) if column.nullable and column.computed is None else self.process(column.type)

    def nullable(self, ty: Any) -> str:
        """The type with Nullable around it, or inside of LowCardinality; as it is where it cannot be NULL."""
        if isinstance(ty, LowCardinality):
            return f"LowCardinality({self.nullable(ty.inner)})"
        inner = ty.type_engine(self.dialect) if isinstance(ty, sa.TypeDecorator) else ty
        if isinstance(ty, Nullable) or not getattr(inner, "can_be_null", not isinstance(inner, sa.ARRAY)):
            return self.process(ty)
        return f"Nullable({self.process(ty)})"

    def visit_chalet(self, type_: Any, **kw: Any) -> str:
        return type_.as_sql(self.process)

    def visit_type_decorator(self, type_: Any, **kw: Any) -> str:
        if isinstance(type_, (LowCardinality, Nullable)):
            return f"{type(type_).__name__}({self.process(type_.inner)})"
        return super().visit_type_decorator(type_, **kw)

    def visit_String(self, type_: Any, **kw: Any) -> str:
        return "String"

    visit_string = visit_text = visit_unicode = visit_unicode_text = visit_String
    visit_CHAR = visit_VARCHAR = visit_NCHAR = visit_NVARCHAR = visit_TEXT = visit_CLOB = visit_String
    visit_BLOB = visit_BINARY = visit_VARBINARY = visit_large_binary = visit_JSON = visit_null = visit_String

    def visit_SMALLINT(self, type_: Any, **kw: Any) -> str:
        return "Int16"

    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:
        return "Int32"

    def visit_BIGINT(self, type_: Any, **kw: Any) -> str:
        return "Int64"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "Float32" if type_.precision is not None and type_.precision <= 24 else "Float64"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        return "Float32"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:
        return "Float64"

    visit_DOUBLE_PRECISION = visit_DOUBLE

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        if type_.precision is None:
            return "Decimal(38, 10)" if type_.scale is None else f"Decimal(38, {type_.scale})"
        return f"Decimal({type_.precision}, {type_.scale or 0})"

    visit_DECIMAL = visit_NUMERIC

    def visit_BOOLEAN(self, type_: Any, **kw: Any) -> str:
        return "Bool"

    def visit_DATE(self, type_: Any, **kw: Any) -> str:
        return "Date32"

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return "DateTime64(6, 'UTC')" if type_.timezone else "DateTime64(6)"

    visit_TIMESTAMP = visit_DATETIME

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        return "Time64(6)"

    def visit_UUID(self, type_: Any, **kw: Any) -> str:
        return "UUID"

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        return "UUID" if type_.native_uuid else "String"

    def visit_enum(self, type_: Any, **kw: Any) -> str:
        bits = 8 if len(type_.enums) <= 127 else 16
        return f"Enum{bits}({enumerated({name: number for number, name in enumerate(type_.enums, 1)})})"

    visit_ENUM = visit_enum

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        text = self.process(type_.item_type)
        for _ in range(type_.dimensions or 1):
            text = f"Array({text})"
        return text
