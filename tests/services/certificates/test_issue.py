"""Certificates of a real authority (Pebble): first issue by both challenges, several domains, restarts, external accounts."""

import asyncio
import base64
import stat
from pathlib import Path

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.certificates import HTTP, TLS_ALPN
from services.certificates.folder import CertificateFolder
from tests.broker.server import NatsServer
from tests.services.certificates.edges import (
    DOMAIN,
    PATIENCE_S,
    issued_names,
    running_edge,
    served,
    settings_for,
    write_old_certificate,
)
from tests.services.certificates.pebble import Pebble, running_pebble


@pytest.mark.parametrize("kind", [HTTP, TLS_ALPN])
async def test_a_certificate_is_issued_by_each_kind_of_challenge(
    kind: str, broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    async with running_edge(broker.url, tmp_path, settings_for(pebble, kind), pebble) as gateway:
        assert await issued_names(pebble) == [DOMAIN]
        async with aiohttp.ClientSession() as client:
            url = f"https://{DOMAIN}:{gateway.port}/health/live"
            connector = {"ssl": pebble.trusting(), "server_hostname": DOMAIN}
            async with client.get(url.replace(DOMAIN, "127.0.0.1"), **connector) as reply:  # type: ignore[arg-type]  # options by name
                assert reply.status == 200
                assert reply.headers["strict-transport-security"] == "max-age=3600"

    folder = CertificateFolder(tmp_path)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    account = folder.read_account()
    assert account is not None
    assert account.url.startswith(pebble.directory.rpartition("/")[0])


async def test_one_certificate_names_all_domains(broker: NatsServer, pebble: Pebble, tmp_path: Path) -> None:
    domains = (DOMAIN, "www.example.org", "files.example.org")
    async with running_edge(
        broker.url, tmp_path, settings_for(pebble, TLS_ALPN, HTTP, domains=domains), pebble
    ):
        assert set(await issued_names(pebble, "files.example.org")) == set(domains)


async def test_a_restart_keeps_the_certificate_and_the_account(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    settings = settings_for(pebble, HTTP)
    async with running_edge(broker.url, tmp_path, settings, pebble):
        await issued_names(pebble)
        first = await served(pebble.tls_port)
    async with running_edge(broker.url, tmp_path, settings, pebble):
        assert await served(pebble.tls_port) == first, "from the first connection on"


async def test_a_lost_data_folder_gets_the_certificate_of_the_deployment(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    settings = settings_for(pebble, HTTP)
    async with running_edge(broker.url, tmp_path / "first", settings, pebble):
        await issued_names(pebble)
        first = await served(pebble.tls_port)
    async with running_edge(broker.url, tmp_path / "second", settings, pebble):
        await issued_names(pebble)
        assert await served(pebble.tls_port) == first


async def test_another_list_of_domains_is_ordered(broker: NatsServer, pebble: Pebble, tmp_path: Path) -> None:
    async with running_edge(broker.url, tmp_path, settings_for(pebble, HTTP), pebble):
        await issued_names(pebble)
    domains = (DOMAIN, "new.example.org")
    async with running_edge(broker.url, tmp_path, settings_for(pebble, HTTP, domains=domains), pebble):
        async with asyncio.timeout(PATIENCE_S):
            while set(await issued_names(pebble)) != set(domains):
                await asyncio.sleep(0.05)


async def test_an_expired_certificate_is_replaced(broker: NatsServer, pebble: Pebble, tmp_path: Path) -> None:
    write_old_certificate(tmp_path, days_left=-3)
    async with running_edge(broker.url, tmp_path, settings_for(pebble, TLS_ALPN), pebble):
        assert await issued_names(pebble) == [DOMAIN]


async def test_an_authority_that_demands_an_account_gets_its_key(broker: NatsServer, tmp_path: Path) -> None:
    key = base64.urlsafe_b64encode(b"a key of thirty-two bytes, or so").decode().rstrip("=")
    folder = tmp_path / "pebble"
    folder.mkdir()
    async with running_pebble(folder, binding=("kid-1", key)) as pebble:
        settings = settings_for(pebble, HTTP, eab_key_id="kid-1", eab_hmac_key=Secret(key))
        async with running_edge(broker.url, tmp_path / "data", settings, pebble):
            assert await issued_names(pebble) == [DOMAIN]


async def test_any_edge_answers_and_one_orders(broker: NatsServer, pebble: Pebble, tmp_path: Path) -> None:
    """Two edges listen on the ports of the authority, and the kernel spreads its connections over them."""
    settings = settings_for(
        pebble, TLS_ALPN, domains=(DOMAIN, *(f"n{number}.example.org" for number in range(8)))
    )
    first, second = CertificateFolder(tmp_path / "a"), CertificateFolder(tmp_path / "b")
    async with (
        running_edge(broker.url, tmp_path / "a", settings, pebble),
        running_edge(broker.url, tmp_path / "b", settings, pebble),
        asyncio.timeout(PATIENCE_S),
    ):
        while (certificate := first.read_certificate()) is None or second.read_certificate() is None:
            await asyncio.sleep(0.05)
        while first.read_history().failures or second.read_history().failures:
            await asyncio.sleep(0.05)
        other = second.read_certificate()
        assert other is not None
        assert (other.chain, other.key) == (certificate.chain, certificate.key)
