"""The authenticator of a running gateway: tokens of foreign issuers, keys that change, further API keys."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import pytest
import pytest_asyncio

from broker.events import publish_event
from broker.nats.connection import NatsConnection
from broker.processes.lifecycle import BAD_SETTINGS
from broker.subjects import SETTINGS_CHANGED
from schemas.edge_settings import EdgeSettings
from schemas.events import SettingsChanged
from schemas.keys.hashed_keys import new_hashed_key
from schemas.keys.key_rotation import new_list, rotate
from schemas.keys.secret import Secret
from schemas.keys.signing import read_signing_key, sign
from schemas.settings.auth_providers import Clerk, ThirdParty, WorkOs
from schemas.settings.tree import Api, Auth, Broker, Settings
from services.keys import third_party_keys
from tests.broker.server import NatsServer
from tests.services.gateway.pool import Pool
from tests.services.gateway.running_gateway import (
    KEYS,
    ObservedProcess,
    RunningGateway,
    running_gateway,
    start,
)
from tests.services.keys.issuer import DISCOVERY, Issuer, pair, running_issuer


@pytest_asyncio.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running_issuer() as one:
        yield one


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def caller_of(gateway: RunningGateway, token: str) -> dict[str, object]:
    """Return the caller that arrives at the pool."""
    found: dict[str, object] = (await gateway.ask("GET", "/rest/v1/echo", bearer(token))).json()["caller"]
    return found


async def test_a_foreign_token_found_by_discovery_arrives_as_a_user(
    nats: NatsServer, pool: Pool, issuer: Issuer
) -> None:
    trusted = {"third_party": ThirdParty(workos=WorkOs(True, issuer.url))}
    async with running_gateway(nats.url, auth=trusted) as gateway:
        assert issuer.asked[DISCOVERY] == 1
        assert (await caller_of(gateway, issuer.token()))["type"] == "user"
        assert (await caller_of(gateway, issuer.token(exp=1)))["type"] == "rejected"
        assert (await caller_of(gateway, pair("one").token(iss=issuer.url)))["type"] == "rejected"

        issuer.key = pair("two", "RS256")
        issuer.publish()
        assert (await caller_of(gateway, issuer.token()))["type"] == "user"


async def test_an_issuer_that_is_silent_does_not_keep_the_gateway_from_starting(
    nats: NatsServer, pool: Pool, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.gate = asyncio.Event()
    monkeypatch.setattr(third_party_keys, "WAIT_S", 0.02)
    trusted = {"third_party": ThirdParty(workos=WorkOs(True, issuer.url))}
    async with running_gateway(nats.url, auth=trusted) as gateway:
        own = sign({"exp": int(time.time()) + 60}, read_signing_key(new_list()))

        assert (await caller_of(gateway, KEYS.anon_key))["type"] == "user"
        assert (await caller_of(gateway, own))["type"] == "rejected"


async def test_an_issuer_that_cannot_be_one_ends_the_start_in_words(
    nats: NatsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    trusted = ThirdParty(clerk=Clerk(True, "evil.example/path"))
    process = ObservedProcess(
        Settings(broker=Broker(url=Secret(nats.url)), api=Api(port=0), auth=Auth(third_party=trusted))
    )

    assert await asyncio.wait_for(start(process), 60) == BAD_SETTINGS
    # Where it is written to depends on whether a test before this one chose the form of the log.
    written = "".join(capsys.readouterr())
    assert "auth.third_party.clerk.domain must be the name of a host" in written


async def test_a_new_signing_key_holds_in_a_running_gateway(
    nats: NatsServer, pool: Pool, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(new_list())
    async with running_gateway(nats.url, auth={"signing_keys_path": str(file)}) as gateway:
        for _ in range(4):
            token = sign({"exp": int(time.time()) + 60}, read_signing_key(file.read_text()))
            assert (await caller_of(gateway, token))["type"] == "user"
            file.write_text(rotate(file.read_text()).text)


async def announce(nats: NatsServer, event: SettingsChanged) -> None:
    """Announce as workers do that stored settings have changed."""
    connection = await NatsConnection.open(nats.url, name="worker")
    publish_event(connection, SETTINGS_CHANGED, event)
    await connection.flush(10)
    await connection.close()


async def test_several_opaque_keys_are_taken_side_by_side(nats: NatsServer, pool: Pool) -> None:
    more = {
        "publishable_keys": Secret("sb_publishable_0123456789abcdef, sb_publishable_fedcba9876543210"),
        "secret_keys": Secret("sb_secret_0123456789abcdef"),
    }

    async with running_gateway(nats.url, auth=more) as gateway:

        async def kind(key: str) -> object:
            reply = await gateway.ask("GET", "/rest/v1/echo", key=key)
            return reply.json()["caller"]["type"] if reply.status == 200 else reply.status

        (made, value), (public, shown) = (
            new_hashed_key(each, date(2026, 12, 1)) for each in ("secret", "publishable")
        )
        pool.stored = EdgeSettings(1, {"auth.hashed_keys": {"worker": value, "shop": shown}})
        assert await kind(made) == "service", "one that was created a moment ago is looked for"
        assert await kind(public) == "anonymous"
        assert await kind("sb_publishable_0123456789abcdef") == "anonymous"
        assert await kind("sb_publishable_fedcba9876543210") == "anonymous"
        assert await kind("sb_secret_0123456789abcdef") == "service"
        assert await kind(KEYS.publishable_key) == "anonymous"
        assert await kind(KEYS.secret_key) == "service"
        assert await kind("sb_secret_revoked") == 401
        assert await kind("sb_publishable_0123456789abcdef,sb_publishable_fedcba9876543210") == 401
        pool.stored = EdgeSettings(2, {"auth.hashed_keys": {"shop": shown}})
        await announce(nats, SettingsChanged(2))
        async with asyncio.timeout(60):
            while await kind(made) != 401:
                await asyncio.sleep(0.01)
        assert await kind(public) == "anonymous"
