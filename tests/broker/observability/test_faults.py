"""Faults of a process: noted once, told to the supervisor and to the edges."""

import asyncio
from collections.abc import Callable

from broker.codec import encode
from broker.observability.fault_reports import FaultCollector, FaultReporter
from broker.observability.faults import Faults
from broker.processes.status_lines import HEARTBEAT, heartbeat_line, parse_heartbeat
from broker.subjects import FAULTS
from schemas.faults import Fault, FaultReport
from tests.broker.conftest import Open
from tests.broker.server import NatsServer


def test_a_fault_is_present_until_it_is_cleared_and_told_when_it_changes() -> None:
    faults, told = Faults(), []
    faults.on_change.append(lambda: told.append(len(faults.present)))

    faults.report("stream A", "does not store")
    faults.report("stream A", "does not store")
    faults.clear("stream B")
    faults.clear("stream A")

    assert told == [1, 0]


def test_faults_are_bounded() -> None:
    faults = Faults()
    for number in range(100):
        faults.report(f"part {number}", "x" * 10_000)

    assert len(faults.present) == 8
    assert len(heartbeat_line(faults.present)) < 4096, "a sign of life is written in one piece"


def test_signs_of_life_carry_faults() -> None:
    faults = [Fault("stream A", "does not store", is_sticky=True)]

    assert parse_heartbeat(HEARTBEAT) == []
    assert parse_heartbeat(heartbeat_line(faults)) == faults
    assert heartbeat_line([]) == HEARTBEAT
    assert parse_heartbeat(b"alive {}\n") == []
    assert parse_heartbeat(b"ready\n") is None


async def test_edges_know_the_faults_of_other_processes_until_they_are_over(
    nats: NatsServer, connect: Open
) -> None:
    now = 0.0
    known = FaultCollector(await connect(nats.url), lambda: now)
    known.start()
    process = await connect(nats.url)
    faults = Faults()
    reporter = FaultReporter(process, faults)
    reporter.start()
    try:
        await _until(lambda: _reported(faults, known))
        assert known.reasons == {"stream A": "does not store"}
        faults.clear("stream A")
        await _until(lambda: not known.reasons)
        process.publish(FAULTS.name, encode(FaultReport("another:1", [Fault("stream B", "gone")])))
        process.publish(FAULTS.name, b"no report")
        await _until(lambda: known.reasons == {"stream B": "gone"})
        now = 11.0
        assert known.reasons == {}, "a process that sends nothing any more has no faults"
    finally:
        await reporter.close()


def _reported(faults: Faults, known: FaultCollector) -> bool:
    faults.clear("stream A")
    faults.report("stream A", "does not store")
    return bool(known.reasons)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)
