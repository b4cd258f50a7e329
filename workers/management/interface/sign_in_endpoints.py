"""Sessions of administrators over HTTP. Each answer to a sign-in leaves an audit row, of failures too.

    POST /sign-in                  {"email", "password"}, {"link"} or {"passkey"} -> a session in a cookie
    POST /sign-in/passkey-options  what a page needs to use a passkey; with a session, one of its administrator
    POST /sign-in/factor           {"code"}, {"recovery_code"} or {"passkey"}: the second factor -> a new cookie
    POST /confirm                  {"password"}, {"code"} or {"passkey"}: verifies the administrator again
    POST /sign-out                 ends the session
    POST /session                  whether there is one: a page that asks gets no error without it

A failure beyond the limits (429) leaves no row: rows are as bounded as guesses.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec import Struct

from schemas.http import SERVER_ORIGIN, Request, Response, header
from schemas.keys.secret_record import SecretRecord
from workers.management.interface.audit import write_event
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.errors import ManagementError, invalid_arguments, not_signed_in
from workers.management.interface.identity import attempts, passkeys
from workers.management.interface.identity.authenticate import authenticate, check_origin, session_cookie
from workers.management.interface.identity.model import Actor
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.passkeys import PasskeyAnswer, party_of
from workers.management.interface.identity.secrets import FactorSecrets, PasswordHashing
from workers.management.interface.identity.sign_in import (
    ClientOrigin,
    SecondFactor,
    StartedSession,
    confirm_password,
    give_factor,
    prove,
    sign_in_by_link,
    sign_in_by_passkey,
    sign_in_by_password,
)
from workers.management.interface.identity.store import execute
from workers.management.interface.respond import cookie_header, json_response

T = TypeVar("T", bound=Struct)


class SignInBody(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True):
    """Body of a sign-in: address and password, the secret of a link, or the answer of a passkey."""

    email: str = ""
    password: str = ""
    link: str = ""
    passkey: PasskeyAnswer | None = None


class FactorBody(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True):
    """Body of a second factor: exactly one of the fields."""

    code: str = ""
    recovery_code: str = ""
    passkey: PasskeyAnswer | None = None


class ConfirmBody(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True):
    """Body of a confirmation: exactly one of the fields."""

    password: str = ""
    code: str = ""
    passkey: PasskeyAnswer | None = None


class SignedInAnswer(Struct, frozen=True):
    """Whose session it is. Unless `factors` is empty, one of them must be given before the session is of use."""

    administrator_id: str
    needs_factor: bool
    factors: list[str]


class SessionState(Struct, frozen=True):
    """Whether the cookie is of a session, and whether this lacks its second factor."""

    is_signed_in: bool
    needs_factor: bool = False


@dataclass
class _Event:
    """What the audit row of a sign-in says; filled while it is decided."""

    actor: str
    administrator_id: str | None = None
    details: dict[str, object] = field(default_factory=dict)


SIGN_IN_PATHS = frozenset(
    {"/sign-in", "/sign-in/passkey-options", "/sign-in/factor", "/confirm", "/sign-out", "/session"}
)


@dataclass(slots=True)
class SignInEndpoints:
    """Answers requests at `SIGN_IN_PATHS`."""

    database: ManagementDatabase
    hashing: PasswordHashing
    keys: FactorSecrets
    session_idle_s: float

    async def answer(self, request: Request, body: bytes) -> Response:
        """Answer a POST request. Raises: ManagementError, DatabaseError, Disconnected, PoolTimeout."""
        match request.path:
            case "/sign-in":
                return await self._sign_in(request, body)
            case "/sign-in/passkey-options":
                return await self._passkey_options(request)
            case "/sign-in/factor":
                return await self._give_factor(request, body)
            case "/confirm":
                return await self._confirm(request, body)
            case "/session":
                return await self._session_state(request)
        return await self._sign_out(request)

    async def _sign_in(self, request: Request, body: bytes) -> Response:
        if header(request.headers, "origin") is not None:
            check_origin(request)
        sent, client = _decode(body, SignInBody), _client_origin(request)
        pool = await self.database.own()
        method = "passkey" if sent.passkey is not None else "link" if sent.link else "password"
        # People type passwords into the wrong field: only what looks like an address is stored.
        typed = sent.email.strip() if "@" in sent.email else ""
        event = _Event(typed or f"({method})", details=_details(method, client))
        async with _recorded(pool, request, "sign_in", event):
            if sent.passkey is not None:
                session = await sign_in_by_passkey(pool, sent.passkey, client)
            elif sent.link:
                session = await sign_in_by_link(pool, sent.link, client)
            else:
                session = await sign_in_by_password(pool, self.hashing, sent.email, sent.password, client)
            event.actor, event.administrator_id = session.email, session.administrator_id
            event.details["needs_factor"] = bool(session.factors)
        return _signed_in(request, session)

    async def _passkey_options(self, request: Request) -> Response:
        pool, client = await self.database.own(), _client_origin(request)
        try:
            administrator_id = (await self._session(request, allows_missing_factor=True)).administrator_id
        except ManagementError as error:
            if error.status != 401:
                raise
            administrator_id = None
            await attempts.count_challenge(pool, client.address)
        return json_response(
            await passkeys.authentication_options(pool, party_of(client.origin), administrator_id)
        )

    async def _give_factor(self, request: Request, body: bytes) -> Response:
        actor = await self._session(request, allows_missing_factor=True)
        sent, client, pool = _decode(body, FactorBody), _client_origin(request), await self.database.own()
        _require_one(sent.code, sent.recovery_code, sent.passkey)
        factor = SecondFactor(sent.code, sent.recovery_code, sent.passkey)
        event = _Event(actor.name, actor.administrator_id, _details(factor.method, client))
        async with _recorded(pool, request, "sign_in.factor", event):
            session = await give_factor(pool, self.keys, actor, factor, client)
        return _signed_in(request, session)

    async def _confirm(self, request: Request, body: bytes) -> Response:
        actor = await self._session(request)
        sent, client, pool = _decode(body, ConfirmBody), _client_origin(request), await self.database.own()
        _require_one(sent.password, sent.code, sent.passkey)
        factor = SecondFactor(sent.code, "", sent.passkey)
        method = "password" if sent.password else factor.method
        event = _Event(actor.name, actor.administrator_id, _details(method, client))
        async with _recorded(pool, request, "confirm", event):
            if sent.password:
                await confirm_password(pool, self.hashing, actor, sent.password, client)
            else:
                await prove(pool, self.keys, actor.administrator_id or "", factor, client)
            await execute(pool, "confirm_session", actor.session_id)
        return json_response({"done": True})

    async def _sign_out(self, request: Request) -> Response:
        pool = await self.database.own()
        actor = await authenticate(pool, request, self.session_idle_s, allows_missing_factor=True)
        if actor.session_id is not None:
            event = _Event(actor.name, actor.administrator_id)
            async with _recorded(pool, request, "sign_out", event):
                await execute(pool, "end_session", actor.session_id, actor.administrator_id)
        return json_response({"done": True}, [_cookie(request, None)])

    async def _session_state(self, request: Request) -> Response:
        try:
            actor = await self._session(request, allows_missing_factor=True)
        except ManagementError as error:
            if error.status != 401:
                raise
            return json_response(SessionState(False))
        return json_response(SessionState(True, actor.needs_factor))

    async def _session(self, request: Request, *, allows_missing_factor: bool = False) -> Actor:
        """Return the administrator of a session. Raises: ManagementError (401, 403), for tokens too."""
        actor = await authenticate(
            await self.database.own(),
            request,
            self.session_idle_s,
            allows_missing_factor=allows_missing_factor,
        )
        if actor.session_id is None:
            raise not_signed_in()
        return actor


@asynccontextmanager
async def _recorded(pool: OwnPool, request: Request, name: str, event: _Event) -> AsyncIterator[None]:
    """Store the audit row of what the block does: `done`, or the code of its error unless that is 429."""
    outcome = "failed"
    try:
        yield
        outcome = "done"
    except ManagementError as error:
        outcome = error.code
        raise
    finally:
        if outcome != "too_many_attempts":
            await write_event(
                pool,
                name,
                outcome,
                actor=event.actor,
                administrator_id=event.administrator_id,
                request_id=request.id,
                address=request.client,
                details=event.details,
            )


def _signed_in(request: Request, session: StartedSession) -> Response:
    body = SignedInAnswer(session.administrator_id, bool(session.factors), session.factors)
    return json_response(body, [_cookie(request, session)])


def _details(method: str, client: ClientOrigin) -> dict[str, object]:
    agent = client.user_agent.encode(errors="replace").decode()[:200]
    return {"method": method, "user_agent": agent}


def _require_one(*proofs: object) -> None:
    if sum(bool(proof) for proof in proofs) != 1:
        raise invalid_arguments("Send exactly one proof: a password or a code, or the answer of a passkey")


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise invalid_arguments(f"The body: {error}") from None


def _client_origin(request: Request) -> ClientOrigin:
    return ClientOrigin(
        request.client,
        header(request.headers, "user-agent") or "",
        header(request.headers, SERVER_ORIGIN) or "",
        session_cookie(request),
    )


def _cookie(request: Request, session: StartedSession | None) -> tuple[str, str]:
    is_secure = (header(request.headers, SERVER_ORIGIN) or "").startswith("https:")
    return cookie_header("" if session is None else session.secret, is_secure=is_secure)
