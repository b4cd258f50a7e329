"""Metadata by their address: fetched from public hosts only, and again when they are old."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.workers.auth.auth_pool import ADMIN, AuthPool
from tests.workers.auth.federation.saml.conftest import Organization
from tests.workers.auth.federation.saml.idp import Idp, rsa_pair
from workers.auth.federation.saml.metadata import read_metadata
from workers.auth.federation.saml.metadata_refresh import is_stale
from workers.auth.federation.saml.providers import SamlRegistration
from workers.http_client.client import FetchedResponse, HttpClient

NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
DAY = timedelta(hours=24)


@dataclass
class MetadataServer:
    """A server that gives metadata, at an address of the public network as far as the service can tell."""

    idp: Idp
    status: int = 200
    text: str | None = None
    asked: list[str] = field(default_factory=list)
    base: str = ""

    @property
    def url(self) -> str:
        return f"https://{uuid.uuid4().hex}.example.org/metadata"

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        headers = {"location": "/elsewhere"} if self.status == 302 else {}
        text = self.idp.metadata() if self.text is None else self.text
        return web.Response(status=self.status, text=text, headers=headers)


class _Routed(HttpClient):
    """Goes to the test's server for every public name, by a connection that is not guarded."""

    def __init__(self, place: MetadataServer) -> None:
        super().__init__()
        self._place = place

    async def fetch(self, method: str, url: str, **more: Any) -> FetchedResponse:
        assert more.pop("only_public") is True
        return await super().fetch(method, f"{self._place.base}/{url.rpartition('/')[2]}", **more)


@pytest.fixture
async def place() -> AsyncIterator[MetadataServer]:
    """A place where metadata are."""
    made = MetadataServer(Idp())
    app = web.Application()
    app.router.add_get("/{path:.*}", made.answer)
    async with TestServer(app) as server:
        made.base = str(server.make_url("")).rstrip("/")
        yield made


@pytest.fixture
async def routed(sso: AuthPool, place: MetadataServer) -> AsyncIterator[AuthPool]:
    """A worker for which the place is at public addresses."""
    outgoing = _Routed(place)
    yield AuthPool(replace(sso.context, outgoing=outgoing), sso.admin, sso.clock)
    await outgoing.close()


async def by_url(auth_pool: AuthPool, place: MetadataServer) -> Organization:
    response = await auth_pool.send(
        "POST", "/admin/sso/providers", {"type": "saml", "metadata_url": place.url}, ADMIN
    )
    assert response.status == 201, response
    id = await auth_pool.value(
        "select sso_provider_id::text from auth.saml_providers where entity_id = $1", place.idp.entity_id
    )
    return Organization(auth_pool, place.idp, id)


async def enters(organization: Organization) -> bool:
    landing = await organization.arrive(organization.idp.tree(organization.says(name_id="same")))
    return "access_token" in landing.fragment


# When metadata are old


@pytest.mark.parametrize(
    ("age", "head", "stale"),
    [
        (timedelta(hours=23), "", False),
        (DAY, "", True),
        (timedelta(minutes=-1), "", False),
        (timedelta(hours=-1), "", True),
        (timedelta(minutes=59), ' cacheDuration="PT1H"', False),
        (timedelta(hours=1), ' cacheDuration="PT1H"', True),
        (DAY, ' cacheDuration="P30D"', True),
        (timedelta(minutes=1), ' validUntil="2026-08-01T12:00:01Z"', False),
        (timedelta(minutes=1), ' validUntil="2026-08-01T12:00:00Z"', True),
    ],
)
def test_metadata_grow_old(age: timedelta, head: str, stale: bool):
    idp = read_metadata(Idp().metadata(head=head).encode())
    saml = SamlRegistration("e", "x", metadata_url="https://a.example/", updated_at=NOON - age)

    assert is_stale(saml, idp, NOON) is stale


