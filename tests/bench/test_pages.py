"""The pages whose figures come from recorded runs."""

import sys

import msgspec
import pytest

from tests.bench import pages
from tests.bench.history import HistoryLine, Measured


def _line(benchmark: str, figures: dict[str, tuple[float, str]], load: float = 0.0) -> HistoryLine:
    measured = {name: Measured(value, unit) for name, (value, unit) in figures.items()}
    return HistoryLine(
        "2026-11-23T12:00:00+00:00", "abc", "two cores", load, benchmark, measured, {"GoTrue": "left out: no"}
    )


def test_blocks_are_replaced_and_the_rest_stays() -> None:
    text = "a\n<!-- figures: one -->\nold\n<!-- end of figures -->\nb\n<!-- figures: two -->\n<!-- end of figures -->\n"

    filled = pages.filled(text, {"one": lambda: "1", "two": lambda: "2\n3"})

    assert filled == (
        "a\n<!-- figures: one -->\n1\n<!-- end of figures -->\nb\n<!-- figures: two -->\n2\n3\n<!-- end of figures -->\n"
    )
    assert pages.filled(filled, {"one": lambda: "1", "two": lambda: "2\n3"}) == filled


def test_a_block_that_no_script_makes_is_an_error() -> None:
    with pytest.raises(KeyError):
        pages.filled("<!-- figures: other -->\n<!-- end of figures -->", {})


def test_the_table_of_peers_has_both_sides_and_who_was_left_out() -> None:
    names = ("ours", "theirs", "rate ratio", "our CPU", "their CPU", "CPU ratio")
    figures = {
        f"PocketBase, by key: {name}": (value, "x")
        for name, value in zip(names, (200, 100, 2, 0.25, 0.5, 2), strict=True)
    }

    text = pages.peers_table(_line("peers", figures, load=0.9))

    assert "| PocketBase | by key | 2 | 2 | 0.25 | 0.5 | 200 | 100 |" in text
    assert "The machine was busy (90% of its cores)" in text
    assert "- GoTrue: left out: no" in text
    assert "busy" not in pages.peers_table(_line("peers", figures))


def test_the_table_of_ratios_has_the_state_that_they_are_to() -> None:
    figures = {
        "insert: ratio": (0.93, "x"),
        "insert: lower quartile": (0.87, "x"),
        "insert: upper quartile": (0.97, "x"),
    }
    line = msgspec.structs.replace(_line("against", figures), notes={"against": "v0.2.0", "pairs": "12"})

    text = pages.against_table(line)

    assert "| insert | 0.93 | 0.87 | 0.97 |" in text
    assert "Against v0.2.0, 12 pairs." in text
    assert "Not recorded yet" in pages.against_table(None)


def test_the_table_of_growth_has_sizes_slopes_and_single_figures() -> None:
    figures = {
        "memory, 10 tables": (100.0, "MB"),
        "memory, 2000 tables": (300.0, "MB"),
        "memory: slope by tables": (0.1, "MB"),
        "socket: memory": (22.0, "KiB"),
    }

    text = pages.growth_table(_line("growth", figures))

    assert "| memory | tables | 10: 100, 2,000: 300 | MB | +0.1 |" in text
    assert "| socket: memory |  | 22 | KiB |  |" in text


def test_the_pages_and_the_costs_are_those_of_the_recorded_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pages", "--check"])

    assert (pages.main(), capsys.readouterr().err) == (0, "")
