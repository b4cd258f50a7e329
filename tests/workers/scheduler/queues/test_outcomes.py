"""What answers mean for the messages of a batch, and when a message is tried again (pure)."""

import pytest

from workers.scheduler.queues.outcomes import (
    InvalidBatchAnswer,
    TakenMessage,
    batches_of,
    failed,
    failures_of,
)

DEEP = '{"a":' + "[" * 2000 + "]" * 2000 + "}"
"""More levels than a decoder follows."""


@pytest.mark.parametrize(
    ("body", "failures"),
    [
        (b"", {}),
        (b"ok", {}),
        (b"[1]", {}),
        (b'{"sent": 2', {}),
        (b'{"sent": 2}', {}),
        (b'{"batchItemFailures": null}', {}),
        (DEEP.encode(), {}),
        (b'{"batchItemFailures": []}', {}),
        (b' {"batchItemFailures": [{"itemIdentifier": "2"}]}', {2: None}),
        (b'{"batchItemFailures": [{"itemIdentifier": 1, "delaySeconds": 60}]}', {1: 60.0}),
    ],
)
def test_an_answer_names_what_failed(body: bytes, failures: dict[int, float | None]):
    assert failures_of(body, [1, 2]) == failures


@pytest.mark.parametrize(
    "failures",
    [
        '[{"itemIdentifier": "3"}]',
        '[{"itemIdentifier": ""}]',
        "[{}]",
        "[1]",
        '"all"',
        '[{"itemIdentifier": null}]',
    ],
)
def test_a_list_that_cannot_be_read_means_that_all_failed(failures: str):
    with pytest.raises(InvalidBatchAnswer):
        failures_of(b'{"batchItemFailures": %b}' % failures.encode(), [1, 2])


@pytest.mark.parametrize(
    ("attempt", "asked_s", "least_s", "expected"),
    [
        (1, None, 0.0, ("retry", 10.0)),
        (3, None, 0.0, ("retry", 40.0)),
        (3, None, 90.0, ("retry", 90.0)),
        (9, None, 0.0, ("retry", 2560.0)),
        (10, None, 0.0, ("retry", 3600.0)),
        (2000, None, 0.0, ("retry", 3600.0)),
        (3, 0.0, 0.0, ("retry", 0.0)),
        (3, 1e12, 0.0, ("retry", 43_200.0)),
        (2001, 5.0, 0.0, ("dead", 0.0)),
    ],
)
def test_pauses_double_until_a_message_is_set_aside(
    attempt: int, asked_s: float | None, least_s: float, expected: tuple[str, float]
):
    message = TakenMessage(1, attempt, None, "{}")
    verdict = failed(
        message, "why", retries=2000, backoff_s=10.0, chance=0.0, asked_s=asked_s, least_s=least_s
    )

    assert (verdict.kind, verdict.wait_s) == expected


def test_messages_of_a_third_attempt_are_sent_alone():
    messages = [
        TakenMessage(id, attempt, None, "{}") for id, attempt in ((1, 1), (2, 3), (3, 2), (4, 1), (5, 4))
    ]

    batches = [[message.id for message in batch] for batch in batches_of(messages, 2)]

    assert sorted(batches) == [[1, 3], [2], [4], [5]]
