"""Transactions are told only when a statement that begins then sees them."""

import pytest

from workers.database.transaction_snapshot import TransactionSnapshot
from workers.replication.commit_visibility import CommitVisibility

BIG = 7 << 32


@pytest.mark.parametrize(
    ("text", "xid", "is_seen"),
    [
        ("10:10:", 9, True),
        ("10:10:", 10, False),
        ("10:10:", 11, False),
        ("5:10:5,8", 8, False),
        ("5:10:5,8", 7, True),
        (f"{BIG + 3}:{BIG + 3}:", 2, True),
        (f"{BIG + 3}:{BIG + 3}:", 3, False),
        (f"{BIG + 3}:{BIG + 3}:", 0xFFFFFFF0, True),
        (f"{BIG - 5}:{BIG - 5}:", 4, False),
        (f"{BIG + 1}:{BIG + 9}:{BIG + 4}", 4, False),
        (f"{BIG - 9}:{BIG + 9}:{BIG - 2}", (BIG - 2) & 0xFFFFFFFF, False),
    ],
)
def test_a_snapshot_sees_what_ended_before_it(text: str, xid: int, is_seen: bool) -> None:
    assert TransactionSnapshot.parse(text).can_see(xid) is is_seen


async def unasked() -> list[tuple[bool]]:
    raise AssertionError("a short wait asks for nothing more")


async def test_it_looks_again_until_the_transaction_is_seen_and_once_for_those_that_came_together() -> None:
    told = ["5:8:5", "5:8:5", "8:8:", "none more"]
    asked: list[str] = []

    async def ask() -> list[tuple[str]]:
        asked.append(told.pop(0))
        return [(asked[-1],)]

    visible = CommitVisibility(ask, unasked)
    await visible.wait_for(5)
    await visible.wait_for(6)
    await visible.wait_for(7)

    assert asked == ["5:8:5", "5:8:5", "8:8:"]


async def test_a_commit_that_waits_for_the_reader_is_told_before_it_is_seen() -> None:
    awaited = [False, True, True, False]

    async def ask() -> list[tuple[str]]:
        return [("8:9:" if not awaited else "5:8:5",)]

    async def ask_awaited() -> list[tuple[bool]]:
        return [(awaited.pop(0),)]

    visible = CommitVisibility(ask, ask_awaited)
    await visible.wait_for(5)
    assert awaited == [True, False]  # the second time it was so
    await visible.wait_for(5)
    assert awaited == [False]  # asked at once
    await visible.wait_for(5)
    assert awaited == []  # it is so no more: it waited until the commit was seen
