"""Requests of the secret key as the pool receives them: who sends them, their audit rows, and the answers of `interface.py`."""

from dataclasses import dataclass

import msgspec

from broker.requests.handler import BodyTooLarge, RequestBody
from schemas.http import Request, Response
from workers.management.interface.audit import write_audit
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.model import Actor
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.spellings.schema_metadata.errors import MetadataError
from workers.management.spellings.schema_metadata.interface import SchemaMetadata, check_caller
from workers.management.spellings.schema_metadata.request import (
    MAX_BODY_BYTES,
    MetadataRequest,
    parse_body,
    parse_query_string,
)
from workers.management.spellings.schema_metadata.writes import ObjectChange

PREFIX = "/pg"
SECRET_KEY = Actor("secret key", Right.DEVELOPER, may_write=True, is_confirmed=True)
"""Who audit rows of this interface name."""


def is_metadata_path(path: str) -> bool:
    """Return whether a request belongs to this interface."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


async def answer_metadata(
    interface: SchemaMetadata, context: OperationContext, request: Request, body: RequestBody
) -> Response:
    """Answer a request below `/pg`. `context` is what its audit row is written with. Raises: MetadataError, BodyBroken."""
    check_caller(request.caller)
    try:
        sent = MetadataRequest(
            request.method,
            request.path.removeprefix(PREFIX),
            parse_query_string(request.query),
            parse_body(await body.read(MAX_BODY_BYTES)),
        )
        return await interface.answer(sent, _AuditRows(context).add)
    except (BodyTooLarge, ManagementError) as error:
        raise MetadataError(error.status, str(error)) from None


@dataclass(frozen=True, slots=True)
class _AuditRows:
    """Writes the audit row of a change."""

    context: OperationContext

    async def add(
        self, name: str, arguments: dict[str, object], recorded: ObjectChange, outcome: str
    ) -> None:
        """Store a row. Raises: ManagementError (503)."""
        self.context.before, self.context.after = _raw(recorded.before), _raw(recorded.after)
        operation = Operation(name, "", msgspec.Struct, None, Right.DEVELOPER, _run_nothing, changes=True)
        await write_audit(self.context, operation, arguments, outcome)


def _raw(object: bytes | None) -> object:
    return None if object is None else msgspec.Raw(object)


async def _run_nothing(context: OperationContext, arguments: msgspec.Struct) -> None:
    """Do nothing: requests of this interface are carried out by it, the operation names them in the audit log."""
    del context, arguments
