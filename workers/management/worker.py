"""Answers requests of administrators: sign-in, sign-out, the description of the interface, and operations.

    POST /sign-in              {"email", "password"} or {"link"} -> a session in a cookie
    POST /confirm              {"password"}: proves the password again
    POST /sign-out             ends the session
    POST /operations/<name>    the arguments as JSON -> the result as JSON
    GET  /openapi.json         all operations as OpenAPI 3.1

Steps of an operation: authenticate, find, check the rights, decode the arguments, run, write the audit row, answer.
"""

import asyncio
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec import Struct

from broker.observability.observe import observe
from broker.requests.handler import RequestBody
from schemas.database_logins import MANAGEMENT, login_passwords
from schemas.errors import ApiError
from schemas.http import SERVER_ORIGIN, Request, Response, header
from schemas.settings.tree import Settings
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.management.audit import write_audit
from workers.management.database import ManagementDatabase
from workers.management.errors import (
    ManagementError,
    SqlRejected,
    invalid_arguments,
    not_found,
    not_signed_in,
)
from workers.management.identity.authenticate import authenticate, check_origin
from workers.management.identity.model import Actor
from workers.management.identity.secrets import PasswordHashing
from workers.management.identity.sign_in import (
    ClientOrigin,
    StartedSession,
    confirm,
    sign_in_by_link,
    sign_in_by_password,
)
from workers.management.identity.store import execute
from workers.management.observations import ManagementOperationFailed
from workers.management.openapi import openapi_document
from workers.management.operation import (
    ManagementSettings,
    Operation,
    OperationContext,
    OperationTable,
    audited_arguments,
    operation_settings,
)
from workers.management.operations import operation_table
from workers.management.platform_pools import PlatformPools
from workers.management.respond import cookie_header, json_response

MAX_BODY_BYTES = 1024 * 1024
_OPERATIONS = "/operations/"
T = TypeVar("T", bound=Struct)


class SignInBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of a sign-in: address and password, or the secret of a link."""

    email: str = ""
    password: str = ""
    link: str = ""


class ConfirmBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of a confirmation."""

    password: str


