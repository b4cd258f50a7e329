"""Write the recorded figures into the documentation, and into the table of costs of `headwater capacity`.

    python -m tests.bench.pages [--check] [--file tests/bench/history.jsonl]

Takes the newest line of each benchmark (peers, growth, memory, rest, graphql, auth, storage, against) and replaces what stands
between `<!-- figures: NAME -->` and `<!-- end of figures -->` in docs/comparison.md and docs/capacity.md. Times and rates are those of
the reference machine where the line says how fast its machine was. A run on a machine that had
other work is marked; the next recorded run replaces it.
"""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from services.cli.capacity import FIGURES, render
from services.cli.capacity_model import (
    CapacityFigures,
    ExpectedLoad,
    ProjectCosts,
    UnitCost,
    changes_of_edge,
    changes_of_leader,
    needs,
)
from tests.bench.history import HISTORY, HistoryLine, newest, read
from tests.bench.memory import IDLE
from tests.bench.table import number

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "comparison.md", ROOT / "docs" / "capacity.md")
TARGET = 0.6
_BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_GROUPS = ("edge", "worker", "nats", "postgres")

REQUESTS: dict[str, tuple[str, str]] = {
    "read": ("rest", "by_pk at 32"),
    "embed": ("rest", "embed at 32"),
    "insert": ("rest", "insert1 at 32"),
    "insert-1000": ("rest", "insert1000 at 32"),
    "rpc": ("rest", "rpc at 32"),
    "graphql": ("graphql", "rows10 at 32"),
    "graphql-nested": ("graphql", "nested3 at 32"),
    "sign-in": ("auth", "sign_in at 32"),
    "refresh": ("auth", "refresh at 32"),
    "user": ("auth", "user at 32"),
    "upload": ("storage", "upload 10 KB at 16"),
    "upload-1mb": ("storage", "upload 1 MB at 16"),
    "download": ("storage", "download 10 KB at 16"),
    "download-1mb": ("storage", "download 1 MB at 16"),
    "list": ("storage", "list-any at 16"),
    "function": ("growth", "function call at 16"),
    "image": ("peers", "sharp, 12 MP to jpeg: our CPU"),
}
"""Kinds of requests of `headwater capacity`, and the benchmark and figure of each."""
BENCHMARKS = ("memory", "rest", "graphql", "auth", "storage", "growth", "peers", "images", "projects")

PAPER = {
    "sockets": ExpectedLoad({"read": 1000}, sockets=1_000_000, broadcasts=100_000),
    "changes": ExpectedLoad(changes=100_000, receivers=1),
    "changes-divided": ExpectedLoad(changes=100_000 / 20, receivers=1, sockets=50_000, share=0.2),
}
"""Loads that are computed, not run: all sockets at once, all changes in one database, and a twentieth in one of twenty."""


def capacity_figures(lines: Mapping[str, HistoryLine]) -> CapacityFigures:
    """Return the costs of `headwater capacity` from the newest lines. Raises: KeyError where a figure was never recorded."""

    def value(benchmark: str, name: str, default: float | None = None) -> float:
        figure = lines[benchmark].figures.get(name)
        if figure is None and default is None:
            raise KeyError(f"{benchmark}: {name}")
        return figure.value if figure is not None else default or 0.0

    def cost(benchmark: str, name: str) -> UnitCost:
        if benchmark == "peers":
            return UnitCost(other=value(benchmark, name))
        groups = {group: value(benchmark, f"{name}: CPU of {group}") for group in _GROUPS}
        return UnitCost(**groups, other=value(benchmark, f"{name}: CPU of other", 0.0))

    growth = {group: value("growth", f"row change of 16 writers: CPU of {group}") for group in _GROUPS}
    delivery = value("growth", "row change: CPU of edge: slope by subscribers")
    edge_mb = value("growth", "memory of a further edge process")
    return CapacityFigures(
        {name: _source(lines[name]) for name in BENCHMARKS},
        [name for name in BENCHMARKS if lines[name].is_busy],
        {kind: cost(*source) for kind, source in REQUESTS.items()},
        UnitCost(**{group: used / 1000 for group, used in growth.items()}),
        max(0.0, delivery) / 1000,
        value("growth", "broadcast: CPU of the edge for a delivery, 1000 subscribers") / 1000,
        value("growth", "socket: memory"),
        value("growth", "socket: CPU to open and join") / 1000,
        value("growth", "socket: CPU a second at rest") / 1000,
        value("memory", IDLE),
        edge_mb,
        value("growth", "memory of a further worker process of one pool"),
        max(0.0, value("growth", "memory of all processes: slope by tables")),
        value("images", "a decoder that rests: memory"),
        ProjectCosts(
            value("projects", "server: memory"),
            value("projects", "a sleeping project: memory"),
            value("projects", "an awake project: memory"),
            value("projects", "an awake project: CPU a second at rest"),
            value("projects", "wake"),
            value("projects", "wake: CPU"),
            value("projects", "front: CPU"),
        ),
    )


