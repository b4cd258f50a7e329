"""Findings about functions that consume queues (pure)."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from services.doctor.finding import DoctorFinding, FindingLevel

_TITLE = "queues"


class QueueConsumerFacts(Struct, frozen=True):
    """The state of a consumer; `problem` says why it does not consume, empty if it does."""

    function: str
    queue: str
    wanted: str
    problem: str
    is_failing: bool
    last_error: str


def queue_findings(consumers: Sequence[QueueConsumerFacts]) -> list[DoctorFinding]:
    """Return the findings; none if no function consumes a queue."""
    faults = [finding for consumer in consumers if (finding := _finding(consumer)) is not None]
    if faults or not consumers:
        return faults
    return [DoctorFinding(_TITLE, FindingLevel.OK, f"{len(consumers)} consumed")]


def _finding(consumer: QueueConsumerFacts) -> DoctorFinding | None:
    name, queue = consumer.function, shlex.quote(consumer.queue)
    if consumer.problem:
        cure = (
            f"Create it with `select pgmq.create('...')`, or change [functions.{name}.queue] in config.toml."
        )
        return _warning(f"{name} does not consume {consumer.queue}: {consumer.problem}", cure)
    if consumer.wanted == "pause":
        return _warning(f"the consumer of {consumer.queue} is paused", f"`headwater queues resume {queue}`.")
    if consumer.is_failing:
        cure = f"See what it printed: `headwater functions logs {name}`. Messages wait and are tried again."
        return _warning(f"{name} does nothing of {consumer.queue}: {consumer.last_error}", cure)
    return None


def _warning(text: str, cure: str) -> DoctorFinding:
    return DoctorFinding(_TITLE, FindingLevel.WARNING, text, cure)