@dataclass(slots=True)
class ManagementWorker:
    """Answers requests; `answer` is the handler of the pool."""

    database: ManagementDatabase
    settings: ManagementSettings
    operations: OperationTable
    hashing: PasswordHashing
    configuration: Settings
    pools: PlatformPools

    @classmethod
    def create(
        cls, database: ManagementDatabase, configuration: Settings, pools: PlatformPools
    ) -> "ManagementWorker":
        """Return a worker with all operations."""
        hashing = PasswordHashing(login_passwords(configuration)[MANAGEMENT])
        limits = operation_settings(configuration.management)
        return cls(database, limits, operation_table(), hashing, configuration, pools)

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one request. Raises: ManagementError, which is sent as an answer too; anything else is a defect."""
        try:
            return await self._route(request, await body.read(MAX_BODY_BYTES))
        except DatabaseError as error:
            raise SqlRejected(error) from None
        except Disconnected:
            raise _unavailable("The database does not answer") from None
        except PoolBusy as error:
            raise _unavailable(str(error), error.retry_after_s) from None
        except PoolTimeout as error:
            raise ManagementError(504, "timeout", str(error)) from None

    async def _route(self, request: Request, body: bytes) -> Response:
        path, method = request.path, request.method
        if path.startswith(_OPERATIONS):
            _check_method(method, "POST")
            actor = await self._actor(request)
            name = path.removeprefix(_OPERATIONS)
            return json_response(await self.operate(actor, name, body, request.id, request.client))
        match path:
            case "/sign-in":
                _check_method(method, "POST")
                return await self._sign_in(request, body)
            case "/confirm":
                _check_method(method, "POST")
                return await self._confirm(request, body)
            case "/sign-out":
                _check_method(method, "POST")
                return await self._sign_out(request)
            case "/openapi.json":
                _check_method(method, "GET")
                return json_response(openapi_document(self.operations.all()))
        raise not_found(f"path {path} below /management/v1")

    async def _sign_in(self, request: Request, body: bytes) -> Response:
        if header(request.headers, "origin") is not None:
            check_origin(request)
        sent = _decode(body, SignInBody)
        client = _client_origin(request)
        pool = await self.database.own()
        if sent.link:
            session = await sign_in_by_link(pool, sent.link, client)
        else:
            session = await sign_in_by_password(pool, self.hashing, sent.email, sent.password, client)
        return json_response({"administrator_id": session.administrator_id}, [_cookie(request, session)])

    async def _confirm(self, request: Request, body: bytes) -> Response:
        actor = await self._actor(request)
        if actor.session_id is None:
            raise not_signed_in()
        sent = _decode(body, ConfirmBody)
        await confirm(await self.database.own(), self.hashing, actor.name, actor.session_id, sent.password)
        return json_response({"done": True})

    async def _sign_out(self, request: Request) -> Response:
        actor = await self._actor(request)
        if actor.session_id is not None:
            pool = await self.database.own()
            await execute(pool, "end_session", actor.session_id, actor.administrator_id)
        return json_response({"done": True}, [_cookie(request, None)])

    async def _actor(self, request: Request) -> Actor:
        return await authenticate(await self.database.own(), request, self.settings.session_idle_s)

    async def operate(self, actor: Actor, name: str, body: bytes, request_id: str, address: str) -> object:
        """Run an operation by its name for an actor and return its result. Raises: ManagementError, DatabaseError."""
        operation = self.operations.find(name)
        if operation is None:
            raise not_found(f"operation {name}; GET /management/v1/openapi.json lists them")
        context = OperationContext(
            actor,
            request_id,
            address,
            self.database,
            self.settings,
            self.hashing,
            self.configuration,
            self.pools,
        )
        try:
            check_rights(actor, operation)
            arguments = _decode(body, operation.arguments, operation.name)
        except ManagementError as error:
            if operation.changes:
                await write_audit(context, operation, {}, error.code)
            raise
        if operation.changes:
            return await self._change(operation, context, arguments)
        return await self._run(operation, context, arguments)

    async def _change(self, operation: Operation, context: OperationContext, arguments: Struct) -> object:
        """Run an operation that changes something; a failure leaves an audit row as well."""
        outcome = "failed"
        try:
            result = await self._run(operation, context, arguments)
            outcome = "done"
        except (ManagementError, DatabaseError) as error:
            outcome = error.code
            raise
        finally:
            await asyncio.shield(
                write_audit(context, operation, audited_arguments(operation, arguments), outcome)
            )
        return result

    async def _run(self, operation: Operation, context: OperationContext, arguments: Struct) -> object:
        try:
            async with asyncio.timeout(self.settings.statement_timeout_s):
                return await operation.run(context, arguments)
        except TimeoutError:
            observe(ManagementOperationFailed(operation.name, context.request_id, "timeout"))
            raise ManagementError(
                504,
                "timeout",
                f"{operation.name} took longer than {self.settings.statement_timeout_s:g} seconds and was stopped",
                hint="management.statement_timeout is the limit.",
            ) from None


def check_rights(actor: Actor, operation: Operation) -> None:
    """Refuse an operation for which the actor lacks the right. Raises: ManagementError (403)."""
    if not actor.rights.includes(operation.right):
        raise ManagementError(
            403,
            "no_right",
            f"{operation.name} needs the rights of {operation.right}; yours are {actor.rights}",
        )
    if operation.changes and not actor.may_write:
        raise ManagementError(403, "read_only_token", f"{operation.name} writes, and this token only reads")
    if operation.is_confirmed and not actor.is_confirmed:
        raise ManagementError(
            403,
            "needs_confirmation",
            f"{operation.name} needs your password again",
            hint="POST /management/v1/confirm",
        )


def _decode(body: bytes, kind: type[T], name: str = "the request") -> T:
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise invalid_arguments(f"The arguments of {name}: {error}") from None


def _check_method(method: str, allowed: str) -> None:
    if method != allowed:
        raise ManagementError(
            405, "method_not_allowed", f"This path takes {allowed}", headers=[("allow", allowed)]
        )


def _client_origin(request: Request) -> ClientOrigin:
    return ClientOrigin(request.client, header(request.headers, "user-agent") or "")


def _cookie(request: Request, session: StartedSession | None) -> tuple[str, str]:
    is_secure = (header(request.headers, SERVER_ORIGIN) or "").startswith("https:")
    return cookie_header("" if session is None else session.secret, is_secure=is_secure)


def _unavailable(message: str, retry_after_s: int = 1) -> ApiError:
    return ManagementError(503, "unavailable", message, headers=[("retry-after", str(retry_after_s))])
