"""A data set of the shape of the Join Order Benchmark's (Leis et al. 2015): movies, who made them and what is said of them, in 20
tables with skew and correlation, and 113 queries in 33 families that join 4 to 17 of them.

All of it is drawn from a seed. Movies with low numbers are more often referred to, are newer and mostly of one kind; countries,
genres and keywords go together: estimates that take columns to be independent are off by orders of magnitude.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOVIES = 150_000
FAMILIES = 33
QUERIES = 113
SEED = 20

KINDS = ["movie", "episode", "video", "tv series", "tv movie", "video game", "mini series"]
COMPANY_KINDS = ["production", "distribution", "special effects", "miscellaneous"]
ROLES = ["actor", "actress", "producer", "writer", "director", "composer", "editor", "camera", "costumes", "design", "guest", "crew"]
LINKS = [
    "follows", "followed by", "remake of", "remade as", "references", "referenced in", "spoofs", "spoofed in", "features", "featured in",
    "spin off", "spin off from", "version of", "similar to", "edited into", "edited from", "alternate language", "unknown",
]  # fmt: skip
INFOS = ["genres", "countries", "languages", "release dates", "runtimes", "rating", "votes", "budget", "color", "sound", "trivia", "plot"]
N_INFOS = 113
GENRES = ["Drama", "Comedy", "Short", "Documentary", "Romance", "Thriller", "Action", "Horror", "Crime", "Family", "Animation", "War", "Western"]
COUNTRIES = ["us", "gb", "de", "fr", "it", "jp", "in", "ca", "es", "se", "nl", "mx", "au", "dk", "pl", "fi", "br", "ar", "at", "ch"]
LANGUAGES = ["English", "English", "German", "French", "Italian", "Japanese", "Hindi", "English", "Spanish", "Swedish"]
KEYWORDS = ["murder", "sequel", "based-on-novel", "superhero", "blood", "revenge", "marvel", "character-name-in-title", "violence", "hero"]
STATES = ["complete", "complete+verified", "cast", "crew"]
SYLLABLES = ["an", "be", "cor", "da", "el", "fin", "gra", "ho", "is", "jo", "ka", "lu", "mar", "ne", "or", "pe", "ri", "sa", "to", "wen"]


# --- data ----------------------------------------------------------------------------------------------------------


class Maker:
    """Draws columns."""

    def __init__(self, scale: float, folder: Path) -> None:
        import numpy

        self.numpy = numpy
        self.dice = numpy.random.default_rng(SEED)
        self.folder = folder
        self.n_movies = max(int(MOVIES * scale), 100)

    def skewed(self, n: int, of: int, power: float = 3.0) -> Any:
        """Numbers below `of`; the lower ones are many more."""
        return (of * self.dice.random(n) ** power).astype("int64")

    def chosen(self, values: list[str | None], n: int, power: float = 2.0) -> Any:
        return self.numpy.array(values, dtype=object)[self.skewed(n, len(values), power)]

    def mostly(self, expected: Any, other: Any, share: float) -> Any:
        """The expected ones in this share of the rows."""
        return self.numpy.where(self.dice.random(len(expected)) < share, expected, other)

    def names(self, n: int, parts: int) -> Any:
        drawn = self.dice.integers(0, len(SYLLABLES), (n, parts))
        return self.numpy.array([" ".join(SYLLABLES[p].capitalize() + SYLLABLES[(p * 7 + i) % 20] for p in row) for i, row in enumerate(drawn)], dtype=object)

    def write(self, table: str, **columns: Any) -> None:
        import pyarrow
        import pyarrow.parquet

        n = len(next(iter(columns.values())))
        made = pyarrow.table({"id": self.numpy.arange(n), **{key: pyarrow.array(values, from_pandas=True) for key, values in columns.items()}})
        pyarrow.parquet.write_table(made, self.folder / f"{table}.parquet", row_group_size=100_000)


def write(scale: float, folder: Path) -> None:
    """All tables, a Parquet file each."""
    make = Maker(scale, folder)
    numpy, n = make.numpy, make.n_movies
    for table, column, values in [("kinds", "kind", KINDS), ("company_kinds", "kind", COMPANY_KINDS), ("roles", "role", ROLES), ("link_kinds", "link", LINKS), ("states", "state", STATES)]:
        make.write(table, **{column: values})
    make.write("infos", info=INFOS + [f"info {i}" for i in range(len(INFOS), N_INFOS)])
    # What a movie is goes with its number.
    country = make.skewed(n, len(COUNTRIES), 2.5)
    kind = numpy.where(numpy.arange(n) < n // 8, 0, make.skewed(n, len(KINDS), 1.2))
    year = (2015 - 110 * (numpy.arange(n) / n) ** 1.5 * make.dice.random(n) ** 0.7).astype("int32")
    make.write("movies", title=make.names(n, 2), kind_id=kind, year=year, episode=numpy.where(kind == 1, make.dice.integers(1, 400, n), None))
    _write_companies(make, country)
    _write_infos(make, country, year)
    _write_people(make)
    _write_rest(make, country)


def _write_companies(make: Maker, country: Any) -> None:
    numpy, n = make.numpy, make.n_movies
    n_companies = max(n // 10, 50)
    home = make.skewed(n_companies, len(COUNTRIES), 2.5)
    names = numpy.array([f"{name} {kind}" for name, kind in zip(make.names(n_companies, 1), make.chosen(["Film", "Pictures", "Television", "Studios", "Warner"], n_companies))], dtype=object)
    make.write("companies", name=names, country=numpy.array([f"[{c}]" for c in COUNTRIES], dtype=object)[home])
    by_country = [numpy.flatnonzero(home == c) for c in range(len(COUNTRIES))]
    movie = make.skewed(n, n, 1.5)
    wanted = country[movie]
    local = numpy.array([by_country[c][int(r * len(by_country[c]))] if len(by_country[c]) else 0 for c, r in zip(wanted, make.dice.random(n) ** 2)])
    notes = make.chosen([None, "(presents)", "(co-production)", "(worldwide) (all media)", "(USA) (DVD)", "(as Metro) (theatrical)"], n, 1.5)
    make.write("movie_companies", movie_id=movie, company_id=make.mostly(local, make.skewed(n, n_companies), 0.85), kind_id=make.skewed(n, 4, 1.7), note=notes)


def _write_infos(make: Maker, country: Any, year: Any) -> None:
    numpy, n = make.numpy, make.n_movies
    m = 10 * n
    movie, info = make.skewed(m, n, 1.8), make.skewed(m, N_INFOS, 4.0)
    c = country[movie]
    values = numpy.array([f"text {v}" for v in range(5000)], dtype=object)[make.skewed(m, 5000, 2)]
    genre = numpy.array(GENRES, dtype=object)[make.mostly(c % len(GENRES), make.skewed(m, len(GENRES), 2), 0.5)]
    countries, languages = numpy.array(COUNTRIES, dtype=object)[c], numpy.array(LANGUAGES, dtype=object)[c % len(LANGUAGES)]
    released = numpy.array([f"{COUNTRIES[a]}:{b}" for a, b in zip(c, year[movie])], dtype=object)
    for number, column in enumerate([genre, countries, languages, released]):
        values = numpy.where(info == number, column, values)
    make.write("movie_infos", movie_id=movie, info_id=info, value=values, note=make.chosen([None, None, "(USA)", "internet", "(re-release)"], m, 1))
    rated = numpy.flatnonzero(make.dice.random(n) < 0.5)
    score = 10 * (1 - make.dice.random(len(rated)) ** 1.5 * (0.3 + 0.7 * rated / n))
    votes = (1_000_000 * (1 - rated / n) ** 8 * make.dice.random(len(rated)) + 5).astype("int64")
    text = lambda values: numpy.array(values, dtype=object)  # noqa: E731
    make.write(
        "ratings",
        movie_id=numpy.concatenate([rated, rated]),
        info_id=numpy.repeat([INFOS.index("rating"), INFOS.index("votes")], len(rated)),
        value=numpy.concatenate([text([f"{s:.1f}" for s in score]), text([str(v) for v in votes])]),
        number=numpy.concatenate([score, votes.astype("float64")]),
    )


def _write_people(make: Maker) -> None:
    numpy, n = make.numpy, make.n_movies
    n_people, n_characters, m = 2 * n, n, 13 * n
    gender = make.chosen(["m", "f", None], n_people, 1.3)
    make.write("people", name=make.names(n_people, 2), gender=gender)
    make.write("characters", name=make.names(n_characters, 1))
    movie, person = make.skewed(m, n, 1.8), make.skewed(m, n_people, 2.5)
    role = numpy.where(make.dice.random(m) < 0.6, numpy.where(gender[person] == "f", 1, 0), make.skewed(m, len(ROLES), 1.3))
    plays = (role < 2) & (make.dice.random(m) < 0.7)
    character = numpy.where(plays, make.skewed(m, n_characters, 2.5), None)
    note = numpy.where(plays, make.chosen([None, None, "(voice)", "(uncredited)", "(as himself)"], m, 2.5), make.chosen([None, "(producer)", "(executive producer)", "(writer)", "(voice: English version)"], m, 1))
    make.write("casts", movie_id=movie, person_id=person, character_id=character, role_id=role, note=note)
    make.write("aliases", person_id=make.skewed(n // 2, n_people, 2), name=make.names(n // 2, 2))
    make.write("person_infos", person_id=make.skewed(n, n_people, 2), info_id=make.skewed(n, N_INFOS, 2), value=numpy.array([f"born {v}" for v in make.dice.integers(1880, 2000, n)], dtype=object), note=make.chosen([None, "press", "books"], n, 1.5))


def _write_rest(make: Maker, country: Any) -> None:
    numpy, n = make.numpy, make.n_movies
    n_keywords, m = max(n // 20, 60), 3 * n
    words = KEYWORDS + [f"{a}-{b}" for a, b in zip(make.names(n_keywords - len(KEYWORDS), 1), range(n_keywords))]
    make.write("keywords", keyword=numpy.array(words, dtype=object))
    movie = make.skewed(m, n, 1.8)
    expected = (country[movie] * 31 + make.skewed(m, 40, 2)) % n_keywords
    make.write("movie_keywords", movie_id=movie, keyword_id=make.mostly(expected, make.skewed(m, n_keywords, 3), 0.4))
    k = n // 20
    make.write("movie_links", movie_id=make.skewed(k, n, 2.5), linked_id=make.skewed(k, n, 2.5), link_id=make.skewed(k, len(LINKS), 1.5))
    make.write("movie_aliases", movie_id=make.skewed(2 * k, n, 2), title=make.names(2 * k, 2))
    make.write("complete_casts", movie_id=make.skewed(2 * k, n, 2), subject_id=2 + make.skewed(2 * k, 2, 1), state_id=make.skewed(2 * k, 2, 1))


# --- queries -------------------------------------------------------------------------------------------------------


@dataclass
class Join:
    """The relations and conditions of a query."""

    tables: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    filters: list[Callable[[random.Random], str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def add(self, table: str, alias: str, *conditions: str) -> None:
        self.tables.append(f"{table} AS {alias}")
        self.conditions.extend(conditions)


def texts(dice: random.Random, values: list[str], most: int = 3) -> str:
    """Of a column: one of some values, or several."""
    chosen = dice.sample(values, dice.randint(1, most))
    return f"= '{chosen[0]}'" if len(chosen) == 1 else f"IN ({', '.join(repr(c) for c in chosen)})"


def years(alias: str) -> Callable[[random.Random], str]:
    def condition(dice: random.Random) -> str:
        first = dice.randint(1950, 2012)
        return dice.choice([f"{alias}.year > {first}", f"{alias}.year BETWEEN {first} AND {first + dice.randint(1, 15)}"])

    return condition


def companies(join: Join, m: str, tag: str, dice: random.Random) -> None:
    join.add("movie_companies", f"mc{tag}", f"mc{tag}.movie_id = {m}.id")
    join.add("companies", f"c{tag}", f"c{tag}.id = mc{tag}.company_id")
    join.filters.append(lambda d: f"c{tag}.country {texts(d, ['[us]', '[de]', '[gb]', '[fr]', '[se]'])}")
    join.outputs.append(f"c{tag}.name")
    if dice.random() < 0.6:
        join.add("company_kinds", f"ck{tag}", f"ck{tag}.id = mc{tag}.kind_id")
        join.filters.append(lambda d: f"ck{tag}.kind {texts(d, COMPANY_KINDS, 2)}")
    if dice.random() < 0.5:
        join.filters.append(lambda d: d.choice([f"mc{tag}.note LIKE '%(co-production)%'", f"mc{tag}.note IS NULL", f"mc{tag}.note NOT LIKE '%(as Metro)%'"]))


def infos(join: Join, m: str, tag: str, dice: random.Random) -> None:
    join.add("movie_infos", f"mi{tag}", f"mi{tag}.movie_id = {m}.id")
    join.add("infos", f"i{tag}", f"i{tag}.id = mi{tag}.info_id")
    what = dice.choice(["genres", "countries", "languages", "release dates"])
    values = {"genres": GENRES, "countries": COUNTRIES[:8], "languages": LANGUAGES[2:]}
    join.conditions.append(f"i{tag}.info = '{what}'")
    if what in values:
        join.filters.append(lambda d: f"mi{tag}.value {texts(d, sorted(set(values[what])))}")
    else:
        join.filters.append(lambda d: f"mi{tag}.value LIKE '{d.choice(COUNTRIES[:6])}:{d.choice(['19', '20'])}%'")
    join.outputs.append(f"mi{tag}.value")


def ratings(join: Join, m: str, tag: str, dice: random.Random) -> None:
    join.add("ratings", f"r{tag}", f"r{tag}.movie_id = {m}.id")
    join.add("infos", f"ri{tag}", f"ri{tag}.id = r{tag}.info_id")
    what = dice.choice(["rating", "votes"])
    join.conditions.append(f"ri{tag}.info = '{what}'")
    join.filters.append(lambda d: f"r{tag}.number > {d.randint(2, 9) if what == 'rating' else d.choice([10, 1000, 100000])}")
    join.outputs.append(f"r{tag}.value")


def keywords(join: Join, m: str, tag: str, dice: random.Random) -> None:
    join.add("movie_keywords", f"mk{tag}", f"mk{tag}.movie_id = {m}.id")
    join.add("keywords", f"k{tag}", f"k{tag}.id = mk{tag}.keyword_id")
    join.filters.append(lambda d: f"k{tag}.keyword {texts(d, KEYWORDS, 5)}")


def casts(join: Join, m: str, tag: str, dice: random.Random) -> None:
    join.add("casts", f"ca{tag}", f"ca{tag}.movie_id = {m}.id")
    join.add("people", f"p{tag}", f"p{tag}.id = ca{tag}.person_id")
    join.outputs.append(f"p{tag}.name")
    join.filters.append(lambda d: d.choice([f"p{tag}.gender = 'f'", f"p{tag}.name LIKE '{d.choice(SYLLABLES).capitalize()}%'", f"p{tag}.name LIKE '%{d.choice(SYLLABLES)} {d.choice(SYLLABLES).capitalize()}%'"]))
    if dice.random() < 0.5:
        join.add("roles", f"ro{tag}", f"ro{tag}.id = ca{tag}.role_id")
        join.filters.append(lambda d: f"ro{tag}.role {texts(d, ROLES[:5], 2)}")
    if dice.random() < 0.5:
        join.filters.append(lambda d: f"ca{tag}.note {texts(d, ['(voice)', '(producer)', '(executive producer)', '(writer)'])}")
    elif dice.random() < 0.6:
        join.add("characters", f"ch{tag}", f"ch{tag}.id = ca{tag}.character_id")
        join.outputs.append(f"ch{tag}.name")
    if dice.random() < 0.4:
        join.add("aliases", f"al{tag}", f"al{tag}.person_id = p{tag}.id")
        if dice.random() < 0.5:
            join.conditions.append(f"al{tag}.person_id = ca{tag}.person_id")
    if dice.random() < 0.3:
        join.add("person_infos", f"pi{tag}", f"pi{tag}.person_id = p{tag}.id")
        join.filters.append(lambda d: f"pi{tag}.note {texts(d, ['press', 'books'], 1)}")


def complete(join: Join, m: str, tag: str, dice: random.Random) -> None:
    join.add("complete_casts", f"cc{tag}", f"cc{tag}.movie_id = {m}.id")
    join.add("states", f"s{tag}", f"s{tag}.id = cc{tag}.subject_id")
    join.add("states", f"t{tag}", f"t{tag}.id = cc{tag}.state_id")
    join.filters.append(lambda d: f"t{tag}.state {texts(d, STATES[:2], 1)}")


def aliases(join: Join, m: str, tag: str, dice: random.Random) -> None:
    join.add("movie_aliases", f"ma{tag}", f"ma{tag}.movie_id = {m}.id")
    join.outputs.append(f"ma{tag}.title")


SATELLITES = [(companies, 6), (infos, 6), (ratings, 4), (keywords, 6), (casts, 6), (complete, 2), (aliases, 1)]


def family(dice: random.Random) -> Join:
    """What the queries of a family have in common."""
    join = Join(outputs=["m.title"])
    join.add("movies", "m")
    wanted = dice.choice([2, 2, 3, 3, 4, 5])
    weights = [weight for _, weight in SATELLITES]
    chosen: list[Any] = []
    while len(chosen) < wanted:
        satellite = dice.choices(SATELLITES, weights)[0][0]
        if satellite not in chosen:
            chosen.append(satellite)
    for satellite in chosen:
        satellite(join, "m", "", dice)
    if dice.random() < 0.7:
        join.filters.append(years("m"))
    if dice.random() < 0.4:
        join.add("kinds", "kd", "kd.id = m.kind_id")
        join.filters.append(lambda d: f"kd.kind {texts(d, KINDS[:4], 2)}")
    if dice.random() < 0.3:
        join.add("movie_links", "ml", "ml.movie_id = m.id")
        join.add("link_kinds", "lk", "lk.id = ml.link_id")
        join.add("movies", "n", "n.id = ml.linked_id")
        join.outputs.append("n.title")
        join.filters.append(lambda d: f"lk.link {texts(d, LINKS[:8], 4)}")
        if dice.random() < 0.5:
            dice.choice([companies, ratings, keywords])(join, "n", "2", dice)
    # Satellites of one movie are joined with each other too, as people write it.
    of_movie = [table.split(" AS ")[1] for table in join.tables if any(c.startswith(f"{table.split(' AS ')[1]}.movie_id = m.") for c in join.conditions)]
    if len(of_movie) > 1 and dice.random() < 0.6:
        join.conditions += [f"{a}.movie_id = {b}.movie_id" for a, b in zip(of_movie, of_movie[1:])]
    return join


def variants(join: Join, dice: random.Random) -> Iterator[str]:
    """Queries of a family: the same joins, other values."""
    while True:
        filters = [make(dice) for make in join.filters]
        kept = [condition for condition in filters if len(filters) < 3 or dice.random() < 0.85]
        # The order of FROM says nothing.
        tables = dice.sample(join.tables, len(join.tables))
        outputs = ", ".join(f"min({name}) AS o{number}" for number, name in enumerate(join.outputs))
        yield f"SELECT count(*) AS found, {outputs} FROM {', '.join(tables)} WHERE {' AND '.join([*join.conditions, *kept])}"


def queries(is_good: Callable[[str], bool]) -> dict[str, str]:
    """All queries, by number of the family and letter; `is_good` says whether one answers anything, in a time that can be waited for."""
    dice = random.Random(SEED)
    found: dict[str, str] = {}
    number = 0
    while number < FAMILIES:
        wanted = QUERIES // FAMILIES + (number < QUERIES % FAMILIES)
        join = family(dice)
        if not 4 <= len(join.tables) <= 17:
            continue
        good: list[str] = []
        for sql, _ in zip(variants(join, dice), range(12)):
            if sql not in good and is_good(sql):
                good.append(sql)
            if len(good) == wanted:
                break
        if len(good) == wanted:
            number += 1
            found |= {f"{number}{letter}": sql for letter, sql in zip("abcd", good)}
    return found
