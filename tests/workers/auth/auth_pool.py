"""An accounts worker on a bootstrapped database, a clock that tests can move, and requests to it."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import msgspec

from schemas.caller import AnonymousCaller, Caller, ServiceCaller
from schemas.http import Headers, Request, Response, header
from schemas.keys.tokens import Verifier, read_keys
from schemas.settings.tree import Settings
from tests.workers.database.server import connected
from tests.workers.rest.bodies import Inline
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.build import build_context
from workers.auth.http.context import EndpointContext
from workers.auth.pool import LOGIN
from workers.auth.worker import AuthWorker
from workers.credentials.password_hashes import Cost, Verdict
from workers.database.connection_pool.pool import ConnectionPool
from workers.http_client.client import HttpClient

PASSWORD = "correct horse"
ANYBODY = AnonymousCaller()
CHEAP = Cost(memory_kib=64, passes=1)
Y2024 = "2024-01-01"
OPEN = {"email__double_confirm_changes": False, "sms__enable_signup": True, "enable_anonymous_sign_ins": True}
"""Settings under which every way in that is built is open."""
UNLIMITED = dict.fromkeys(
    (
        "rate_limit__token_refresh",
        "rate_limit__sign_in_sign_ups",
        "rate_limit__anonymous_users",
        "rate_limit__token_verifications",
    ),
    0.0,
)
"""All tests come from one address."""


class CountingHashing(Hashing):
    """Counts the work of hashing."""

    made = 0
    verified = 0

    async def hash(self, password: str) -> str:
        self.made += 1
        return await super().hash(password)

    async def verify(self, password: str, stored: str | None) -> Verdict:
        self.verified += 1
        return await super().verify(password, stored)


@dataclass
class Clock:
    """The present time, moved by as many seconds as a test wants."""

    ahead_s: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s

    def forward(self, **span: float) -> None:
        """Let time pass, in the units of `timedelta`."""
        units = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
        self.ahead_s += sum(units[unit] * number for unit, number in span.items())


@dataclass(frozen=True)
class SignedInUser:
    """A user who is signed in: the session as the endpoint answered it."""

    body: dict[str, Any]
    caller: Caller

    @property
    def id(self) -> str:
        return str(self.body["user"]["id"])

    @property
    def email(self) -> str:
        return str(self.body["user"]["email"])

    @property
    def refresh_token(self) -> str:
        return str(self.body["refresh_token"])

    @property
    def session_id(self) -> str:
        return str(claims_of(self.caller)["session_id"])


@dataclass
class AuthPool:
    """A worker with what it works on; `send` answers one request."""

    context: EndpointContext
    admin: asyncpg.Connection
    """A connection of the superuser, for what no request returns."""
    clock: Clock = field(default_factory=Clock)
    cookies: dict[str, str] = field(default_factory=dict)
    """What the browser of the test has been given; a request that names its own cookies is another browser's."""

    def having(self, **changes: object) -> "AuthPool":
        """Return the same with other settings; `sessions__timebox` is the key `timebox` of section `sessions`."""
        context = self.context
        settings = reduce(_changed, changes.items(), context.settings)
        counting = CountingHashing(CHEAP, threads=2, queue=256)
        made = build_context(
            settings,
            context.database,
            counting,
            context.outgoing,
            transport=context.outbox.transport,
            sms=context.outbox.sms,
            clock=self.clock,
        )
        made = replace(made, key=context.key, clock=self.clock)
        return AuthPool(made, self.admin, self.clock, self.cookies)

    @property
    def hashing(self) -> CountingHashing:
        found = self.context.hashing
        assert isinstance(found, CountingHashing)
        return found

    async def send(
        self,
        method: str,
        target: str,
        body: object = None,
        caller: Caller = ANYBODY,
        *,
        client: str = "192.0.2.7",
        **headers: str,
    ) -> Response:
        path, _, query = target.partition("?")
        sent: Headers = [(name.replace("_", "-"), value) for name, value in headers.items()]
        if self.cookies and "cookie" not in headers:
            sent.append(("cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items())))
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = Request("req-1", method, path, query, sent, caller, body=data, client=client)
        response = await AuthWorker(self.context).answer(request, Inline(data))  # type: ignore[arg-type]  # as Body is read
        for name, value in response.headers:
            if name == "set-cookie":
                key, _, text = value.partition(";")[0].partition("=")
                self.cookies[key] = text
        return response

    async def go_on(self, url: str) -> str:
        """Open the address that a program was given for a browser, and give where that is sent."""
        target = url[url.index("/authorize/continue") :]
        response = await self.send("GET", target)
        assert response.status == 302, response
        return told(response, "location")

    async def ok(self, method: str, target: str, body: object = None, caller: Caller = ANYBODY) -> Any:
        """Send a request that must succeed, and give the body of its answer."""
        response = await self.send(method, target, body, caller)
        assert response.status in (200, 204), response
        return json.loads(response.body) if response.body else None

    async def refused(
        self,
        method: str,
        target: str,
        body: object = None,
        caller: Caller = ANYBODY,
        **headers: str,
    ) -> tuple[int, str, str]:
        """Send a request that must be refused, and give the status, the code and the message."""
        told = {"x_supabase_api_version": Y2024, **headers}
        response = await self.send(method, target, body, caller, **told)
        shown = json.loads(response.body)
        assert response.status >= 400, response
        return response.status, shown["code"], shown["message"]

    async def sign_up(self, email: str | None = None, **more: object) -> SignedInUser:
        """Sign a new user up."""
        body = {"email": email or address(), "password": PASSWORD, **more}
        return self.signed(await self.ok("POST", "/signup", body))

    async def sign_in(self, email: str, password: str = PASSWORD) -> SignedInUser:
        body = {"email": email, "password": password}
        return self.signed(await self.ok("POST", "/token?grant_type=password", body))

    async def refresh(self, token: str) -> SignedInUser:
        return self.signed(await self.ok("POST", "/token?grant_type=refresh_token", {"refresh_token": token}))

    async def refresh_refused(self, token: str) -> tuple[int, str, str]:
        return await self.refused("POST", "/token?grant_type=refresh_token", {"refresh_token": token})

    def signed(self, body: dict[str, Any]) -> SignedInUser:
        """Read a session as a client does: its access token is verified as the gateway does."""
        verifier = Verifier(read_keys(self.context.settings.jwt_secret.reveal()))
        caller = verifier.verify(body["access_token"], self.clock())
        claims_of(caller)
        return SignedInUser(body, caller)

    async def value(self, sql: str, *arguments: object) -> Any:
        return await self.admin.fetchval(sql, *arguments)

    async def sessions_of(self, id: str) -> set[str]:
        rows = await self.admin.fetch("select id::text from auth.sessions where user_id = $1", uuid.UUID(id))
        return {row["id"] for row in rows}


@asynccontextmanager
async def open_auth_pool(database_url: str) -> AsyncIterator[AuthPool]:
    """Return a worker with default settings, a pool of its own, on a database that has the accounts."""
    settings = Settings()
    pool = await ConnectionPool.open(at_role(database_url, LOGIN, settings.db.password.reveal()), 8)
    outgoing = HttpClient()
    hashing = CountingHashing(CHEAP, threads=2, queue=256)
    async with connected(database_url) as admin:
        yield AuthPool(build_context(settings.auth, pool, hashing, outgoing), admin)
    hashing.close()
    await outgoing.close()
    await asyncio.wait_for(pool.close(), 60)


ADMIN: Caller = ServiceCaller()


def claims_of(caller: Caller) -> dict[str, Any]:
    decoded: dict[str, Any] = caller.decoded()  # type: ignore[union-attr]  # fails the test if the token was refused
    return decoded


def address() -> str:
    """Return an address that no user has."""
    return f"{uuid.uuid4().hex}@example.org"


def number() -> str:
    """Return a phone number that no user has, as it is stored."""
    return f"49{uuid.uuid4().int % 10**11:011}"


def told(response: Response, name: str) -> str:
    """Return a header of an answer, empty without it."""
    return header(response.headers, name) or ""


def at_role(url: str, role: str, password: str) -> str:
    """Return an address of the database with another login."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{role}:{password}@{place}").geturl()


def _changed(settings: Any, change: tuple[str, object]) -> Any:
    name, value = change
    section, _, rest = name.partition("__")
    if rest:
        value = _changed(getattr(settings, section), (rest, value))
    return msgspec.structs.replace(settings, **{section: value})
