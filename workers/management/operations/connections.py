"""Operations on programs that connect by OAuth: show a request, allow or deny it, list and end what was allowed.

Only an administrator in a session consents: a token that could would make tokens that outlive it.
"""

from urllib.parse import urlsplit

from msgspec import Struct

from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity import grants
from workers.management.interface.identity.grants import ConnectedProgram
from workers.management.interface.identity.store import as_uuid
from workers.management.interface.oauth import client_documents
from workers.management.interface.oauth.authorization_request import AgentAuthorizationRequest, read_request
from workers.management.interface.oauth.clients import client_of
from workers.management.interface.oauth.errors import OAuthRejected
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments


class ConnectionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters with which a program sent the browser here."""

    client_id: str
    redirect_uri: str
    code_challenge: str
    response_type: str = "code"
    code_challenge_method: str = "S256"
    state: str = ""
    resource: str = ""


class ConnectionDecision(Struct, frozen=True, forbid_unknown_fields=True):
    """A request, and what its program may do: read as a reader, unless more is chosen."""

    request: ConnectionRequest
    rights: Right = Right.READER
    may_write: bool = False


class RequestedConnection(Struct, frozen=True):
    """What the page shows. `client` is what the program calls itself; `target` is where the answer goes, which the system knows; `site` is
    the host of the document that describes the client, empty for one that registered itself.
    """

    client: str
    site: str
    target: str
    is_on_this_machine: bool
    resource: str


class ConnectionAnswer(Struct, frozen=True):
    """Where the browser goes now."""

    redirect_to: str


class ConnectionReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A program by the id of its consent."""

    id: str


async def describe(context: OperationContext, arguments: ConnectionRequest) -> RequestedConnection:
    """Check a request of a program and return what an administrator should see of it."""
    asked = await _read(context, arguments)
    parts = urlsplit(asked.redirect_uri)
    target = parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"
    return RequestedConnection(
        asked.client.name, asked.client.site, target, parts.scheme == "http", asked.resource
    )


async def allow(context: OperationContext, arguments: ConnectionDecision) -> ConnectionAnswer:
    """Let a program in with at most one's own rights, and return the address that carries its code."""
    actor, asked = context.actor, await _read(context, arguments.request)
    if actor.session_id is None or actor.administrator_id is None:
        raise ManagementError(
            403, "needs_session", "A program is let in by an administrator who is signed in, not by a token"
        )
    if not actor.rights.includes(arguments.rights):
        raise ManagementError(403, "no_right", f"Your rights are {actor.rights}; a program cannot have more")
    code = await grants.new_code(
        await context.database.own(),
        actor.administrator_id,
        client=_shown(asked),
        client_id=asked.client_id,
        redirect_uri=asked.redirect_uri,
        resource=asked.resource,
        rights=arguments.rights,
        may_write=arguments.may_write,
        code_challenge=asked.code_challenge,
    )
    context.after = {
        "client": asked.client.name,
        "site": asked.client.site,
        "redirect_uri": asked.redirect_uri,
    }
    return ConnectionAnswer(asked.answer(code=code))


async def deny(context: OperationContext, arguments: ConnectionRequest) -> ConnectionAnswer:
    """Return the address that tells a program that it is not let in."""
    return ConnectionAnswer((await _read(context, arguments)).answer(error="access_denied"))


async def list_connections(context: OperationContext, arguments: NoArguments) -> list[ConnectedProgram]:
    """Return the programs that one has let in, the newest first; an owner gets those of all."""
    del arguments
    return await grants.programs(await context.database.own(), _owner(context))


async def remove(context: OperationContext, arguments: ConnectionReference) -> Done:
    """End what a program may do; its tokens stop working at once. Only an owner ends that of another administrator."""
    id = as_uuid(arguments.id)
    if id is None or not await grants.remove(await context.database.own(), id, _owner(context)):
        raise not_found(f"connection {arguments.id}")
    return Done()


def _shown(asked: AgentAuthorizationRequest) -> str:
    """Return the name under which a consent is listed."""
    return f"{asked.client.name} ({asked.client.site})" if asked.client.site else asked.client.name


def _owner(context: OperationContext) -> str | None:
    return None if context.actor.rights is Right.OWNER else context.actor.administrator_id


async def _read(context: OperationContext, request: ConnectionRequest) -> AgentAuthorizationRequest:
    """Check a request again: what the page shows came from its address. Raises: ManagementError (400)."""
    assert context.factor_secrets is not None  # the worker has them
    values = {
        "client_id": request.client_id,
        "redirect_uri": request.redirect_uri,
        "code_challenge": request.code_challenge,
        "response_type": request.response_type,
        "code_challenge_method": request.code_challenge_method,
        "state": request.state,
        "resource": request.resource,
    }
    try:
        client = (
            await client_documents.read_client(request.client_id)
            if client_documents.is_document(request.client_id)
            else client_of(context.factor_secrets.sealer, request.client_id)
        )
        asked = read_request(client, values, context.public_url)
    except OAuthRejected as error:
        raise invalid_arguments(str(error)) from None
    if asked.fault is not None:
        raise invalid_arguments(asked.fault[1])
    return asked


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "connections.describe",
            "Show a program that asks to be let in",
            ConnectionRequest,
            RequestedConnection,
            Right.READER,
            describe,
        ),
        Operation(
            "connections.allow",
            "Let a program in by OAuth",
            ConnectionDecision,
            ConnectionAnswer,
            Right.READER,
            allow,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "connections.deny",
            "Do not let a program in",
            ConnectionRequest,
            ConnectionAnswer,
            Right.READER,
            deny,
        ),
        Operation(
            "connections.list",
            "List programs that were let in",
            NoArguments,
            list[ConnectedProgram],
            Right.READER,
            list_connections,
        ),
        Operation(
            "connections.remove",
            "End what a program may do",
            ConnectionReference,
            Done,
            Right.READER,
            remove,
            changes=True,
        ),
    ]
