"""What a call of a function means for its messages (pure).

    call failed, or status not 2xx ----------------> every message of the batch failed
    2xx --------------------------------------------> every message is done, but for those that the body names:
        {"batchItemFailures": [{"itemIdentifier": "7", "delaySeconds": 60}]}

The form is that of SQS with Lambda ("Reporting batch item failures"), and its rules: a list that cannot be read, or that names a message
which is not in the batch, means that all failed. `delaySeconds` is ours. A body of another form means success, so a function may answer "ok".

Messages are tried `retries` times again, with pauses that double; then they are set aside. From the third attempt on a message is sent
alone: one that ends the function's process takes no others with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from schemas.settings.queue_checks import LONGEST_BACKOFF_S, LONGEST_VISIBILITY_S

MESSAGE_LIMIT = 4 * 1024 * 1024
"""Bytes of a message as JSON; a longer one is set aside."""
_ALONE_FROM = 3
_JITTER = 0.2
_MOST_DOUBLINGS = 30

VerdictKind = Literal["done", "retry", "returned", "dead"]


class TakenMessage(NamedTuple):
    """A message under a lease. `attempt`: how often it was taken; `body` its JSON for the function, None if it is too long."""

    id: int
    attempt: int
    enqueued_at: object
    """As the driver gives it: beside the number it names the message, for a queue that is created again counts from 1."""
    body: str | None


class MessageVerdict(NamedTuple):
    """What becomes of a message: `returned` does not count as an attempt."""

    message: TakenMessage
    kind: VerdictKind
    wait_s: float = 0.0
    error: str = ""


class InvalidBatchAnswer(ValueError):
    """The list of failures cannot be read; the text says why."""


class BatchItemFailure(Struct, frozen=True, rename="camel"):
    """An entry of `batchItemFailures`."""

    item_identifier: str | int
    delay_seconds: float | None = None


class BatchAnswer(Struct, frozen=True, rename="camel"):
    """The body of an answer, as far as it is about messages."""

    batch_item_failures: list[BatchItemFailure] | None = None


def failures_of(body: bytes, ids: Iterable[int]) -> Mapping[int, float | None]:
    """Return the failed messages of a successful call, with the pauses in seconds that the function asks for.

    Raises: InvalidBatchAnswer if all must count as failed.
    """
    if not body.lstrip().startswith(b"{"):
        return {}
    try:
        failures = msgspec.json.decode(body, type=BatchAnswer).batch_item_failures or []
    except (msgspec.MsgspecError, RecursionError):
        if b'"batchItemFailures"' not in body:
            return {}
        raise InvalidBatchAnswer("batchItemFailures of its answer cannot be read") from None
    known = {str(id): id for id in ids}
    failed: dict[int, float | None] = {}
    for failure in failures:
        id = known.get(str(failure.item_identifier))
        if id is None:
            raise InvalidBatchAnswer("batchItemFailures of its answer names a message that it was not given")
        failed[id] = failure.delay_seconds
    return failed


def failed(
    message: TakenMessage,
    error: str,
    *,
    retries: int,
    backoff_s: float,
    chance: float,
    asked_s: float | None = None,
    least_s: float = 0.0,
) -> MessageVerdict:
    """Return what becomes of a message that failed. `asked_s`: the function's own pause; `chance`: a random number from 0 to 1."""
    if message.attempt > retries:
        return MessageVerdict(message, "dead", 0.0, error)
    if asked_s is not None:
        return MessageVerdict(message, "retry", min(max(asked_s, 0.0), LONGEST_VISIBILITY_S), error)
    doublings = min(max(message.attempt - 1, 0), _MOST_DOUBLINGS)
    wait_s = min(backoff_s * 2**doublings, LONGEST_BACKOFF_S) * (1 + _JITTER * chance)
    return MessageVerdict(message, "retry", max(wait_s, least_s), error)


def batches_of(messages: Sequence[TakenMessage], most: int) -> Iterator[list[TakenMessage]]:
    """Yield the batches in which messages are sent."""
    batch: list[TakenMessage] = []
    for message in messages:
        if message.attempt >= _ALONE_FROM:
            yield [message]
            continue
        batch.append(message)
        if len(batch) == most:
            yield batch
            batch = []
    if batch:
        yield batch


def batch_body(queue: str, messages: Sequence[TakenMessage]) -> bytes:
    """Return the body of a call: the queue, and the messages as pgmq's `read` returns them."""
    texts = ",".join(message.body for message in messages if message.body is not None)
    return b'{"queue":%b,"messages":[%b]}' % (msgspec.json.encode(queue), texts.encode())
