"""Which log lines a reader gets."""

import pytest

from schemas.functions.log_events import LogLine
from workers.functions.logs.reading import LogCondition

_LINE = LogLine(100.0, "hello", "1", "e", "warning", "Something Odd", "request-7")


@pytest.mark.parametrize(
    "condition",
    [
        LogCondition(),
        LogCondition(level="debug"),
        LogCondition(level="warning"),
        LogCondition(after=99.0, before=101.0),
        LogCondition(text="odd"),
        LogCondition(request_id="request-7"),
    ],
)
def test_a_line_that_fits_is_read(condition: LogCondition) -> None:
    assert condition.admits(_LINE)


@pytest.mark.parametrize(
    "condition",
    [
        LogCondition(level="error"),
        LogCondition(after=100.0),
        LogCondition(before=100.0),
        LogCondition(text="even"),
        LogCondition(request_id="request"),
    ],
)
def test_a_line_that_does_not_fit_is_left_out(condition: LogCondition) -> None:
    assert not condition.admits(_LINE)
    assert not condition.is_empty
