"""Reads and rewrites the strict subset of sqllogictest that tests/sql/README.md describes."""

import re
from dataclasses import dataclass, field

EMPTY = "(empty)"
ENGINES = ("kernel", "chalet")
# A FORMAT clause at the end of the text, with or without SETTINGS after it.
FORMAT_CLAUSE = re.compile(r"\bFORMAT\s+\w+\s*(SETTINGS\b[^()]*)?$", re.I)
ERROR_ANSWER = re.compile(r"^\(\?s\)Code: (\d+)\\\. \.\*\\\((\w+)\\\)$")


class SltError(Exception):
    """The file breaks the subset; the message names file and line."""


@dataclass
class Record:
    kind: str  # "ok", "error" or "query"
    line: int  # 1-based line of the head
    head: str
    sql: str
    rowsort: bool = False
    label: str = ""
    error: tuple | None = None  # (code, name) of a blessed error
    rows: list | None = None  # rows of a blessed query; None: no answer yet
    only: str = ""  # the one engine the record is for, "" for both
    reason: str = ""  # the comment directly above a condition
    span: tuple = field(default=(0, 0))  # lines [from, to) without the blank line after it

    def blessed(self):
        return {"ok": True, "error": self.error is not None, "query": self.rows is not None}[self.kind]

    def lines(self):
        """The record as lines of the file, answer included."""
        if self.kind == "ok":
            return [self.head, *self.sql.split("\n")]
        if self.kind == "error":
            head = "statement error"
            if self.error:
                head += " " + error_answer(*self.error)
            return [head, *self.sql.split("\n")]
        out = [self.head, *self.sql.split("\n")]
        if self.rows is not None:
            out += ["----", *self.rows]
        return out


def error_answer(code, name):
    return rf"(?s)Code: {code}\. .*\({name}\)"


def parse(text, name="<text>"):
    """All records of a file; anything outside the subset is an SltError."""
    lines = text.split("\n")
    records, i, only = [], 0, ""

    def fail(at, why):
        raise SltError(f"{name}:{at + 1}: {why}")

    if not lines[0].startswith("# "):
        fail(0, "the first line must be a comment that says what the file covers")
    while i < len(lines):
        line = lines[i]
        if not line or line.startswith("#"):
            i += 1
            continue
        words = line.split()
        if words[0] in ("onlyif", "skipif"):
            if len(words) != 2 or words[1] not in ENGINES:
                fail(i, f"a condition names one of {', '.join(ENGINES)}")
            if i == 0 or not lines[i - 1].startswith("# "):
                fail(i, "a condition needs its reason in a comment directly above")
            other = ENGINES[1 - ENGINES.index(words[1])]
            only = words[1] if words[0] == "onlyif" else other
            i += 1
            continue
        start = i
        record = Record("", start + 1, line, "", only=only)
        if only:
            record.reason = lines[start - 2][2:]
        only = ""
        if words == ["statement", "ok"]:
            record.kind = "ok"
        elif words[:2] == ["statement", "error"]:
            record.kind = "error"
            answer = line[len("statement error") :].strip()
            if answer:
                m = ERROR_ANSWER.match(answer)
                if not m:
                    fail(i, "an error is written as " + error_answer("N", "NAME"))
                record.error = (int(m[1]), m[2])
        elif words[:2] == ["query", "T"]:
            record.kind = "query"
            rest = words[2:]
            if rest and rest[0] == "rowsort":
                record.rowsort = True
                rest = rest[1:]
            if len(rest) > 1 or (rest and not re.fullmatch(r"[a-z][a-z0-9_]*", rest[0])):
                fail(i, "after `query T` come at most `rowsort` and one label of [a-z0-9_]")
            record.label = rest[0] if rest else ""
        else:
            fail(i, f"unknown record {line!r}")
        i += 1
        sql = []
        while i < len(lines) and lines[i] and lines[i] != "----":
            sql.append(lines[i])
            i += 1
        if not sql:
            fail(start, "a record needs a statement")
        if sql[-1].rstrip().endswith(";"):
            fail(i - 1, "no semicolon at the end of a statement")
        record.sql = "\n".join(sql)
        if i < len(lines) and lines[i] == "----":
            if record.kind != "query":
                fail(i, "only a query has rows")
            i += 1
            record.rows = []
            while i < len(lines) and lines[i]:
                record.rows.append(lines[i])
                i += 1
            if record.rowsort and record.rows != sorted(record.rows):
                fail(start, "the rows of a rowsort record must be sorted")
        record.span = (start, i)
        records.append(record)
    return records


def render(text, records):
    """The text with each record's lines replaced by what the record holds now; the rest byte for byte."""
    lines = text.split("\n")
    out, at = [], 0
    for record in records:
        out += lines[at : record.span[0]]
        out += record.lines()
        at = record.span[1]
    return "\n".join(out + lines[at:])


def rows_of(output, sql):
    """The lines of a statement's output as rows: see "Rows" in tests/sql/README.md."""
    text = output.decode("utf-8")
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    if FORMAT_CLAUSE.search(sql):
        return [line or EMPTY for line in lines]
    return ["\t".join(cell or EMPTY for cell in line.split("\t")) for line in lines]
