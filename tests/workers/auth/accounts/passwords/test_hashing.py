"""Hashing in threads: right answers, a bounded queue, no difference for accounts that do not exist."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.model.errors import AuthError
from workers.credentials.password_hashes import Cost, Verdict, hash_password

CHEAP = Cost(memory_kib=64, passes=1)


@pytest.fixture
def hashing() -> Iterator[Hashing]:
    made = Hashing(CHEAP, threads=2, queue=2)
    yield made
    made.close()


@pytest.fixture
async def gate(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[threading.Event, threading.Semaphore]]:
    """Hashes that wait until the event is set; the semaphore counts those that have begun."""
    opened, begun = threading.Event(), threading.Semaphore(0)

    def slow(password: str, cost: Cost, salt: bytes) -> str:
        del cost, salt
        begun.release()
        opened.wait(30)
        return password

    monkeypatch.setattr("workers.auth.accounts.passwords.hashing.hash_password", slow)
    yield opened, begun
    opened.set()


async def test_a_password_is_hashed_and_verified(hashing: Hashing) -> None:
    text = await hashing.hash("secret word")

    assert text.startswith("$argon2id$v=19$m=64,t=1,p=1$")
    assert await hashing.verify("secret word", text) == Verdict(True, False)
    assert await hashing.verify("other word", text) == Verdict(False, False)


async def test_equal_passwords_have_different_hashes(hashing: Hashing) -> None:
    assert await hashing.hash("same") != await hashing.hash("same")


@pytest.mark.parametrize("stored", [None, "", "garbage", "$2a$31$" + "C" * 53])
async def test_without_a_readable_hash_the_same_work_is_done_for_nothing(
    hashing: Hashing, stored: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, Cost]] = []

    def counted(password: str, cost: Cost, salt: bytes) -> str:
        done.append((password, cost))
        return hash_password(password, cost, salt)

    monkeypatch.setattr("workers.auth.accounts.passwords.hashing.hash_password", counted)

    verdict = await hashing.verify("guess", stored)

    assert verdict == Verdict(False, False)
    assert done == [("guess", CHEAP)]


async def test_the_default_cost_is_the_decision() -> None:
    made = Hashing(threads=1)
    try:
        assert made.cost == Cost(19456, 2, 1)
    finally:
        made.close()


async def test_beyond_the_queue_work_is_refused_at_once(
    hashing: Hashing, gate: tuple[threading.Event, threading.Semaphore]
) -> None:
    opened, _ = gate
    tasks = [asyncio.create_task(hashing.hash(str(number))) for number in range(4)]
    await asyncio.sleep(0)

    with pytest.raises(AuthError) as refused:
        await hashing.hash("one too many")

    assert refused.value.status == 503
    assert await hashing.renew("an outdated hash") is None
    assert ("retry-after", "1") in refused.value.headers()
    opened.set()
    assert await asyncio.gather(*tasks) == ["0", "1", "2", "3"]
    assert await hashing.hash("again") == "again"


async def test_who_goes_away_takes_waiting_work_along_but_not_what_is_begun(
    hashing: Hashing, gate: tuple[threading.Event, threading.Semaphore]
) -> None:
    opened, begun = gate
    tasks = [asyncio.create_task(hashing.hash(str(number))) for number in range(4)]
    await asyncio.to_thread(lambda: (begun.acquire(timeout=30), begun.acquire(timeout=30)))

    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    later = [asyncio.create_task(hashing.hash(f"later {number}")) for number in range(2)]
    await asyncio.sleep(0)

    with pytest.raises(AuthError):  # the two that were begun still hold their places
        await hashing.hash("one too many")
    opened.set()
    assert await asyncio.gather(*later) == ["later 0", "later 1"]
    assert [begun.acquire(blocking=False) for _ in range(3)] == [
        True,
        True,
        False,
    ]  # the cancelled never began


async def test_after_the_end_nothing_is_taken() -> None:
    made = Hashing(CHEAP, threads=1)
    made.close()

    with pytest.raises(AuthError) as refused:
        await made.hash("late")

    assert refused.value.status == 503
