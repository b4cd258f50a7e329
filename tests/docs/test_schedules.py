"""The SQL of docs/schedules-and-queues.md runs on a platform, in the order in which it stands."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform import Platform, platform

PAGE = (Path(__file__).parents[2] / "docs" / "schedules-and-queues.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    with platform() as one:
        yield one


def test_the_sql_of_the_page_runs(running_platform: Platform) -> None:
    assert len(BLOCKS) == 6

    shown = [running_platform.psql(block) for block in BLOCKS]

    assert "forget-visits|0 3 * * *|t" in shown[1].replace(" | ", "|") or "forget-visits" in shown[1]
    assert "orders_webhook" in shown[4]
    assert "ada@example.com" in shown[5]