def test_metadata_without_an_address_never_do():
    idp = read_metadata(Idp().metadata(head=' validUntil="2020-01-01T00:00:00Z"').encode())

    assert not is_stale(SamlRegistration("e", "x", updated_at=NOON - 9 * DAY), idp, NOON)


# Where they are fetched


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/metadata",
        "https://localhost/metadata",
        "https://[::1]/metadata",
        "https://[::ffff:10.0.0.1]/metadata",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/metadata",
        "https://0/metadata",
        "https://2130706433/metadata",
    ],
)
async def test_private_hosts_are_not_asked(sso: AuthPool, url: str):
    refusal = await sso.refused("POST", "/admin/sso/providers", {"type": "saml", "metadata_url": url}, ADMIN)

    assert refusal[:2] == (400, "saml_metadata_fetch_failed")


@pytest.mark.parametrize(
    "url", ["http://a.example/metadata", "file:///etc/passwd", "ftp://a.example/", "metadata"]
)
async def test_only_https_is_asked(sso: AuthPool, url: str):
    refusal = await sso.refused("POST", "/admin/sso/providers", {"type": "saml", "metadata_url": url}, ADMIN)

    assert refusal == (400, "validation_failed", "SAML Metadata URL is not a HTTPS URL")


async def test_a_provider_is_made_of_its_address(routed: AuthPool, place: MetadataServer):
    organization = await by_url(routed, place)

    shown = await routed.ok("GET", f"/admin/sso/providers/{organization.id}", None, ADMIN)

    assert shown["saml"]["entity_id"] == place.idp.entity_id
    assert shown["saml"]["metadata_url"].endswith(".example.org/metadata")
    assert shown["saml"]["metadata_xml"] == place.idp.metadata()
    assert await enters(organization)
    assert len(place.asked) == 1


@pytest.mark.parametrize(
    ("status", "text", "refusal"),
    [
        (404, None, "saml_metadata_fetch_failed"),
        (302, None, "saml_metadata_fetch_failed"),
        (200, "x" * 1024 * 1025, "saml_metadata_fetch_failed"),
        (200, "<a/>", "validation_failed"),
        (200, "<!DOCTYPE a><a/>", "validation_failed"),
    ],
)
async def test_what_is_not_there_makes_no_provider(
    routed: AuthPool, place: MetadataServer, status: int, text: str | None, refusal: str
):
    place.status, place.text = status, text

    told = await routed.refused(
        "POST", "/admin/sso/providers", {"type": "saml", "metadata_url": place.url}, ADMIN
    )

    assert told[:2] == (400, refusal)
    assert place.asked == ["/metadata"]


# And again


async def test_a_provider_may_change_its_key(routed: AuthPool, place: MetadataServer):
    organization = await by_url(routed, place)
    place.idp.key = rsa_pair("changed")

    before = await enters(organization)
    routed.clock.forward(hours=24, seconds=1)
    after = await enters(organization)
    again = await enters(organization)

    assert (before, after, again) == (False, True, True)
    assert len(place.asked) == 2


async def test_a_visit_asks_too(routed: AuthPool, place: MetadataServer):
    organization = await by_url(routed, place)
    place.idp.sso_url = "https://moved.example.org/sso"
    routed.clock.forward(hours=25)

    request = await organization.visit()

    assert request.root.get("Destination") == "https://moved.example.org/sso"


@pytest.mark.parametrize("text", ["nothing", "<a/>", Idp().metadata()])
async def test_what_cannot_be_had_leaves_what_is_there(routed: AuthPool, place: MetadataServer, text: str):
    organization = await by_url(routed, place)
    place.text = text
    routed.clock.forward(hours=25)

    assert await enters(organization)
    assert await enters(organization)
    assert len(place.asked) == 2  # one try in five minutes
    routed.clock.forward(minutes=6)
    assert await enters(organization)
    assert len(place.asked) == 3
    routed.clock.forward(hours=-1)  # set back
    assert await enters(organization)
    assert len(place.asked) == 4
