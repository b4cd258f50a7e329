"""A client that signs people in at a pool auth: its requests, in the order of a sign-in, and each of them alone."""

import base64
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from schemas.caller import Caller
from schemas.http import Response
from schemas.keys.tokens import Verifier, read_keys
from tests.workers.auth.auth_pool import ADMIN, ANYBODY, AuthPool, SignedInUser, told

REDIRECT = "https://client.example/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""Both from RFC 7636, appendix B."""
FORM = "application/x-www-form-urlencoded"
BASE = "https://project.example/auth/v1"
ON = {
    "external_url": BASE,
    "oauth_server__enabled": True,
    "oauth_server__authorization_url_path": "/oauth/consent",
    "oauth_server__allow_dynamic_registration": True,
    "rate_limit__oauth_dynamic_client_register": 0.0,
}

Client = dict[str, Any]


@dataclass
class Flow:
    """A pool auth whose OAuth server is on."""

    auth_pool: AuthPool

    async def client(self, **told: object) -> Client:
        """Make a client by an admin's hand."""
        body = {"redirect_uris": [REDIRECT], "client_name": "An application", **told}
        return self._made(await self.auth_pool.send("POST", "/admin/oauth/clients", body, ADMIN))

    async def public(self, **told: object) -> Client:
        return await self.client(token_endpoint_auth_method="none", **told)

    async def authorize(self, client: Client, **changes: str | None) -> Response:
        """Ask for an authorization; a change to None leaves a parameter out."""
        query = {
            "client_id": client["client_id"],
            "redirect_uri": client["redirect_uris"][0],
            "response_type": "code",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "a state",
            **changes,
        }
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return await self.auth_pool.send("GET", f"/oauth/authorize?{given}")

    async def question(self, client: Client, **changes: str | None) -> str:
        """Return the id under which the user is asked."""
        response = await self.authorize(client, **changes)
        assert response.status == 302, response
        location = told(response, "location")
        assert location.startswith(self.auth_pool.context.settings.site_url), location
        return query_of(location)["authorization_id"]

    async def details(self, id: str, signed: SignedInUser) -> Any:
        return await self.auth_pool.ok("GET", f"/oauth/authorizations/{id}", None, signed.caller)

    async def decide(self, id: str, signed: SignedInUser, action: str = "approve") -> dict[str, str]:
        """Return the query that the client gets."""
        path = f"/oauth/authorizations/{id}/consent"
        body = await self.auth_pool.ok("POST", path, {"action": action}, signed.caller)
        return query_of(body["redirect_url"])

    async def code(self, client: Client, signed: SignedInUser, **changes: str | None) -> str:
        """Return a code that the user has said yes to."""
        id = await self.question(client, **changes)
        shown = await self.details(id, signed)
        if "redirect_url" in shown:
            return query_of(shown["redirect_url"])["code"]
        return (await self.decide(id, signed))["code"]

    async def post(
        self, fields: dict[str, str], client: Client | None = None, **headers: str
    ) -> tuple[int, Any]:
        """Ask the token endpoint, with the credentials of a client in the way it is registered for."""
        fields = dict(fields)
        if client is not None:
            match client["token_endpoint_auth_method"]:
                case "client_secret_basic":
                    headers["authorization"] = basic(client["client_id"], client["client_secret"])
                case "client_secret_post":
                    fields |= {"client_id": client["client_id"], "client_secret": client["client_secret"]}
                case _:
                    fields |= {"client_id": client["client_id"]}
        headers.setdefault("content_type", FORM)
        response = await self.auth_pool.send("POST", "/oauth/token", urlencode(fields).encode(), **headers)
        return response.status, json.loads(response.body)

    async def exchange(self, client: Client, code: str, /, **changes: str) -> tuple[int, Any]:
        return await self.post(self.code_fields(code) | changes, client)

    @staticmethod
    def code_fields(code: str) -> dict[str, str]:
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
        }

    async def refresh(self, client: Client, token: str, **changes: str) -> tuple[int, Any]:
        return await self.post({"grant_type": "refresh_token", "refresh_token": token, **changes}, client)

    async def tokens(self, client: Client, signed: SignedInUser, **changes: str | None) -> Any:
        """Go the whole way, and give what the client gets."""
        status, body = await self.exchange(client, await self.code(client, signed, **changes))
        assert status == 200, body
        return body

    def caller(self, access_token: str) -> Caller:
        """Return who a token speaks for, as the gateway finds out."""
        context = self.auth_pool.context
        keys = read_keys(context.settings.jwt_secret.reveal())
        if context.public_keys:
            keys = keys + read_keys(json.dumps({"keys": list(context.public_keys)}))
        return Verifier(keys).verify(access_token, self.auth_pool.clock())

    async def userinfo(self, access_token: str) -> Any:
        return await self.auth_pool.ok("GET", "/oauth/userinfo", None, self.caller(access_token))

    async def refused(self, method: str, target: str, caller: Caller = ANYBODY, body: object = None) -> Any:
        return await self.auth_pool.refused(method, target, body, caller)

    @staticmethod
    def _made(response: Response) -> Client:
        assert response.status == 201, response
        made: Client = json.loads(response.body)
        return made


def query_of(url: str) -> dict[str, str]:
    """Return the parameters of an address, each of which stands there once."""
    found = parse_qs(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert all(len(values) == 1 for values in found.values()), url
    return {name: values[0] for name, values in found.items()}


def basic(id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()


def error_of(answered: tuple[int, Any]) -> tuple[int, str]:
    """Return the status and the OAuth error of a refusal, which has nothing else in it."""
    status, body = answered
    assert set(body) == {"error", "error_description"}, body
    return status, body["error"]