def _source(line: HistoryLine) -> str:
    speed = ""
    if line.calibration is not None:
        speed = f", times divided by {line.calibration.factor:.2f}"
    return f"{line.date[:10]}, {line.machine}, commit {line.commit}{speed}"


def blocks(lines: Mapping[str, HistoryLine]) -> dict[str, Callable[[], str]]:
    """Return what makes the text of each block of the pages."""
    return {
        "against": lambda: against_table(lines.get("against")),
        "peers": lambda: peers_table(lines["peers"]),
        "growth": lambda: growth_table(lines["growth"]),
        "costs": lambda: costs_table(capacity_figures(lines)),
        "limits": lambda: limits_table(capacity_figures(lines)),
        **{
            f"paper-{name}": lambda load=load: _paper(load, capacity_figures(lines))  # type: ignore[misc]  # bound now
            for name, load in PAPER.items()
        },
    }


def _paper(load: ExpectedLoad, figures: CapacityFigures) -> str:
    return f"```\n{render(needs(load, figures, TARGET), TARGET)}\n```"


def marked(line: HistoryLine) -> str:
    """Return when and where a run was recorded, and a warning if the machine had other work."""
    busy = (
        f" **The machine was busy ({line.load:.0%} of its cores): rates prove nothing, ratios of CPU are within a fifth.**"
        if line.is_busy
        else ""
    )
    return f"Recorded {_source(line)}.{busy}"


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (heading, ["---"] * len(heading), *rows))


def peers_table(line: HistoryLine) -> str:
    """Return the table of peers: work, both rates, both costs and their ratios; below it versions and who was left out."""
    works = dict.fromkeys(name.partition(": ")[0] for name in line.figures)

    def text(work: str, name: str) -> str:
        return number(line.figures[f"{work}: {name}"].value)

    names = ("CPU ratio", "rate ratio", "our CPU", "their CPU", "ours", "theirs")
    rows = [[*work.split(", ", 1), *(text(work, name) for name in names)] for work in works]
    heading = [
        "Peer",
        "Work",
        "CPU ratio",
        "rate ratio",
        "our CPU ms",
        "their CPU ms",
        "ours /s",
        "theirs /s",
    ]
    notes = "\n".join(f"- {name}: {text}" for name, text in line.notes.items())
    return f"{marked(line)}\n\n{markdown(heading, rows)}\n\n{notes}"


def against_table(line: HistoryLine | None) -> str:
    """Return the table of ratios to an earlier state; a sentence where none was recorded."""
    if line is None:
        return 'Not recorded yet: `make bench BENCH=against ARGS="--ref COMMIT --record"`.'
    works = dict.fromkeys(name.partition(": ")[0] for name in line.figures)
    rows = [
        [
            work,
            *(
                f"{line.figures[f'{work}: {name}'].value:.2f}"
                for name in ("ratio", "lower quartile", "upper quartile")
            ),
        ]
        for work in works
    ]
    return (
        f"{marked(line)} Against {line.notes['against']}, {line.notes['pairs']} pairs.\n\n"
        f"{markdown(['Work', 'CPU ratio', 'lower quartile', 'upper quartile'], rows)}"
    )


def growth_table(line: HistoryLine) -> str:
    """Return the table of growth: a figure at each size, and its slope."""
    rows = []
    for name, slope in line.figures.items():
        figure, mark, of = name.rpartition(": slope by ")
        if not mark:
            continue
        sizes = [
            (size, point.value)
            for key, point in line.figures.items()
            if (size := _size(key, figure, of)) is not None
        ]
        points = ", ".join(f"{size:,}: {number(value)}" for size, value in sorted(sizes))
        rows.append([figure, of, points, slope.unit, f"{slope.value:+.3g}"])
    singles = [
        [name, "", number(figure.value), figure.unit, ""]
        for name, figure in line.figures.items()
        if not any(
            name.endswith(f" {of}") for of in ("worker processes", "edges", "tables", "roles", "subscribers")
        )
        and ": slope by " not in name
        and not name.startswith("function call at 16: CPU of ")  # in the table of costs
    ]
    return f"{marked(line)}\n\n{markdown(['Figure', 'by', 'at each size', 'unit', 'each further one'], rows + singles)}"


def _size(key: str, figure: str, of: str) -> int | None:
    """Return the size in the name of a point of a figure; None for another name."""
    found = re.fullmatch(rf"{re.escape(figure)}, (\d+) {re.escape(of)}", key)
    return int(found[1]) if found else None


