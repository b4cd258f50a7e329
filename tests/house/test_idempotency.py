"""Writes with an Idempotency-Key: carried out once, whatever happens between the write and its answer."""

import asyncio
import json
import os
import signal
import uuid
from collections.abc import Mapping

import aiohttp
import pytest

from tests.house.conftest import pid_of, token
from tests.platform import Platform

pytestmark = [pytest.mark.xdist_group("house"), pytest.mark.timeout(180)]

_PATIENCE_S = 40
Reply = tuple[int, Mapping[str, str], str]


@pytest.fixture
def key() -> str:
    return str(uuid.uuid4())


async def send(
    house: Platform, method: str, path: str, body: object, headers: Mapping[str, str], key: str
) -> Reply:
    async with aiohttp.ClientSession() as session, session.request(
        method, house.url + path, json=body, headers={**headers, "Idempotency-Key": key}
    ) as answer:  # fmt: skip
        return answer.status, answer.headers, await answer.text()


def count(house: Platform, note: str) -> int:
    return int(house.psql(f"select count(*) from journal where note = '{note}'").split()[-1])


async def test_a_repeat_returns_the_first_answer(
    house: Platform, service: dict[str, str], key: str
) -> None:
    headers = {**service, "Prefer": "return=representation"}

    first = await send(house, "POST", "/rest/v1/journal", {"note": key}, headers, key)
    again = await send(house, "POST", "/rest/v1/journal", {"note": key}, headers, f'"{key}"')

    assert first[0] == again[0] == 201
    assert first[2] == again[2] != ""
    assert (first[1].get("Idempotency-Replayed"), again[1].get("Idempotency-Replayed")) == (None, "true")
    kept = ("Content-Type", "Content-Range", "Preference-Applied", "Vary")
    assert [first[1].get(name) for name in kept] == [again[1].get(name) for name in kept]
    assert count(house, key) == 1
