"""People for the tests of the accounts, who call the Python client in its two forms in one way."""

import contextlib
import inspect
import json
import time
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import jwt
from supabase_auth.errors import AuthError

from tests.conformance.callers import Caller, connect
from tests.platform import Platform

PASSWORD = "over the river"
OTHER = "beyond the hills"


async def done(call: Any) -> Any:
    """Give what a call of either form gives."""
    return await call if inspect.isawaitable(call) else call


def address(name: str = "person") -> str:
    """Give an address that nobody has."""
    return f"{name}-{uuid4()}@example.com"


def claims_of(token: str) -> dict[str, Any]:
    """Read what a token says, unverified."""
    payload = token.split(".")[1]
    return dict(json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody signed in: the client, the address, and the answer to the sign-in (types of the client)."""

    caller: Caller
    email: str
    user: Any
    session: Any

    @property
    def auth(self) -> Any:
        """The accounts, as this person's client reaches them."""
        return self.caller.client.auth


@dataclass(frozen=True, slots=True)
class People:
    """Makes clients of one form, all of them over one HTTP session."""

    kind: str
    platform: Platform
    session: Any = field(repr=False)

    async def visitor(self, key: str = "ANON_KEY", **options: Any) -> Caller:
        """Give a client that nobody has signed in with yet."""
        own = {"httpx_client": self.session, "auto_refresh_token": False, **options}
        return await connect(self.kind, self.platform.url, self.platform.values[key], **own)

    async def auth(self, **options: Any) -> Any:
        """Give the accounts, as such a client reaches them."""
        return (await self.visitor(**options)).client.auth

    async def signed_up(self, data: dict[str, object] | None = None) -> Person:
        """Sign a new person up."""
        caller, email = await self.visitor(), address()
        asked = {"email": email, "password": PASSWORD, "options": {"data": data or {}}}
        answer = await done(caller.client.auth.sign_up(asked))
        return Person(caller, email, answer.user, answer.session)

    async def signed_in(self, email: str, password: str = PASSWORD) -> Person:
        """Sign a person in from one more device."""
        caller = await self.visitor()
        answer = await done(caller.client.auth.sign_in_with_password({"email": email, "password": password}))
        return Person(caller, email, answer.user, answer.session)

    async def member(self, **attributes: object) -> Person:
        """Sign a person in whose account a server made, with the address confirmed."""
        admin, email = await admin_of(self), address()
        made = {"email": email, "password": PASSWORD, "email_confirm": True, **attributes}
        await done(admin.create_user(made))
        return await self.signed_in(email)

    async def is_alive(self, person: Person) -> bool:
        """Tell whether the service still knows a person's session."""
        auth = (await self.visitor()).client.auth
        try:
            return (await done(auth.get_user(person.session.access_token))) is not None
        except AuthError:
            return False

    def expired(self, token: str) -> str:
        """Give the same token as one that has expired, signed as the platform does."""
        claims = {**claims_of(token), "exp": int(time.time()) - 60}
        return jwt.encode(claims, self.platform.values["JWT_SECRET"], algorithm="HS256")


async def admin_of(people: People) -> Any:
    """Give the accounts in the hands of a server."""
    return (await people.visitor("SERVICE_ROLE_KEY")).client.auth.admin


async def refusal(call: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
    """Call what must be refused, and give the error as plain data."""
    try:
        answer = await done(call(*arguments, **options))
    except AuthError as error:
        told = {"name": error.name, "code": error.code, "message": error.message}
        return told | {name: getattr(error, name) for name in ("status", "reasons") if hasattr(error, name)}
    raise AssertionError(f"no error, but {answer}")


def refused(status: int, code: str | None, message: str) -> dict[str, Any]:
    """Give what the client shows of a refusal by the service."""
    return {"name": "AuthApiError", "status": status, "code": code, "message": message}


INVALID = refused(400, "invalid_credentials", "Invalid login credentials")
NOT_ADMIN = refused(403, "not_admin", "User not allowed")


@contextlib.asynccontextmanager
async def http_session(kind: str) -> AsyncIterator[httpx.Client | httpx.AsyncClient]:
    """Give an HTTP session for clients of a form."""
    if kind == "sync":
        with httpx.Client() as one:
            yield one
    else:
        async with httpx.AsyncClient() as other:
            yield other
