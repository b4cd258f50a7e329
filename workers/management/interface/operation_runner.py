"""Runs an operation by its name: find, check the rights, decode the arguments, run within the time limit, write the audit row."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from broker.observability.observe import observe
from schemas.settings.tree import Settings
from workers.database.errors import DatabaseError
from workers.management.interface.audit import write_audit
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.model import Actor
from workers.management.interface.identity.secrets import FactorSecrets, PasswordHashing
from workers.management.interface.observations import ManagementOperationFailed
from workers.management.interface.operation import (
    ManagementSettings,
    Operation,
    OperationContext,
    OperationTable,
    audited_arguments,
)
from workers.management.interface.role_limits import (
    RoleLimits,
    limited_rights,
    rejected_argument,
    without_other_tables,
)
from workers.settings.live_settings import LiveSettings

T = TypeVar("T", bound=Struct)


@dataclass(slots=True)
class OperationRunner:
    """The operations and what they work with."""

    database: ManagementDatabase
    settings: ManagementSettings
    operations: OperationTable
    hashing: PasswordHashing
    configuration: Settings
    pools: PlatformPools
    live: LiveSettings
    factor_secrets: FactorSecrets

    async def operate(
        self,
        actor: Actor,
        name: str,
        body: bytes | Struct,
        request_id: str,
        address: str,
        *,
        origin: str = "",
        upload: AsyncIterator[bytes] | None = None,
    ) -> object:
        """Run an operation by its name for an actor and return its result, which may be a `StreamedResult`.

        `body` has the arguments, as JSON or decoded; `upload` the data for an operation that takes some.
        Raises: ManagementError, DatabaseError.
        """
        operation = self.operations.find(name)
        if operation is None:
            raise not_found(f"operation {name}; GET /management/v1/openapi.json lists them")
        context = self.context(actor, request_id, address, origin=origin, upload=upload)
        try:
            if actor.limits is not None:
                body = _of_limited(actor.limits, operation, body)
                actor = context.actor = limited_actor(actor, operation, body)
            check_rights(actor, operation)
            arguments = (
                decode_arguments(body, operation.arguments, operation.name)
                if isinstance(body, bytes)
                else body
            )
            if may_change := operation.may_change(arguments):
                check_rights_to_change(actor, operation)
        except ManagementError as error:
            if operation.changes:
                await write_audit(context, operation, {}, error.code)
            raise
        if may_change:
            return await self._change(operation, context, arguments)
        return await self._run(operation, context, arguments)

    def context(
        self,
        actor: Actor,
        request_id: str,
        address: str,
        *,
        origin: str = "",
        upload: AsyncIterator[bytes] | None = None,
    ) -> OperationContext:
        """Return what an operation of this actor works with."""
        return OperationContext(
            actor,
            request_id,
            address,
            self.database,
            self.settings,
            self.hashing,
            self.configuration,
            self.pools,
            self.live,
            upload=upload,
            origin=origin,
            factor_secrets=self.factor_secrets,
        )

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


def _of_limited(limits: RoleLimits, operation: Operation, body: bytes | Struct) -> Struct:
    """Return the arguments of a limited administrator: what is allowed depends on them. Raises: ManagementError (400)."""
    arguments = (
        decode_arguments(body, operation.arguments, operation.name) if isinstance(body, bytes) else body
    )
    return cast("Struct", without_other_tables(limits, operation.name, arguments))


def limited_actor(actor: Actor, operation: Operation, arguments: Struct) -> Actor:
    """Return an actor with the rights that the role leaves for an operation. Raises: ManagementError (403)."""
    if actor.limits is None:
        return actor
    rights = limited_rights(actor.rights, actor.limits, operation.name, arguments)
    if rights is None:
        area = operation.name.partition(".")[0]
        raise ManagementError(
            403,
            "no_right",
            f"{operation.name} is not among the rights of your role {actor.limits.name} ({area})",
        )
    if fault := rejected_argument(operation.name, arguments):
        raise ManagementError(403, "no_right", fault, hint="An administrator without a role may.")
    return msgspec.structs.replace(actor, rights=rights)


def check_rights(actor: Actor, operation: Operation) -> None:
    """Refuse an operation for which the actor lacks the right. Raises: ManagementError (403)."""
    if not actor.rights.includes(operation.right):
        raise ManagementError(
            403,
            "no_right",
            f"{operation.name} needs the rights of {operation.right}; yours are {actor.rights}",
        )
    if operation.changes and operation.only_reads is None:
        check_rights_to_change(actor, operation)
    if operation.is_confirmed and not actor.is_confirmed:
        raise ManagementError(
            403,
            "needs_confirmation",
            f"{operation.name} needs your password again",
            hint="POST /management/v1/confirm",
        )


def check_rights_to_change(actor: Actor, operation: Operation) -> None:
    """Refuse a change for which the actor lacks the right. Raises: ManagementError (403)."""
    if operation.write_right is not None and not actor.rights.includes(operation.write_right):
        raise ManagementError(
            403,
            "no_right",
            f"{operation.name} needs the rights of {operation.write_right} to change something; yours are {actor.rights}",
        )
    if not actor.may_write:
        raise ManagementError(403, "read_only_token", f"{operation.name} writes, and this token only reads")


def decode_arguments(body: bytes, kind: type[T], name: str) -> T:
    """Decode arguments from JSON. Raises: ManagementError (400)."""
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise invalid_arguments(f"The arguments of {name}: {error}") from None
