"""Machines with fewer sandbox features: functions run with those that exist, or not at all."""

import pytest

from schemas.settings.functions import EdgeRuntime
from tests.broker.server import NatsServer
from tests.workers.functions.site import site
from workers.functions.host import host
from workers.functions.sandbox.features import SandboxFeatures, detect_features

HELLO = "Deno.serve(() => new Response('hello'));"


async def test_without_sandbox_features_functions_are_not_run(
    own_nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        host, "detect_features", lambda: SandboxFeatures(0, has_filter=False, is_gated=False, is_enough=False)
    )
    async with site(own_nats.url) as one:
        await one.add("a", HELLO)
        answer = await one.ask("/a")

        assert (answer.status, answer.json["code"]) == (503, "SANDBOX_MISSING")
        assert "unsafe_without_sandbox" in answer.json["message"]


@pytest.mark.parametrize(
    "features",
    [
        SandboxFeatures(0, has_filter=False, is_gated=False, is_enough=False),
        SandboxFeatures(1, has_filter=True, is_gated=False, is_enough=True),
        SandboxFeatures(4, has_filter=False, is_gated=False, is_enough=True),
    ],
    ids=["none, accepted", "a filter without a gate", "no filter"],
)
async def test_functions_run_with_the_features_that_exist(
    own_nats: NatsServer, monkeypatch: pytest.MonkeyPatch, features: SandboxFeatures
) -> None:
    monkeypatch.setattr(host, "detect_features", lambda: features)
    async with site(own_nats.url, runtime=EdgeRuntime(watch=0, unsafe_without_sandbox=True)) as one:
        await one.add("a", HELLO)

        assert (await one.ask("/a")).body == b"hello"


def test_features_are_detected_by_trying_them() -> None:
    found = detect_features()

    assert found == detect_features()
    assert not found.is_gated or found.has_filter