def costs_table(figures: CapacityFigures) -> str:
    """Return the table of costs: CPU by group of processes for each kind of request."""
    rows = [
        [kind, *(number(getattr(cost, group)) for group in (*_GROUPS, "other")), number(cost.total)]
        for kind, cost in figures.requests.items()
    ]
    change = figures.change
    rows.append(
        [
            "row change, one subscriber",
            *(number(getattr(change, group)) for group in (*_GROUPS, "other")),
            number(change.total),
        ]
    )
    rows.append(
        ["a further delivery of it", number(figures.delivery_ms), "", "", "", "", number(figures.delivery_ms)]
    )
    rows.append(
        [
            "delivery of a broadcast",
            number(figures.broadcast_ms),
            "",
            "",
            "",
            "",
            number(figures.broadcast_ms),
        ]
    )
    rows.append(
        [
            "opening and joining a socket",
            number(figures.socket_open_ms),
            "",
            "",
            "",
            "",
            number(figures.socket_open_ms),
        ]
    )
    rows.append(
        [
            "a socket at rest, a second",
            number(figures.socket_rest_ms),
            "",
            "",
            "",
            "",
            number(figures.socket_rest_ms),
        ]
    )
    heading = ["CPU ms of one", "edge", "worker", "NATS", "Postgres", "other", "together"]
    sizes = markdown(
        ["Memory", "MB"],
        [
            ["an idle platform", number(figures.idle_mb)],
            ["a further edge process", number(figures.edge_mb)],
            ["a further process of one pool of workers", number(figures.worker_mb)],
            ["10,000 sockets", number(figures.socket_kib * 10_000 / 1024)],
            ["1,000 tables", number(figures.table_mb * 1000)],
        ],
    )
    sources = "\n".join(f"- {name}: {text}" for name, text in figures.sources.items())
    busy = f"\n\nThe machine was busy in: {', '.join(figures.busy)}." if figures.busy else ""
    return f"{markdown(heading, rows)}\n\n{sizes}\n\nRecorded by `make bench`:\n\n{sources}{busy}"


def limits_table(figures: CapacityFigures) -> str:
    """Return where one process of each part is used up, at a core for each."""
    read, insert = figures.requests["read"], figures.requests["insert"]

    def most(cost_ms: float) -> str:
        return f"{1000 / max(cost_ms, 1e-6):,.0f}"

    rows = [
        ["an edge process (1 core)", f"{most(read.edge)} reads/s; {most(figures.broadcast_ms)} deliveries of broadcasts/s; "
         f"{changes_of_edge(figures, 1.0):,.0f} changes/s read; 20,000 sockets by `gateway.max_connections`",
         "further edges behind a load balancer"],
        ["a worker process (1 core)", f"{most(read.worker)} reads/s or {most(insert.worker)} inserts/s",
         "further processes of the pool, on any machine"],
        ["the change leader (1 core)", f"{changes_of_leader(figures, 1.0):,.0f} changes/s of a database",
         "another database: tables that need no common transaction"],
        ["NATS, a core of it", f"{most(read.nats)} reads/s", "cores; a cluster of three servers"],
        ["Postgres, a core of it", f"{most(read.postgres)} reads/s or {most(insert.postgres)} inserts/s",
         "cores; [read replicas](clusters.md); another database"],
    ]  # fmt: skip
    return markdown(["Part", "Used up at", "Add"], rows)


def filled(text: str, makers: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with its blocks replaced. Raises: KeyError for a block that no script makes."""
    return _BLOCK.sub(lambda match: f"{match[1]}{makers[match[2]]()}\n{match[3]}", text)


def main() -> int:
    """Write the pages and the table of costs; with --check only say whether they are those of the history."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a page is out of date")
    parser.add_argument("--file", type=Path, default=HISTORY)
    options = parser.parse_args()
    recorded = read(options.file)
    found = {name: newest(recorded, name) for name in (*BENCHMARKS, "against")}
    lines = {name: line.at_reference() for name, line in found.items() if line is not None}
    missing = [name for name in BENCHMARKS if name not in lines]
    if missing:
        print(f"never recorded: {', '.join(missing)} (make bench BENCH=... ARGS=--record)", file=sys.stderr)
        return 1
    costs = msgspec.json.format(msgspec.json.encode(capacity_figures(lines)), indent=1) + b"\n"
    texts = {FIGURES: costs.decode()} | {
        page: filled(page.read_text(encoding="utf-8"), blocks(lines)) for page in PAGES
    }
    stale = [
        path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        if options.check:
            print(f"{path.relative_to(ROOT)} is out of date: make bench BENCH=pages", file=sys.stderr)
        else:
            path.write_text(texts[path], encoding="utf-8")
            print(path.relative_to(ROOT))
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
