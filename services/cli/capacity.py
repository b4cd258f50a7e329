"""`headwater capacity`: what a load needs, from the costs that the benchmarks measured."""

from pathlib import Path

import click
import msgspec

from schemas.numbers import parse_decimal_number
from services.cli.capacity_model import CapacityFigures, ExpectedLoad, PartNeed, connections, needs

FIGURES = Path(__file__).parent / "capacity_figures.json"
_MOST_RATE = 1e9


def read_figures() -> CapacityFigures:
    """Return the measured costs that come with this version."""
    return msgspec.json.decode(FIGURES.read_bytes(), type=CapacityFigures)


def parse_rates(texts: tuple[str, ...], requests: float, figures: CapacityFigures) -> dict[str, float]:
    """Return the rates of `KIND=NUMBER` and of plain reads. Raises: click.BadParameter."""
    rates = {"read": requests} if requests else {}
    for text in texts:
        kind, _, number = text.partition("=")
        if kind not in figures.requests:
            raise click.BadParameter(f"{kind!r} is none of {', '.join(figures.requests)}")
        rate = parse_decimal_number(number, least=0, most=_MOST_RATE)
        if rate is None:
            raise click.BadParameter(
                f"{text!r}: write {kind}=NUMBER, requests a second from 0 to {_MOST_RATE:,.0f}"
            )
        rates[kind] = rates.get(kind, 0.0) + rate
    return rates


def render(parts: list[PartNeed], target: float) -> str:
    """Return the needs as lines."""
    lines = [f"{'part':24}{'cores':>9}{'processes':>11}{'memory':>12}"]
    for part in parts:
        processes = str(part.processes) if part.processes else "-"
        memory = f"{part.memory_mb:,.0f} MB" if part.memory_mb else "-"
        lines.append(f"{part.part:24}{part.cores:9.2f}{processes:>11}{memory:>12}")
        if part.limit:
            lines.append(f"   does not fit: {part.limit}")
    cores, megabytes = sum(part.cores for part in parts), sum(part.memory_mb for part in parts)
    lines.append(f"{'together':24}{cores:9.2f}{'':11}{megabytes:>9,.0f} MB")
    lines.append(
        f"{cores / target:,.1f} cores at {target:.0%} use; {connections(parts)} connections to Postgres"
    )
    return "\n".join(lines)


@click.command()
@click.option("--requests", type=click.FloatRange(0), default=0.0, help="Reads by key a second.")
@click.option(
    "--rate", "rates", multiple=True, metavar="KIND=NUMBER", help="Requests of a kind a second; repeat it."
)
@click.option("--sockets", type=click.IntRange(0), default=0, help="Open sockets of realtime.")
@click.option(
    "--changes", type=click.FloatRange(0), default=0.0, help="Row changes a second that are published."
)
@click.option("--receivers", type=click.FloatRange(0), default=1.0, help="Sockets that receive a change.")
@click.option(
    "--broadcasts", type=click.FloatRange(0), default=0.0, help="Deliveries of broadcasts a second."
)
@click.option("--tables", type=click.IntRange(0), default=0, help="Tables.")
@click.option(
    "--share", type=click.FloatRange(0, 1), default=1.0, help="Share of the changes that an edge reads."
)
@click.option(
    "--projects",
    type=click.IntRange(0),
    default=0,
    help="Projects on one server (`headwater projects`); one has the load.",
)
@click.option("--awake", type=click.IntRange(1), default=1, help="Those of them that do not sleep.")
@click.option("--wakes", type=click.FloatRange(0), default=0.0, help="Wakes of projects an hour.")
@click.option(
    "--target",
    type=click.FloatRange(0.05, 1),
    default=0.6,
    show_default=True,
    help="Share of a core that may be used.",
)
def capacity(
    requests: float,
    rates: tuple[str, ...],
    sockets: int,
    changes: float,
    receivers: float,
    broadcasts: float,
    tables: int,
    share: float,
    projects: int,
    awake: int,
    wakes: float,
    target: float,
) -> None:
    """Show the cores, memory, processes and connections that a load needs.

    The costs were measured on one machine; the page Capacity of the documentation has their table.
    """
    figures = read_figures()
    load = ExpectedLoad(
        parse_rates(rates, requests, figures), sockets, changes, receivers, broadcasts, tables, share,
        projects, min(awake, max(projects, 1)), wakes,
    )  # fmt: skip
    click.echo(render(needs(load, figures, target), target))
    if projects:
        click.echo(f"a request that wakes a project waits {figures.projects.wake_s:.1f} s for it")
    for benchmark, source in figures.sources.items():
        busy = "; the machine was busy: memory and CPU only" if benchmark in figures.busy else ""
        click.echo(f"measured by {benchmark}: {source}{busy}")
