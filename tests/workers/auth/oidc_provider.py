"""An OpenID provider on loopback, in the paths of a Keycloak realm: real HTTP, real codes, real signatures (ES256).

Nobody types a password here: `person` is who is signed in at the moment. What it may do wrong stands in `faults`.
"""

import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import BasicAuth, web
from joserfc import jwt
from joserfc.jwk import ECKey

CLIENT_ID, CLIENT_SECRET = "headwater", "provider's secret"
REALM = "/realms/main"
_OPENID = f"{REALM}/protocol/openid-connect"


@dataclass
class Person:
    """Somebody who has an account at the provider."""

    sub: str = field(default_factory=lambda: secrets.token_hex(8))
    email: str | None = field(default_factory=lambda: f"{secrets.token_hex(8)}@example.org")
    email_verified: bool = True
    name: str = "Ada Lovelace"
    more: dict[str, Any] = field(default_factory=dict)

    def claims(self) -> dict[str, Any]:
        """Return what the provider tells of him."""
        address = {} if self.email is None else {"email": self.email, "email_verified": self.email_verified}
        return {"sub": self.sub, "name": self.name, **address, **self.more}


@dataclass
class _Code:
    person: Person
    query: dict[str, str]


@dataclass
class OidcProvider:
    """The realm and all that happened in it."""

    url: str = ""
    person: Person = field(default_factory=Person)
    faults: set[str] = field(default_factory=set)
    """denies, fails_token, fails_user, broken_token, no_iss, wrong_iss, form_post, ignores_pkce"""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The query of each visit."""
    exchanged: list[dict[str, str]] = field(default_factory=list)
    """The form of each request for tokens."""
    access_token: str = field(default_factory=lambda: f"access-{secrets.token_hex(16)}")
    refresh_token: str = field(default_factory=lambda: f"refresh-{secrets.token_hex(16)}")
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one", "use": "sig"}))
    gate: asyncio.Event | None = None
    """What requests for tokens wait for."""
    _codes: dict[str, _Code] = field(default_factory=dict)
    _tokens: dict[str, Person] = field(default_factory=dict)

    def who(self, hint: str | None) -> Person:
        """Return who is signed in at the moment; `hint` is the `login_hint` of a visit."""
        return self.person

    def access_token_of(self, person: Person) -> str:
        """Return the token that opens what is known of a person."""
        return self.access_token

    def application(self) -> web.Application:
        """Return what is served."""
        made = web.Application()
        made.add_routes(
            [
                web.get(f"{REALM}/.well-known/openid-configuration", self._discovery),
                web.get(f"{_OPENID}/auth", self._authorize),
                web.post(f"{_OPENID}/token", self._token),
                web.get(f"{_OPENID}/userinfo", self._userinfo),
                web.get(f"{_OPENID}/certs", self._keys),
            ]
        )
        return made

    async def _discovery(self, request: web.Request) -> web.Response:
        base = self.url.removesuffix(REALM) + _OPENID
        return web.json_response(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{base}/auth",
                "token_endpoint": f"{base}/token",
                "userinfo_endpoint": f"{base}/userinfo",
                "jwks_uri": f"{base}/certs",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def _keys(self, request: web.Request) -> web.Response:
        return web.json_response({"keys": [self.key.as_dict(private=False)]})

    async def _authorize(self, request: web.Request) -> web.StreamResponse:
        query = dict(request.query)
        self.asked.append(query)
        if query.get("client_id") != CLIENT_ID or query.get("response_type") != "code":
            raise web.HTTPBadRequest(text="unknown client")
        fields = {"state": query.get("state", "")}
        if "no_iss" not in self.faults:
            fields["iss"] = "https://elsewhere.example" if "wrong_iss" in self.faults else self.url
        if "denies" in self.faults:
            fields |= {"error": "access_denied", "error_description": "The user said <no> & left"}
        else:
            fields["code"] = code = secrets.token_urlsafe(16)
            self._codes[code] = _Code(self.who(query.get("login_hint")), query)
        if "form_post" in self.faults:
            return web.Response(text=urlencode(fields), content_type="application/x-www-form-urlencoded")
        raise web.HTTPFound(f"{query['redirect_uri']}?{urlencode(fields)}")

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.exchanged.append(form)
        if self.gate is not None:
            await self.gate.wait()
        if "fails_token" in self.faults:
            return web.Response(status=500, text="out of order")
        if "broken_token" in self.faults:
            return web.json_response({"token_type": "bearer"})
        if not self._is_client(request, form):
            return web.json_response({"error": "invalid_client"}, status=401)
        code = self._codes.pop(form.get("code", ""), None)
        if code is None or code.query.get("redirect_uri") != form.get("redirect_uri"):
            return _invalid_grant("Code not valid")
        if "ignores_pkce" not in self.faults and not _is_verified(code.query, form):
            return _invalid_grant("PKCE verification failed")
        access_token = self.access_token_of(code.person)
        self._tokens[access_token] = code.person
        return web.json_response(
            {
                "access_token": access_token,
                "refresh_token": self.refresh_token,
                "token_type": "Bearer",
                "expires_in": 300,
                "id_token": self.id_token(code.person, access_token, nonce=code.query.get("nonce")),
            }
        )

    async def _userinfo(self, request: web.Request) -> web.Response:
        person = self._tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if person is None or "fails_user" in self.faults:
            return web.json_response({"error": "invalid_token"}, status=401)
        return web.json_response(person.claims())

    def id_token(self, person: Person, access_token: str, **more: object) -> str:
        """Sign what the provider knows of a person."""
        half = hashlib.sha256(access_token.encode()).digest()[:16]
        now = int(time.time())
        claims = {
            "iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "at_hash": _base64url(half),
            **person.claims(), **{name: value for name, value in more.items() if value is not None},
        }  # fmt: skip
        return jwt.encode({"alg": "ES256", "kid": "one"}, claims, self.key)

    @staticmethod
    def _is_client(request: web.Request, form: dict[str, str]) -> bool:
        given = request.headers.get("authorization")
        if given:
            basic = BasicAuth.decode(given)
            return (basic.login, basic.password) == (CLIENT_ID, CLIENT_SECRET)
        return (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)


@asynccontextmanager
async def running(made: OidcProvider | None = None) -> AsyncIterator[OidcProvider]:
    """Serve a provider on a free port of this machine."""
    provider = made or OidcProvider()
    runner = web.AppRunner(provider.application(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        provider.url = f"http://127.0.0.1:{port}{REALM}"
        yield provider
    finally:
        await runner.cleanup()


def _is_verified(query: dict[str, str], form: dict[str, str]) -> bool:
    challenge = query.get("code_challenge")
    if challenge is None:
        return "code_verifier" not in form
    made = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    return query.get("code_challenge_method") == "S256" and _base64url(made) == challenge


def _invalid_grant(words: str) -> web.Response:
    return web.json_response({"error": "invalid_grant", "error_description": words}, status=400)


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
