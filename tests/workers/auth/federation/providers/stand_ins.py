"""Services of the network, spoken to over HTTP: one loopback server that answers for each at its true address.

`Rerouted` takes requests to `https://host/path` to `http://127.0.0.1:port/https/host/path`; those that may reach public
addresses only are left as they are. What a service is asked it keeps, and answers like the true one, strictly: a token
endpoint refuses a client, a code, a callback or a verifier that is not the one it knows.
"""

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlsplit

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from workers.http_client.client import FetchedResponse, HttpClient

CLIENT, SECRET, CODE = "client-1", "s3cret/+", "code-1"
CALLBACK = "https://house.example.com/auth/v1/callback"
VERIFIER = "a-verifier-of-43-signs-or-more-0123456789-abcdef"
RSA = RSAKey.generate_key(2048, {"kid": "rsa-1", "use": "sig"}, private=True)
EC = ECKey.generate_key("P-256", {"kid": "ec-1", "use": "sig", "alg": "ES256"}, private=True)


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as it arrived."""

    method: str
    url: str
    query: dict[str, str]
    headers: Mapping[str, str]
    form: dict[str, str]


@dataclass
class Network:
    """All services of a test, by method and address."""

    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What is answered: a JSON value, a `web.Response`, or a function of `ReceivedRequest` that gives one of them."""
    seen: list[ReceivedRequest] = field(default_factory=list)
    base: str = ""
    _runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{scheme}/{rest:.*}", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]  # it listens

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def asked(self, url: str) -> list[ReceivedRequest]:
        """Return the requests to an address."""
        return [each for each in self.seen if each.url == url]

    def publish(self, place: str, /, *keys: RSAKey | ECKey, **more: object) -> None:
        """Let an issuer describe itself, and publish its public keys."""
        jwks = f"{place}/keys"
        shown = {
            "issuer": place,
            "authorization_endpoint": f"{place}/authorize",
            "token_endpoint": f"{place}/token",
        }
        self.answers["GET", f"{place}/.well-known/openid-configuration"] = {
            **shown,
            "jwks_uri": jwks,
            **more,
        }
        self.answers["GET", jwks] = key_set(*keys)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        url = f"{request.match_info['scheme']}://{request.match_info['rest']}"
        form = dict(parse_qsl(await request.text(), keep_blank_values=True))
        headers = {name.lower(): value for name, value in request.headers.items()}
        told = ReceivedRequest(request.method, url, dict(request.query), headers, form)
        self.seen.append(told)
        answer = self.answers.get((request.method, url))
        if answer is None:
            return web.json_response({"error": "not_found"}, status=404)
        found = answer(told) if callable(answer) else answer
        return found if isinstance(found, web.Response) else web.json_response(found)


class Rerouted(HttpClient):
    """Reaches a `Network` at the addresses of the true services."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._network = network

    async def fetch(
        self, method: str, url: str, *, only_public: bool = False, **more: Any
    ) -> FetchedResponse:
        if not only_public:
            parts = urlsplit(url)
            query = f"?{parts.query}" if parts.query else ""
            url = f"{self._network.base}/{parts.scheme}/{parts.netloc}{parts.path}{query}"
        return await super().fetch(method, url, only_public=only_public, **more)


@dataclass(frozen=True)
class TokenEndpoint:
    """A token endpoint that gives `answer` for the one code that it knows."""

    answer: Mapping[str, object]
    login: str = "body"
    challenge: str = ""
    """S256 challenge that the verifier must meet; empty if none was sent."""
    client: str = CLIENT
    secret: str = SECRET
    callback: str = CALLBACK

    def __call__(self, told: ReceivedRequest) -> web.Response:
        form = dict(told.form)
        if self.login == "basic":
            pair = f"{quote_plus(self.client)}:{quote_plus(self.secret)}".encode()
            is_client = told.headers.get("authorization") == f"Basic {base64.b64encode(pair).decode()}"
            is_client = is_client and "client_secret" not in form
        else:
            is_client = (form.pop("client_id", ""), form.pop("client_secret", "")) == (
                self.client,
                self.secret,
            )
            is_client = is_client and "authorization" not in told.headers
        if not is_client:
            return web.json_response(
                {"error": "invalid_client", "error_description": "who are you"}, status=401
            )
        verifier = form.pop("code_verifier", "")
        wanted = {"grant_type": "authorization_code", "code": CODE, "redirect_uri": self.callback}
        if form != wanted or (challenge_of(verifier) if verifier else "") != self.challenge:
            return web.json_response(
                {"error": "invalid_grant", "error_description": "no such code"}, status=400
            )
        return web.json_response(self.answer)


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def key_set(*keys: RSAKey | ECKey) -> dict[str, object]:
    return {"keys": [each.as_dict(private=False) for each in keys]}


def signed(claims: Mapping[str, object], key: RSAKey | ECKey = RSA, **header: object) -> str:
    """Sign an ID token for our client, valid now unless the claims say otherwise; a claim that is None is left out."""
    now = int(time.time())
    whole = {"aud": CLIENT, "iat": now, "exp": now + 3600, **claims}
    algorithm = "RS256" if isinstance(key, RSAKey) else "ES256"
    head = {"alg": algorithm, "typ": "JWT", "kid": key.kid, **header}
    given = {name: value for name, value in whole.items() if value is not None}
    return jwt.encode(
        {k: v for k, v in head.items() if v is not None}, given, key, algorithms=[str(head["alg"])]
    )


def by_hand(header: Mapping[str, object], claims: Mapping[str, object], signature: bytes = b"") -> str:
    """Write a token as an attacker would."""
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)
