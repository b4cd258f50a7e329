"""`headwater capacity`: needs from costs."""

import click
import msgspec
import pytest
from click.testing import CliRunner

from services.cli.capacity import capacity, parse_rates, read_figures, render
from services.cli.capacity_model import (
    CapacityFigures,
    ExpectedLoad,
    PartNeed,
    ProjectCosts,
    UnitCost,
    changes_of_edge,
    changes_of_leader,
    connections,
    needs,
)

FIGURES = CapacityFigures(
    sources={"rest": "2026-11-23, two cores"},
    busy=[],
    requests={"read": UnitCost(0.1, 0.1, 0.03, 0.05), "image": UnitCost(other=40.0)},
    change=UnitCost(0.06, 0.2, 0.04, 0.1),
    delivery_ms=0.01,
    broadcast_ms=0.002,
    socket_kib=20.48,
    socket_open_ms=0.5,
    socket_rest_ms=0.001,
    idle_mb=250.0,
    edge_mb=60.0,
    worker_mb=50.0,
    table_mb=0.1,
    decoder_mb=30.0,
    projects=ProjectCosts(
        server_mb=140.0,
        asleep_mb=0.5,
        awake_mb=200.0,
        awake_ms=20.0,
        wake_s=1.5,
        wake_cpu_s=0.9,
        front_ms=0.4,
    ),
)


def _need(load: ExpectedLoad, target: float = 0.5) -> dict[str, PartNeed]:
    return {part.part: part for part in needs(load, FIGURES, target)}


def test_nothing_needs_an_idle_platform() -> None:
    parts = _need(ExpectedLoad())

    assert sum(part.cores for part in parts.values()) == 0
    assert sum(part.memory_mb for part in parts.values()) == FIGURES.idle_mb
    assert (parts["edges"].processes, parts["workers"].processes) == (1, 1)
    assert connections(list(parts.values())) == 40


def test_requests_need_cores_of_each_part_and_processes_below_the_target() -> None:
    parts = _need(ExpectedLoad({"read": 12_000, "image": 10}))

    assert {name: round(part.cores, 6) for name, part in parts.items()} == {
        "edges": 1.2,
        "workers": 1.2,
        "change leader": 0,
        "NATS": 0.36,
        "functions, images": 0.4,
        "Postgres and the rest": 0.6,
    }
    assert (parts["edges"].processes, parts["workers"].processes) == (3, 3)
    assert parts["workers"].memory_mb == 150
    assert (parts["functions, images"].processes, parts["functions, images"].memory_mb) == (1, 30)
    assert connections(list(parts.values())) == 60


def test_sockets_need_edges_by_their_bound_of_connections_and_memory() -> None:
    edges = _need(ExpectedLoad(sockets=100_000))["edges"]

    assert edges.processes == 5
    assert edges.memory_mb == pytest.approx(5 * 60 + 2000)
    assert edges.cores == pytest.approx(0.1)


def test_each_edge_reads_the_changes_and_a_delivery_is_paid_once() -> None:
    few = _need(ExpectedLoad(sockets=20_000, changes=1000, receivers=10))["edges"]
    many = _need(ExpectedLoad(sockets=80_000, changes=1000, receivers=10))["edges"]

    assert (few.processes, many.processes) == (1, 4)
    assert few.cores == pytest.approx(1000 * 0.05e-3 + 1000 * 10 * 0.01e-3 + 20e-3)
    assert many.cores - few.cores == pytest.approx(3 * 1000 * 0.05e-3 + 60e-3)


def test_a_share_of_the_changes_is_read_by_edges_of_few_tables() -> None:
    whole = _need(ExpectedLoad(changes=20_000))["edges"]
    part = _need(ExpectedLoad(changes=20_000, share=0.1))["edges"]

    assert "--share" in whole.limit
    assert "10,000 changes" in whole.limit
    assert whole.processes == 1
    assert (part.limit, part.processes) == ("", 1)


def test_one_leader_bounds_the_changes_of_a_database() -> None:
    assert _need(ExpectedLoad(changes=2500, share=0.1))["change leader"].limit == ""
    assert "2,500 changes a second" in _need(ExpectedLoad(changes=2501, share=0.1))["change leader"].limit
    assert changes_of_leader(FIGURES, 1.0) == pytest.approx(5000)
    assert changes_of_edge(FIGURES, 1.0) == pytest.approx(20_000)


def test_tables_need_memory() -> None:
    idle, many = _need(ExpectedLoad()), _need(ExpectedLoad(tables=1000))

    part = "Postgres and the rest"
    assert many[part].memory_mb - idle[part].memory_mb == pytest.approx(100)


def test_projects_need_a_front_gateway_and_memory_for_those_that_are_awake() -> None:
    alone = _need(ExpectedLoad({"read": 1000}))
    parts = _need(ExpectedLoad({"read": 1000}, projects=24, awake=4, wakes=40))

    assert {name: parts[name] for name in alone} == alone
    assert parts["front gateway"] == PartNeed("front gateway", pytest.approx(0.4), 1, 140 + 20 * 0.5)
    assert parts["further awake projects"] == PartNeed("further awake projects", pytest.approx(0.06), 3, 600)
    assert parts["wakes of projects"].cores == pytest.approx(0.01)
    assert "1,250 requests" in _need(ExpectedLoad({"read": 1251}, projects=1))["front gateway"].limit


def test_a_load_that_does_not_fit_is_named_in_the_lines() -> None:
    lines = render(needs(ExpectedLoad(changes=100_000), FIGURES, 0.5), 0.5)

    assert lines.count("does not fit") == 2
    assert lines.splitlines()[-1].endswith("connections to Postgres")


def test_rates_are_added_by_kind() -> None:
    assert parse_rates(("read=5", "image=0.5"), 10, FIGURES) == {"read": 15, "image": 0.5}


@pytest.mark.parametrize("text", ["other=1", "read", "read=x", "read=-1", "read=nan", "read=inf"])
def test_a_rate_that_cannot_be_read_says_what_to_write(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_rates((text,), 0, FIGURES)


def test_the_costs_of_this_version_give_an_answer() -> None:
    words = ["--requests", "1000", "--rate", "insert=50", "--sockets", "10000", "--changes", "100"]
    words += ["--projects", "30", "--awake", "3"]
    shown = CliRunner().invoke(capacity, words)

    assert shown.exit_code == 0, shown.output
    assert "together" in shown.output
    assert "connections to Postgres" in shown.output
    assert "a request that wakes a project waits" in shown.output
    assert all(f"measured by {name}: {text}" in shown.output for name, text in read_figures().sources.items())


def test_an_unknown_kind_lists_those_that_are_known() -> None:
    shown = CliRunner().invoke(capacity, ["--rate", "other=1"])

    assert shown.exit_code == 2
    assert "sign-in" in shown.output
    assert "upload" in shown.output


def test_the_costs_are_all_positive() -> None:
    figures = read_figures()

    assert all(cost.total > 0 for cost in figures.requests.values())
    assert msgspec.json.decode(msgspec.json.encode(figures), type=CapacityFigures) == figures
