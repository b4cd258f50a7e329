import os
import signal

import pytest
from prometheus_client.parser import text_string_to_metric_families

from broker.observability.metrics import MetricsReport, answer_collect, collect, merged, up
from broker.observability.observations import RequestAnswered
from broker.observability.observe import member_name, observe
from tests.broker.conftest import Open
from tests.broker.server import NatsServer

_TEXT = b"""# HELP a_total Some.
# TYPE a_total counter
a_total{x="1 {2}"} 5.0
# HELP b Other.
# TYPE b gauge
b 2.0
"""


def test_samples_of_processes_stand_together_with_their_names() -> None:
    text = merged([MetricsReport("pools", "h:2", _TEXT), MetricsReport("edges", 'h"1', _TEXT)])

    families = list(text_string_to_metric_families(text))
    assert [family.name for family in families] == ["a", "b"]
    assert [sample.labels for sample in families[0].samples] == [
        {"process": "edges", "member": 'h"1', "x": "1 {2}"},
        {"process": "pools", "member": "h:2", "x": "1 {2}"},
    ]
    assert [sample.value for sample in families[1].samples] == [2.0, 2.0]


def test_nothing_merged_is_nothing() -> None:
    assert merged([]) == ""


async def test_every_process_answers_when_metrics_are_collected(
    nats: NatsServer, connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    asker = await connect(nats.url)
    answering = [await connect(nats.url), await connect(nats.url)]
    subscriptions = [answer_collect(each) for each in answering]
    for each in answering:
        await each.flush()
    observe(RequestAnswered("collected", "1", 200, 0.01))
    names = iter(
        ["here:1", "there:1", "there:2"]
    )  # the tests are one process, and reports of three are wanted
    monkeypatch.setattr("broker.observability.metrics.member_name", lambda: next(names))

    text = await collect(asker)

    samples = [
        sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "headwater_requests_total" and sample.labels["pool"] == "collected"
    ]
    assert sorted(sample.labels["member"] for sample in samples) == ["here:1", "there:1", "there:2"]
    for subscription in subscriptions:
        subscription.unsubscribe()


def test_parts_that_did_not_report_are_shown_as_down() -> None:
    report = MetricsReport(
        "pools",
        "h:1",
        b'headwater_pool_working{pool="rest"} 0.0\nheadwater_pool_working{pool="health.auth"} 0\n',
    )

    text = up([report], ["rest", "auth"], is_broker_up=True)

    (family,) = text_string_to_metric_families(text)
    assert {sample.labels["part"]: sample.value for sample in family.samples} == {
        "broker": 1,
        "rest": 1,
        "auth": 0,
    }


async def test_collecting_while_disconnected_gives_the_figures_of_this_process(
    nats: NatsServer, connect: Open
) -> None:
    asker = await connect(nats.url)
    await asker.close()

    text = await collect(asker, ["rest"])

    assert 'headwater_up{part="broker"} 0' in text
    assert 'headwater_up{part="rest"} 0' in text
    assert f'member="{member_name()}"' in text


async def test_collecting_while_the_broker_hangs_gives_the_figures_of_this_process(
    own_nats: NatsServer, connect: Open
) -> None:
    asker = await connect(own_nats.url)
    os.kill(own_nats.pid, signal.SIGSTOP)
    try:
        text = await collect(asker, ["rest"])
    finally:
        os.kill(own_nats.pid, signal.SIGCONT)

    assert 'headwater_up{part="broker"} 0' in text
    assert f'member="{member_name()}"' in text
