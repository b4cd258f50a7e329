"""What an attempt means, by a table."""

import pytest

from workers.webhooks.retries import AttemptOutcome, outcome_of

DAYS_S = 3 * 86_400.0


@pytest.mark.parametrize(
    ("status", "retry_after", "attempts", "age_s", "expected"),
    [
        (200, "", 0, 0.0, AttemptOutcome("delivered")),
        (299, "", 7, 2 * DAYS_S, AttemptOutcome("delivered")),  # late, but taken
        (None, "", 0, 0.0, AttemptOutcome("waiting", 5.0)),
        (302, "", 1, 5.0, AttemptOutcome("waiting", 30.0)),
        (500, "60", 0, 0.0, AttemptOutcome("waiting", 5.0)),  # only 429 and 503 name a time
        (429, "60", 0, 0.0, AttemptOutcome("waiting", 60.0)),
        (503, "999999999999", 0, 0.0, AttemptOutcome("waiting", 3600.0)),
        (503, "Wed, 21 Oct 2026 07:28:00 GMT", 0, 0.0, AttemptOutcome("waiting", 5.0)),
        (503, "1", 3, 0.0, AttemptOutcome("waiting", 600.0)),
        (500, "", 99, 0.0, AttemptOutcome("waiting", 36_000.0)),
        (500, "", 99, DAYS_S - 100.0, AttemptOutcome("failed")),
        (410, "", 0, 0.0, AttemptOutcome("waiting", 36_000.0, is_gone=True)),
    ],
)
def test_an_outcome(
    status: int | None, retry_after: str, attempts: int, age_s: float, expected: AttemptOutcome
):
    assert outcome_of(status, retry_after, attempts, age_s, DAYS_S, 0.0) == expected


def test_pauses_are_spread():
    assert outcome_of(None, "", 0, 0.0, DAYS_S, 1.0).wait_s == 6.0
