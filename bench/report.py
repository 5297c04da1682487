"""The run as text: a line per query, then the totals."""

import math

from summary import Against, AgainstBest, Measured, against, against_best

WIDTH = 12


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}" if math.isfinite(seconds) else "-"


def heading(engines: list[str]) -> str:
    names = "".join(f"{name:>{WIDTH}}" for name in engines)
    return f"query{names}   {'best peer':<11}{'ratio':>7}  (times in ms)"


def line(query: Measured, engines: list[str], ours: str) -> str:
    cells = []
    for name in engines:
        mark = "*" if name in query.differs else " "
        cells.append(f"{milliseconds(query.best(name)):>{WIDTH - 1}}{mark}")
    peer, ratio = query.best_peer(ours), query.ratio(ours)
    shown = f"{ratio:>7.2f}" if math.isfinite(ratio) else f"{'-':>7}"
    return f"{query.number:>5}{''.join(cells)}   {peer or '-':<11}{shown}"


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:150]


def remarks(queries: list[Measured], engines: list[str]) -> list[str]:
    """What could not be done, and what answered otherwise."""
    out = []
    for name in engines:
        failed = [(q.number, q.times[name].error) for q in queries if q.times[name].error]
        if failed:
            out.append(f"{name} cannot do {len(failed)} of {len(queries)}:")
            out += [f"  {number:>3}  {first_line(error)}" for number, error in failed]
    differing = [(q.number, name, why) for q in queries for name, why in q.differs.items()]
    if differing:
        out.append("* answers that differ from ours:")
        out += [f"  {number:>3}  {name}: {first_line(why)}" for number, name, why in differing]
    return out


def peer_line(found: Against, peak: float, first: float, last: float) -> str:
    sums = f"{found.seconds:>10.3f}{found.our_seconds:>10.3f}"
    ratio = f"{found.mean_ratio:>9.2f}" if math.isfinite(found.mean_ratio) else f"{'-':>9}"
    return f"{found.engine:<12}{found.answered:>9}{sums}{ratio}{found.faster_than_it:>9}{peak:>10.0f}{first:>10.0f}{last:>10.0f}"


def totals(queries: list[Measured], engines: list[str], ours: str, memory: dict[str, dict[str, float]]) -> list[str]:
    out = [
        f"{'':<12}{'':>9}{'':>10}{ours[:8] + ' on':>10}{ours[:8]:>9}{ours[:8]:>9}{'peak MB':>10}{'own MB':>10}{'own MB':>10}",
        f"{'engine':<12}{'answered':>9}{'sum s':>10}{'same, s':>10}{'/ it':>9}{'faster':>9}{'':>10}{'round 1':>10}{'at end':>10}",
    ]
    for name in engines:
        kept = memory[name]
        out.append(peer_line(against(queries, ours, name), kept["peak"], kept["after_first_round"], kept["at_end"]))
    if len(engines) > 1:
        out += ["", best_line(against_best(queries, ours), ours)]
    return out


def best_line(found: AgainstBest, ours: str) -> str:
    if not found.compared:
        return "no query that both we and a peer answered"
    return (
        f"{ours} to the best peer of each query, over {found.compared} queries: "
        f"geometric mean {found.mean_ratio:.2f} ({found.damped_ratio:.2f} with 10 ms added to both), "
        f"sum {found.seconds:.3f} s to {found.peer_seconds:.3f} s = {found.sum_ratio:.2f}, "
        f"worst {found.worst_ratio:.2f} (query {found.worst_query}), not slower in {found.not_slower}"
    )
