"""The root: a description of what the caller may use, as Swagger 2.0 or OpenAPI 3.1, whichever the caller takes.

Source: docs/reference/rest.md, section 17.
"""

import msgspec

from schemas.http import Headers, Request, Response, header
from workers.database.transactions.model import Statement, TransactionRunner, TransactionSpec
from workers.request_context.identity import RequestIdentity
from workers.rest.errors.parse import RootDisabled
from workers.rest.execute import RestContext, settings_of
from workers.rest.model import ApiRequest, BodyShape, MediaOutput, ReadPlan, RelationRead
from workers.rest.openapi.document import openapi_document
from workers.rest.openapi.document31 import openapi31_document
from workers.rest.openapi.named_types import NAMED_SQL, NamedTypes, named_from
from workers.rest.openapi.scope import VISIBLE_SQL, OpenApiOptions, visible_from
from workers.rest.plan.output import OPENAPI_31, negotiate_root
from workers.rest.state import RestState


async def describe(
    state: RestState,
    request: Request,
    parsed: ApiRequest,
    identity: RequestIdentity,
    sessions: TransactionRunner,
) -> Response:
    """Answer the root with a description.

    Raises: RootDisabled, NotAcceptable; DatabaseError and its siblings.
    """
    if state.options.openapi_mode == "disabled":
        raise RootDisabled
    content_type = negotiate_root(parsed)
    follows, is_31 = state.options.openapi_mode == "follow-privileges", content_type == OPENAPI_31
    statements_sql = [VISIBLE_SQL] * follows + [NAMED_SQL] * is_31
    answers = await _ask(statements_sql, state, request, parsed, identity, sessions) if statements_sql else []
    visible = visible_from(answers[0]) if follows else None
    named = named_from(answers[-1]) if is_31 else NamedTypes()
    options = _options(state, request)
    document = (
        openapi31_document(state.catalog, parsed.schema, visible, named, options)
        if is_31
        else openapi_document(state.catalog, parsed.schema, visible, options)
    )
    headers: Headers = [("content-type", content_type), ("vary", "Accept, Prefer, Range")]
    if parsed.negotiated_schema:
        headers.append(("content-profile", parsed.schema))
    return Response(200, headers, b"" if parsed.is_head else msgspec.json.encode(document))


async def _ask(
    statements_sql: list[str],
    state: RestState,
    request: Request,
    parsed: ApiRequest,
    identity: RequestIdentity,
    sessions: TransactionRunner,
) -> list[bytes]:
    """Ask the database about the schema as the caller; one answer a question, empty for a schema that is not there."""
    plan = ReadPlan(
        request=parsed, read=RelationRead(("", ""), "", ()), output=MediaOutput(BodyShape.NOTHING, "")
    )
    settings = settings_of(plan, RestContext(request, identity, state.role(identity.role), state.defaults))
    unqualified = ("search_path", "")  # types are named as the catalog names them
    statements = [Statement(statement, [parsed.schema.encode()]) for statement in statements_sql]
    results = await sessions.run(TransactionSpec([*settings, unqualified], statements, read_only=True))
    return [(rows[0][0] if rows else None) or b"{}" for rows in results]


def _options(state: RestState, request: Request) -> OpenApiOptions:
    return OpenApiOptions(
        proxy_uri=state.api.openapi_server_proxy_uri,
        host=header(request.headers, "host") or "localhost",
        security_active=state.api.openapi_security_active,
        schemas=state.options.schemas,
        errors_are_minimal=state.api.error_verbosity == "minimal",
    )
