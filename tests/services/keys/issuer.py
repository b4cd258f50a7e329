"""A foreign issuer on loopback: a discovery document, a key set, real signatures. It counts what it is asked."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/keys"


@dataclass(frozen=True)
class SigningPair:
    """A key pair: what signs, and the JWK that everybody may see."""

    id: str
    private: Any
    algorithm: str

    @property
    def public(self) -> dict[str, Any]:
        kind: Any = RSAAlgorithm if self.algorithm.startswith("RS") else ECAlgorithm
        made = kind.to_jwk(self.private.public_key(), as_dict=True)
        return {**made, "kid": self.id, "alg": self.algorithm, "use": "sig"}

    def token(self, **claims: Any) -> str:
        whole = {"exp": int(time.time()) + 600, "role": "authenticated", **claims}
        return jwt.encode(whole, self.private, algorithm=self.algorithm, headers={"kid": self.id})


def pair(id: str, algorithm: str = "ES256") -> SigningPair:
    """Make a key pair."""
    private: Any = (
        rsa.generate_private_key(65537, 2048)
        if algorithm.startswith("RS")
        else ec.generate_private_key(ec.SECP256R1())
    )
    return SigningPair(id, private, algorithm)


@dataclass
class Issuer:
    """The issuer, what it publishes, and what was asked of it."""

    url: str = ""
    key: SigningPair = field(default_factory=lambda: pair("one"))
    documents: dict[str, Any] = field(default_factory=dict)
    """What stands at a path: bytes, an object as JSON, or a response of its own."""
    asked: Counter[str] = field(default_factory=Counter)
    gate: asyncio.Event | None = None
    """What answers wait for."""

    def publish(self, *keys: dict[str, Any]) -> None:
        self.documents[KEYS] = {"keys": list(keys or (self.key.public,))}

    def discover(self, **more: Any) -> None:
        self.documents[DISCOVERY] = {"issuer": self.url, "jwks_uri": self.url + KEYS, **more}

    def token(self, **claims: Any) -> str:
        return self.key.token(**{"iss": self.url, "sub": "foreign-user", **claims})

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked[request.path] += 1
        if self.gate is not None:
            await self.gate.wait()
        found = self.documents.get(request.path)
        if found is None:
            return web.Response(status=404)
        if callable(found):
            made: web.StreamResponse = found(request)
            return made
        return web.Response(body=found if isinstance(found, bytes) else json.dumps(found).encode())


@asynccontextmanager
async def running_issuer() -> AsyncIterator[Issuer]:
    """Start an issuer on a free port."""
    one = Issuer()
    runner = web.ServerRunner(web.Server(one.answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    one.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    one.publish()
    one.discover()
    try:
        yield one
    finally:
        if one.gate is not None:
            one.gate.set()
        await runner.cleanup()
