"""The switch of traces, and spans as a collector gets them."""

import sys

import pytest

from broker.observability import tracing
from broker.observability.spans import Tracing
from broker.observability.tracing import STATE, start_tracing, stop_tracing
from schemas.keys.secret import Secret
from schemas.settings.reading import load_settings
from schemas.settings.tree import Observability, SettingsError
from tests.collector import collecting

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def running() -> Tracing:
    """Give what traces now."""
    assert STATE.tracing is not None
    return STATE.tracing


def fail_inside(one: Tracing) -> None:
    """Raise inside of two spans."""
    with one.server_span("GET /x", {"traceparent": PARENT}, {"a": 1}), one.client_span("sql", {}) as inner:
        inner.note("rows", 3)
        raise ValueError("a secret word")


def test_nothing_is_traced_without_an_endpoint() -> None:
    start_tracing(Observability(), "edges", "project")

    assert STATE.tracing is None


def test_missing_packages_are_told_with_their_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "broker.observability.telemetry", raising=False)

    with pytest.raises(SettingsError, match=r"install headwater\[telemetry\]"):
        start_tracing(Observability("http://127.0.0.1:1"), "edges", "project")
    assert STATE.tracing is None


def test_spans_are_children_of_those_around_them_and_tell_no_words_of_errors() -> None:
    with collecting() as collector:
        start_tracing(Observability(collector.url, Secret("x-key=secret")), "edges", "shop")
        one = running()
        with pytest.raises(ValueError, match="a secret word"):
            fail_inside(one)
        stop_tracing()
        inner_span, outer = collector.spans

    assert STATE.tracing is None
    assert outer.parent == PARENT.split("-")[2]
    assert inner_span.parent == outer.id
    assert outer.service == "headwater-edges"
    assert inner_span.attributes == {"rows": "3", "error.type": "ValueError"}
    assert b"secret word" not in b"".join(collector.raw)
    assert collector.headers["x-key"] == "secret"


@pytest.mark.parametrize(("sampling", "count"), [(0.0, 0), (1.0, 3)])
def test_sampling_decides_at_the_root_for_all_of_a_trace(sampling: float, count: int) -> None:
    with collecting() as collector:
        start_tracing(Observability(collector.url, sampling=sampling), "edges", "shop")
        one = running()
        with one.server_span("root", {}, {}), one.client_span("call", {}):
            told = dict(one.headers())
            with (
                one.server_span("worker", list(told.items()), {}),
                one.client_span("sql", {}, may_begin=False),
            ):
                pass
        with one.client_span("alone", {}, may_begin=False):
            pass
        stop_tracing()
        names = {each.name for each in collector.spans}

    assert len(names - {"call"}) == count
    assert int(told["traceparent"].rpartition("-")[2], 16) & 1 == bool(count)


def test_collector_that_is_away_holds_nobody_up() -> None:
    start_tracing(Observability("http://127.0.0.1:1"), "edges", "shop")
    one = running()
    with one.server_span("root", {}, {}):
        pass
    stop_tracing()

    assert tracing.STATE.tracing is None


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_ENDPOINT", "HEADWATER_OBSERVABILITY_OTLP_ENDPOINT"])
def test_endpoint_is_read_under_its_usual_name_too(name: str) -> None:
    settings, warnings = load_settings(b"", {name: "http://c:4318"})

    assert settings.observability.otlp_endpoint == "http://c:4318"
    assert warnings == []
