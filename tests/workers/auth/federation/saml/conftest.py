"""A worker with single sign-on, and an identity provider that it knows."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from schemas.http import Response
from schemas.keys.secret import Secret
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.auth_pool import ADMIN, AuthPool, SignedInUser, told
from tests.workers.auth.federation.saml.idp import Element, Idp, Request, Says, packed, read_request
from workers.auth.federation.saml.service_provider import ServiceProvider, service_provider

FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Landing:
    """Where a browser was sent, taken apart."""

    status: int
    target: str
    query: dict[str, str]
    fragment: dict[str, str]

    @property
    def refusal(self) -> tuple[str, str]:
        """Return the code and the words of a refusal."""
        return self.query["error_code"], self.query["error_description"]


@dataclass(frozen=True)
class Organization:
    """A worker, an identity provider, and the row by which one knows the other."""

    auth_pool: AuthPool
    idp: Idp
    id: str

    @property
    def us(self) -> ServiceProvider:
        return service_provider(self.auth_pool.context.settings)

    @property
    def name(self) -> str:
        return f"sso:{self.id}"

    async def visit(self, **more: object) -> Request:
        """Ask to sign in, and give what the identity provider reads."""
        body = {"provider_id": self.id, "skip_http_redirect": True, **more}
        return read_request(
            await self.auth_pool.go_on((await self.auth_pool.ok("POST", "/sso", body))["url"])
        )

    def says(self, request: Request | None = None, **more: Any) -> Says:
        """Return what an honest answer says."""
        usual: dict[str, Any] = {
            "issuer": self.idp.entity_id,
            "audience": self.us.entity_id,
            "acs": self.us.acs_url,
            "in_response_to": request.id if request else None,
            "now": datetime.fromtimestamp(self.auth_pool.clock(), UTC),
            "name_id": f"u-{uuid.uuid4().hex}",
        }
        return Says(**{**usual, **more})

    async def arrive(
        self, brought: Element | str, relay_state: str = "", auth_pool: AuthPool | None = None
    ) -> Landing:
        """Bring an answer as a browser does, and give where it is sent."""
        return landing_of(await self.bring(brought, relay_state, auth_pool))

    async def bring(
        self, brought: Element | str, relay_state: str = "", auth_pool: AuthPool | None = None
    ) -> Response:
        text = brought if isinstance(brought, str) else packed(brought)
        form = urlencode({"SAMLResponse": text, "RelayState": relay_state}).encode()
        return await (auth_pool or self.auth_pool).send("POST", "/sso/saml/acs", form, content_type=FORM)

    async def sign_in(self, **said: Any) -> SignedInUser:
        """Sign somebody in by way of the identity provider."""
        request = await self.visit()
        landing = await self.arrive(self.idp.tree(self.says(request, **said)), request.relay_state)
        return await self.signed(landing)

    async def signed(self, landing: Landing) -> SignedInUser:
        """Return the session that a browser landed with."""
        refreshed = await self.auth_pool.refresh(landing.fragment["refresh_token"])
        body = {**refreshed.body, "access_token": landing.fragment["access_token"]}
        return self.auth_pool.signed({**body, "refresh_token": refreshed.refresh_token})


def landing_of(response: Response) -> Landing:
    parts = urlsplit(told(response, "location"))
    target = parts._replace(query="", fragment="").geturl()
    return Landing(
        response.status,
        target,
        dict(parse_qsl(parts.query, keep_blank_values=True)),
        dict(parse_qsl(parts.fragment, keep_blank_values=True)),
    )


async def known(auth_pool: AuthPool, idp: Idp | None = None, **more: object) -> Organization:
    """Make an identity provider known."""
    idp = idp or Idp()
    body = {"type": "saml", "metadata_xml": idp.metadata(), **more}
    response = await auth_pool.send("POST", "/admin/sso/providers", body, ADMIN)
    assert response.status == 201, response
    shown = await auth_pool.ok("GET", "/admin/sso/providers", None, ADMIN)
    (id,) = [each["id"] for each in shown["items"] if each["saml"]["entity_id"] == idp.entity_id]
    return Organization(auth_pool, idp, id)


@pytest.fixture
def sso(auth_pool: AuthPool) -> AuthPool:
    """A worker with single sign-on."""
    return auth_pool.having(
        saml__enabled=True,
        saml__private_key=Secret(RSA_KEY),
        saml__rate_limit_assertion=0.0,
        rate_limit__sso=0.0,
        additional_redirect_urls=["https://app.example.org/**"],
    )


@pytest.fixture
async def organization(sso: AuthPool) -> Organization:
    """An organization whose users sign in by its identity provider."""
    return await known(sso)
