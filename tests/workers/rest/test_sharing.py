"""Reads of many callers on one connection: each as itself, and only what may be read twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from tests.workers.rest.rest_pool import RestPool, rows, user
from workers.database.connection_pool.shared_reads import SharedReads
from workers.database.transactions.model import RowsAndLongValue, TransactionSpec

_CALLERS = ["ada", "bob", "eve", "ada", "bob", "eve"]


@dataclass
class Shared:
    """Works that were offered to a group, and those that were done in one."""

    tried: list[TransactionSpec] = field(default_factory=list)
    went: list[TransactionSpec] = field(default_factory=list)


@pytest.fixture
async def shared(rest_pool: RestPool, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shared]:
    """Return the works that would share a connection, and those that did, while others use two."""
    monkeypatch.setattr("workers.database.connection_pool.shared_reads._QUICK_S", 60.0)
    seen = Shared()
    run = SharedReads.run

    async def spy(groups: SharedReads, work: TransactionSpec, caller_key: str) -> RowsAndLongValue | None:
        seen.tried.append(work)
        found = await run(groups, work, caller_key)
        if found is not None:
            seen.went.append(work)
        return found

    monkeypatch.setattr(SharedReads, "run", spy)
    async with contextlib.AsyncExitStack() as held:
        for _ in range(2):
            transaction = await held.enter_async_context(rest_pool.pool.transaction())
            await transaction.rows("select 1")
        yield seen


async def test_callers_who_share_a_connection_see_their_own_rows(rest_pool: RestPool, shared: Shared) -> None:
    async with asyncio.timeout(30):
        while not shared.went:
            answers = await asyncio.gather(
                *(rest_pool.send("GET", "/secrets?select=body", caller=user(name)) for name in _CALLERS)
            )

            assert [rows(each) for each in answers] == 2 * [[{"body": "a"}], [{"body": "b"}], []]


@pytest.mark.parametrize("target", ["/rpc/spots", "/rpc/add_them?a=1&b=2", "/rpc/long_rivers?least=1"])
async def test_functions_share_with_nobody(rest_pool: RestPool, shared: Shared, target: str) -> None:
    for _ in range(3):
        answers = await asyncio.gather(*(rest_pool.send("GET", target) for _ in range(4)))
        assert {each.status for each in answers} == {200}

    assert not shared.tried


async def test_writes_share_with_nobody(trial: RestPool, shared: Shared) -> None:
    for _ in range(3):
        answers = await asyncio.gather(
            *(trial.send("PATCH", "/rivers?id=eq.1", {"km": 1}) for _ in range(4)),
            *(trial.send("POST", "/rpc/next_step", body=b"{}") for _ in range(4)),
        )
        assert {each.status for each in answers} <= {200, 204}

    assert not shared.tried


async def test_a_project_that_is_asked_before_each_request_shares_nothing(
    rest_pool: RestPool, shared: Shared
) -> None:
    asked = rest_pool.with_options(pre_request="zone")
    for _ in range(3):
        answers = await asyncio.gather(*(asked.send("GET", "/rivers?select=id&order=id") for _ in range(4)))
        assert {each.status for each in answers} == {200}

    assert not shared.tried
