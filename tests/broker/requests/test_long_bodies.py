"""Handlers of long bodies begin one after the other, those of short ones at once."""

import asyncio
from typing import cast

import pytest

from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.long_bodies import LONG
from schemas.http import Request


@pytest.mark.parametrize(("size", "iterations"), [(LONG + 1, 5), (LONG, 1)])
async def test_no_two_handlers_of_long_bodies_begin_in_one_iteration_of_the_loop(
    size: int, iterations: int
) -> None:
    loop, iteration, begun = asyncio.get_running_loop(), 0, list[int]()

    def count() -> None:
        nonlocal iteration
        iteration += 1
        loop.call_soon(count)

    async def handle() -> None:
        request = Request("id", "POST", "/", body=b"x" * size)
        await RequestBody(cast("NatsConnection", None), request).read(2 * LONG)  # nothing follows the message
        begun.append(iteration)

    loop.call_soon(count)
    await asyncio.gather(*(handle() for _ in range(5)))

    assert len(set(begun)) == iterations
