"""Machines with fewer walls: functions run behind those that there are, or not at all."""

import pytest

from schemas.settings.functions import EdgeRuntime
from tests.broker.server import NatsServer
from tests.workers.functions.site import site
from workers.functions import places
from workers.functions.walls import Walls, find_walls

HELLO = "Deno.serve(() => new Response('hello'));"


async def test_without_a_wall_functions_are_not_run(
    own_nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        places, "find_walls", lambda: Walls(0, has_filter=False, is_gated=False, is_enough=False)
    )
    async with site(own_nats.url) as one:
        await one.add("a", HELLO)
        answer = await one.ask("/a")

        assert (answer.status, answer.json["code"]) == (503, "SANDBOX_MISSING")
        assert "unsafe_without_sandbox" in answer.json["message"]


@pytest.mark.parametrize(
    "walls",
    [
        Walls(0, has_filter=False, is_gated=False, is_enough=False),
        Walls(1, has_filter=True, is_gated=False, is_enough=True),
        Walls(4, has_filter=False, is_gated=False, is_enough=True),
    ],
    ids=["none, accepted", "a filter without a gate", "no filter"],
)
async def test_functions_run_behind_the_walls_that_there_are(
    own_nats: NatsServer, monkeypatch: pytest.MonkeyPatch, walls: Walls
) -> None:
    monkeypatch.setattr(places, "find_walls", lambda: walls)
    async with site(own_nats.url, runtime=EdgeRuntime(watch=0, unsafe_without_sandbox=True)) as one:
        await one.add("a", HELLO)

        assert (await one.ask("/a")).body == b"hello"


def test_walls_are_found_by_trying_them() -> None:
    found = find_walls()

    assert found == find_walls()
    assert not found.is_gated or found.has_filter
