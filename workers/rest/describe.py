"""The root: a description of what the caller may use, as Swagger 2.0 or OpenAPI 3.1, whichever the caller takes.

Source: reference page "rest", section 17.
"""

import msgspec

from schemas.http import Headers, Request, Response, header
from workers.database.session import Sessions, Statement, Work
from workers.request_context.identity import Identity
from workers.rest.errors import RootDisabled
from workers.rest.execute import Around, settings_of
from workers.rest.model import ApiRequest, Output, Plan, Read, Shape
from workers.rest.openapi.document import openapi_document
from workers.rest.openapi.document31 import openapi31_document
from workers.rest.openapi.names import NAMED_SQL, Named, named_from
from workers.rest.openapi.scope import VISIBLE_SQL, OpenApiOptions, visible_from
from workers.rest.plan.output import OPENAPI_31, negotiate_root
from workers.rest.state import State


async def describe(
    state: State, request: Request, asked: ApiRequest, identity: Identity, sessions: Sessions
) -> Response:
    """Answer the root with a description.

    Raises: RootDisabled, NotAcceptable; DatabaseError and its siblings.
    """
    if state.options.openapi_mode == "disabled":
        raise RootDisabled
    content_type = negotiate_root(asked)
    follows, is_31 = state.options.openapi_mode == "follow-privileges", content_type == OPENAPI_31
    questions = [VISIBLE_SQL] * follows + [NAMED_SQL] * is_31
    answers = await _ask(questions, state, request, asked, identity, sessions) if questions else []
    visible = visible_from(answers[0]) if follows else None
    named = named_from(answers[-1]) if is_31 else Named()
    options = _options(state, request)
    document = (
        openapi31_document(state.catalog, asked.schema, visible, named, options)
        if is_31
        else openapi_document(state.catalog, asked.schema, visible, options)
    )
    headers: Headers = [("content-type", content_type), ("vary", "Accept, Prefer, Range")]
    if asked.negotiated_schema:
        headers.append(("content-profile", asked.schema))
    return Response(200, headers, b"" if asked.is_head else msgspec.json.encode(document))


async def _ask(
    questions: list[str],
    state: State,
    request: Request,
    asked: ApiRequest,
    identity: Identity,
    sessions: Sessions,
) -> list[bytes]:
    """Ask the database about the schema as the caller; one answer a question, empty for a schema that is not there."""
    plan = Plan(asked, Read(("", ""), "", ()), output=Output(Shape.NOTHING, ""))
    settings = settings_of(plan, Around(request, identity, state.role(identity.role), state.surroundings))
    unqualified = ("search_path", "")  # types are named as the catalog names them
    statements = [Statement(each, [asked.schema.encode()]) for each in questions]
    results = await sessions.run(Work([*settings, unqualified], statements, read_only=True))
    return [(rows[0][0] if rows else None) or b"{}" for rows in results]


def _options(state: State, request: Request) -> OpenApiOptions:
    return OpenApiOptions(
        proxy_uri=state.api.openapi_server_proxy_uri,
        host=header(request.headers, "host") or "localhost",
        security_active=state.api.openapi_security_active,
        schemas=state.options.schemas,
        errors_are_minimal=state.api.error_verbosity == "minimal",
    )
