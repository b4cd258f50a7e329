"""Collect the metrics of all processes into one text: every process answers `metrics.collect` with its own.

A sample of the merged text has two more labels: `process`, the configured name of the process, and `member`, its host
and process id. The collecting process adds its own figures without the broker, so they are present while the broker
hangs. What is missing then shows in `headwater_up`: 1 for the broker and for each pool of which a process has
reported.
"""

import re
from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct

from broker.codec import InvalidMessage, decoder, encode
from broker.nats.connection import NatsConnection
from broker.nats.gather import gather_replies
from broker.nats.protocol import NatsMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.observe import exposition, member_name, process_name
from broker.subjects import METRICS_COLLECT
from schemas.errors import Unavailable

_LONGEST_S = 1.0


class MetricsReport(Struct, frozen=True, array_like=True):
    """The metrics of one process, as Prometheus text."""

    process: str
    member: str
    text: bytes


_decode_report = decoder(MetricsReport)
_SERVED = re.compile(rb'^headwater_pool_working\{[^}]*pool="([a-z]+)"', re.MULTILINE)
"""A process has this figure for each pool that it serves (`broker/requests/serve.py`)."""


def answer_collect(connection: NatsConnection) -> NatsSubscription:
    """Start to answer `metrics.collect` with the metrics of this process; return the subscription."""

    def answer(message: NatsMessage) -> None:
        if message.reply:
            connection.try_publish(
                message.reply, encode(MetricsReport(process_name(), member_name(), exposition()))
            )

    return connection.subscribe(METRICS_COLLECT, answer)


async def collect(connection: NatsConnection, pools: Iterable[str] = ()) -> str:
    """Request the metrics of all processes and return the merged text, with `headwater_up` for the broker and `pools`.

    The number of processes is unknown, so it waits until no further answer comes for a moment. A process that is
    too busy to answer is missing.
    """
    local = MetricsReport(process_name(), member_name(), exposition())
    reports = [local, *(report for report in await _others(connection) if report.member != local.member)]
    is_up = connection.is_connected and (len(reports) > 1 or await _answers(connection))
    return merged(reports) + up(reports, pools, is_broker_up=is_up)


def up(reports: Iterable[MetricsReport], pools: Iterable[str], *, is_broker_up: bool) -> str:
    """Return the family `headwater_up`: whether the broker and each pool have answered (pure)."""
    serving = {pool for report in reports for pool in _SERVED.findall(report.text)}
    parts = {"broker": is_broker_up} | {pool: pool.encode() in serving for pool in pools}
    head = [
        "# HELP headwater_up Whether a process of this part reported its figures just now.",
        "# TYPE headwater_up gauge",
    ]
    return "\n".join(
        [*head, *(f'headwater_up{{part="{part}"}} {int(is_up)}' for part, is_up in parts.items()), ""]
    )


async def _answers(connection: NatsConnection) -> bool:
    """Return whether the broker itself answers."""
    try:
        await connection.flush(_LONGEST_S)
    except Unavailable:
        return False
    return True


async def _others(connection: NatsConnection) -> list[MetricsReport]:
    """Return the reports of the processes that answer; none while disconnected."""
    reports: list[MetricsReport] = []
    for payload in await gather_replies(connection, METRICS_COLLECT):
        with suppress(InvalidMessage):
            reports.append(_decode_report(payload))
    return reports


def merged(reports: Iterable[MetricsReport]) -> str:
    """Merge expositions into one (pure): each family once, each sample with the labels of its process."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for report in sorted(reports, key=lambda report: (report.process, report.member)):
        labels = f'process="{escaped_label(report.process)}",member="{escaped_label(report.member)}"'
        family = ""
        for line in report.text.decode().splitlines():
            if line.startswith("# HELP "):
                family = line.split(" ", 3)[2]
                heads.setdefault(family, [])
            if line.startswith("#"):
                if line not in heads.setdefault(family, []):
                    heads[family].append(line)
            elif line:
                samples.setdefault(family, []).append(_labelled(line, labels))
    lines = [line for family, head in heads.items() for line in (*head, *samples.get(family, []))]
    return "\n".join([*lines, ""])


def _labelled(sample: str, labels: str) -> str:
    """Add labels to `name{a="b"} 1` or `name 1`."""
    name, brace, rest = sample.partition("{")
    if brace and " " not in name:
        return f"{name}{{{labels},{rest}"
    name, _, value = sample.partition(" ")
    return f"{name}{{{labels}}} {value}"


def escaped_label(text: str) -> str:
    """Return a value of a label as the text form writes it (pure)."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
