"""Puts a query of the ClickHouse dialect into the words of a peer, by rules over its tokens.

A rule is a template ({0}, {1} ... are the arguments) or a function of the call. What no rule names stays as it is: where a
peer does not know it, the peer says so and the query counts as one it cannot do. Only the usual functions of web analytics
are here, each as that project's own documentation would write it, never a roundabout form that would cost the peer time.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from statements import CLOSING, OPENING, Token, outermost, parts, tokens

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "\\": "\\", "'": "'"}
ALL_MATCHES = "'g'"
# Answers of these are estimates, and every engine estimates in its own way.
APPROXIMATE = {
    "uniq", "uniqcombined", "uniqcombined64", "uniqhll12", "uniqtheta", "quantile", "quantiles", "median", "quantiletdigest", "topk",
}  # fmt: skip
TYPES = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "float32": "REAL", "float64": "DOUBLE",
    "uint8": "SMALLINT", "uint16": "INTEGER", "uint32": "BIGINT", "string": "VARCHAR", "date": "DATE", "datetime": "TIMESTAMP",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    name: str
    params: list[str]
    args: list[str]


Rule = str | Callable[[Call], str | None]


def parameter(template: str) -> Rule:
    """For f(p)(x): {0} is x, {p} the parameter, one half where it is missing."""
    return lambda call: template.format(*call.args, p=call.params[0] if call.params else "0.5")


def by_count(**templates: str) -> Rule:
    """One template per number of arguments: a2=..., a3=...; other numbers stay as they are."""

    def rule(call: Call) -> str | None:
        template = templates.get(f"a{len(call.args)}")
        return template.format(*call.args) if template else None

    return rule


def replace_all(call: Call) -> str:
    """A pattern that starts at the start matches once: asking for all matches would only slow the peer down."""
    once = call.args[1].lstrip().startswith("'^")
    return f"regexp_replace({', '.join(call.args[:3] if once else [*call.args[:3], ALL_MATCHES])})"


def chain_of_ifs(call: Call) -> str:
    pairs = zip(call.args[0:-1:2], call.args[1:-1:2])
    return f"CASE {' '.join(f'WHEN {a} THEN {b}' for a, b in pairs)} ELSE {call.args[-1]} END"


def interval_start(bucket: str) -> Rule:
    """`bucket` takes the interval as {1}; a single unit is what date_trunc is for, and keeps weeks on Mondays."""

    def rule(call: Call) -> str:
        single = re.fullmatch(r"INTERVAL '1 (\w+)'", call.args[1])
        return f"date_trunc('{single[1]}', {call.args[0]})" if single else bucket.format(*call.args)

    return rule


def regexp_part(template: str) -> Rule:
    """extract(text, pattern): the first group, or the whole match of a pattern without groups."""

    def rule(call: Call) -> str | None:
        if len(call.args) != 2:
            return None
        groups = re.search(r"(?<!\\)\((?!\?)", call.args[1])
        return template.format(*call.args, group=1 if groups else 0)

    return rule


def seconds_between(call: Call) -> str | None:
    unit, start, end = call.args
    if unit.strip("'").lower() not in ("second", "s"):
        return None
    return f"(CAST(date_part('epoch', {end}) AS BIGINT) - CAST(date_part('epoch', {start}) AS BIGINT))"


EVERYWHERE: dict[str, Rule] = {
    "count": by_count(a0="COUNT(*)"),
    "uniqexact": "COUNT(DISTINCT {0})",
    "countdistinct": "COUNT(DISTINCT {0})",
    "regexp_replace": replace_all,
    "replaceregexpall": replace_all,
    "replaceregexpone": "regexp_replace({0}, {1}, {2})",
    "replaceall": "replace({0}, {1}, {2})",
    "multiif": chain_of_ifs,
    "if": "CASE WHEN {0} THEN {1} ELSE {2} END",
    "ifnull": "COALESCE({0}, {1})",
    "empty": "({0} = '')",
    "notempty": "({0} <> '')",
    "startswith": "starts_with({0}, {1})",
    "position": by_count(a2="strpos({0}, {1})"),
    "lengthutf8": "length({0})",
    "todate": "CAST({0} AS DATE)",
    "todatetime": "CAST({0} AS TIMESTAMP)",
    "tostring": "CAST({0} AS VARCHAR)",
    "tostartofday": "date_trunc('day', {0})",
    "tostartofhour": "date_trunc('hour', {0})",
    "tostartofminute": "date_trunc('minute', {0})",
    "tostartofmonth": "date_trunc('month', {0})",
    "tostartofquarter": "date_trunc('quarter', {0})",
    "tostartofyear": "date_trunc('year', {0})",
    "tomonday": "date_trunc('week', {0})",
    "toyear": "extract(year FROM {0})",
    "toquarter": "extract(quarter FROM {0})",
    "tomonth": "extract(month FROM {0})",
    "todayofmonth": "extract(day FROM {0})",
    "todayofyear": "extract(doy FROM {0})",
    "todayofweek": "extract(isodow FROM {0})",
    "tohour": "extract(hour FROM {0})",
    "tominute": "extract(minute FROM {0})",
    "tosecond": "extract(second FROM {0})",
    "toyyyymm": "(extract(year FROM {0}) * 100 + extract(month FROM {0}))",
    "tounixtimestamp": "CAST(date_part('epoch', {0}) AS BIGINT)",
    "bitand": "({0} & {1})",
    "bitor": "({0} | {1})",
    "modulo": "({0} % {1})",
    **{f"to{name}": f"CAST({{0}} AS {sql})" for name, sql in TYPES.items() if "int" in name or "float" in name},
}  # fmt: skip

DUCKDB = EVERYWHERE | {
    "length": "strlen({0})",
    "lengthutf8": "length({0})",
    "any": "any_value({0})",
    "argmax": "arg_max({0}, {1})",
    "argmin": "arg_min({0}, {1})",
    "uniq": "approx_count_distinct({0})",
    "quantile": parameter("approx_quantile({0}, {p})"),
    "median": parameter("approx_quantile({0}, {p})"),
    "quantileexactinclusive": parameter("quantile_cont({0}, {p})"),
    "match": "regexp_matches({0}, {1})",
    "extract": regexp_part("regexp_extract({0}, {1}, {group})"),
    "endswith": "ends_with({0}, {1})",
    "intdiv": "({0} // {1})",
    "datediff": "date_diff({0}, {1}, {2})",
    "tostartofinterval": interval_start("time_bucket({1}, {0})"),
    "tostartoffiveminutes": "time_bucket(INTERVAL '5 minute', {0})",
    "tostartoftenminutes": "time_bucket(INTERVAL '10 minute', {0})",
    "tostartoffifteenminutes": "time_bucket(INTERVAL '15 minute', {0})",
}  # fmt: skip

DATAFUSION = EVERYWHERE | {
    "length": "octet_length({0})",
    "lengthutf8": "character_length({0})",
    "any": "first_value({0})",
    "argmax": "first_value({0} ORDER BY {1} DESC)",
    "argmin": "first_value({0} ORDER BY {1})",
    "uniq": "approx_distinct({0})",
    "quantile": parameter("approx_percentile_cont({0}, {p})"),
    "median": parameter("approx_percentile_cont({0}, {p})"),
    "quantileexactinclusive": parameter("percentile_cont({0}, {p})"),
    "match": "regexp_like({0}, {1})",
    "extract": regexp_part("COALESCE(regexp_match({0}, {1})[1], '')"),
    "endswith": "ends_with({0}, {1})",
    "intdiv": "({0} / {1})",
    "datediff": seconds_between,
    "tostartofinterval": interval_start("date_bin({1}, {0})"),
    "tostartoffiveminutes": "date_bin(INTERVAL '5 minute', {0})",
    "tostartoftenminutes": "date_bin(INTERVAL '10 minute', {0})",
    "tostartoffifteenminutes": "date_bin(INTERVAL '15 minute', {0})",
}  # fmt: skip

POLARS = EVERYWHERE | {
    "length": "octet_length({0})",
    "lengthutf8": "length({0})",
    "any": "first({0})",
    "quantileexactinclusive": parameter("quantile_cont({0}, {p})"),
    "match": "regexp_like({0}, {1})",
    "endswith": "ends_with({0}, {1})",
    "intdiv": "({0} // {1})",
    "datediff": seconds_between,
    # This one replaces all matches without being told.
    "regexp_replace": "regexp_replace({0}, {1}, {2})",
    "replaceregexpall": "regexp_replace({0}, {1}, {2})",
}  # fmt: skip


def filtered(call: Call) -> str | None:
    """countIf(c), sumIf(x, c) and the like."""
    base = call.name.lower().removesuffix("if")
    if base == "count":
        return f"COUNT(*) FILTER (WHERE {call.args[0]})"
    if base in ("sum", "avg", "min", "max") and len(call.args) == 2:
        return f"{base.upper()}({call.args[0]}) FILTER (WHERE {call.args[1]})"
    if base == "uniqexact":
        return f"COUNT(DISTINCT {call.args[0]}) FILTER (WHERE {call.args[1]})"
    return None


def standard_string(literal: str) -> str:
    """A literal with backslash escapes as one without. A backslash before any other character stands for itself."""

    def unescape(match: re.Match[str]) -> str:
        if match[0].startswith("\\x"):
            return chr(int(match[0][2:], 16))
        return ESCAPES.get(match[0][1], match[0])

    body = literal[1:-1].replace("''", "'")
    return "'" + re.sub(r"\\x[0-9A-Fa-f]{2}|\\.", unescape, body, flags=re.S).replace("'", "''") + "'"


class Translator:
    def __init__(self, rules: dict[str, Rule], whole_division: bool) -> None:
        self.rules = rules
        self.whole_division = whole_division

    def statement(self, sql: str) -> str:
        found = tokens(sql)
        ends = [t.start for t in outermost(found) if t.is_word("SETTINGS", "FORMAT")]
        return self.render(sql, [t for t in found if not ends or t.end <= ends[0]]).strip()

    def render(self, sql: str, found: list[Token]) -> str:
        out: list[str] = []
        at = 0
        while at < len(found):
            text, at = self.call(sql, found, at) or self.interval(found, at) or self.single(found, at)
            out.append(text)
        return "".join(out)

    def call(self, sql: str, found: list[Token], at: int) -> tuple[str, int] | None:
        name = found[at]
        if name.kind != "word" or not opens(found, at + 1):
            return None
        rule = self.rules.get(name.text.lower(), filtered)
        end = closing(found, at + 1)
        groups = [found[at + 2 : end]]
        if opens(found, end + 1):
            second = closing(found, end + 1)
            groups.append(found[end + 2 : second])
            end = second
        if any(t.is_word("FROM", "SELECT") for t in outermost(groups[-1])):
            return None
        lists = [[self.render(part, tokens(part)) for part in parts(sql, group)] for group in groups]
        call = Call(name.text, lists[0] if len(lists) > 1 else [], lists[-1])
        try:
            text = rule.format(*call.args) if isinstance(rule, str) else rule(call)
        except (IndexError, ValueError):
            # Not the arguments that the rule is for.
            return None
        return None if text is None else (text, end + 1)

    def interval(self, found: list[Token], at: int) -> tuple[str, int] | None:
        """INTERVAL 10 MINUTE: others want the number and the unit quoted."""
        words = [i for i in range(at, min(at + 6, len(found))) if found[i].kind != "space"][:3]
        if found[at].is_word("INTERVAL") and [found[i].kind for i in words] == ["word", "number", "word"]:
            return f"INTERVAL '{found[words[1]].text} {found[words[2]].text.lower()}'", words[2] + 1
        return None

    def single(self, found: list[Token], at: int) -> tuple[str, int]:
        token = found[at]
        if token.kind == "string":
            text = standard_string(token.text)
            before = [t for t in found[:at] if t.kind != "space"]
            escaped = before and before[-1].is_word("LIKE", "ILIKE") and "\\" in text
            return text + (" ESCAPE '\\'" if escaped else ""), at + 1
        if token.kind == "quoted":
            return '"' + token.text[1:-1] + '"', at + 1
        if token.text == "==":
            return "=", at + 1
        if token.text == "/" and self.whole_division:
            return "* 1e0 /", at + 1
        return token.text, at + 1


def opens(found: list[Token], at: int) -> bool:
    return at < len(found) and found[at].text == "("


def closing(found: list[Token], at: int) -> int:
    """Where the bracket that opens at `at` closes."""
    depth = 0
    for i in range(at, len(found)):
        if found[i].kind == "symbol":
            depth += (found[i].text in OPENING) - (found[i].text in CLOSING)
        if depth == 0:
            return i
    raise ValueError("a bracket that does not close")


TRANSLATORS = {
    "duckdb": Translator(DUCKDB, whole_division=False),
    "datafusion": Translator(DATAFUSION, whole_division=True),
    "polars": Translator(POLARS, whole_division=False),
}


def translate(sql: str, engine: str) -> str:
    """The query in the dialect of `engine`; chalet and chdb share the dialect of the file."""
    return TRANSLATORS[engine].statement(sql) if engine in TRANSLATORS else sql


def is_estimate(sql: str) -> bool:
    return any(t.kind == "word" and t.text.lower() in APPROXIMATE for t in tokens(sql))
