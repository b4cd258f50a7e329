"""Errors of the GraphQL interface.

    Exception
    |- GraphQLFailure      an entry of the `errors` list: for the whole request, or for one root field (status 200)
    |  |- InvalidDocument  the document breaks rules of the specification
    |  |- RefusedOperation no root field of an operation can be executed
    |  |- QueryTooComplex  the request exceeds a limit
    |  `- SchemaError      a comment directive in the database is invalid
    |- StaleSchema         the database lacks something that the schema has; the request runs once more with a new schema
    `- ApiError
       `- RejectedRequest  the token is invalid (401), or the database cannot be reached (503, 504)
          |- MalformedRequest  the body or the query string is not a GraphQL request (status 400)
          `- WrongMethod       neither GET nor POST, or a mutation by GET (status 405)

The messages are those of docs/reference/graphql.md; clients compare them.
"""

from collections.abc import Sequence

from schemas.caller import RejectedCaller, TokenFault
from schemas.errors import ApiError
from schemas.http import Headers
from workers.graphql.media_types import GRAPHQL_RESPONSE


class GraphQLFailure(Exception):
    """A request or a root field that cannot be answered: one entry of `errors`."""

    refusal_status = 400
    """HTTP status of a request that is refused for it, where the media type of the answer has status codes."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message, self.code = message, code

    @property
    def entries(self) -> "list[GraphQLFailure]":
        """Return the entries of `errors` for this failure."""
        return [self]


class InvalidDocument(GraphQLFailure):
    """A document that breaks rules of the specification, with one failure for each broken rule."""

    def __init__(self, failures: Sequence[GraphQLFailure]) -> None:
        super().__init__(failures[0].message, failures[0].code)
        self._failures = list(failures)

    @property
    def entries(self) -> list[GraphQLFailure]:
        return self._failures


class RefusedOperation(InvalidDocument):
    """An operation of which no root field can be executed, with one failure for each of them that is reported."""


class QueryTooComplex(GraphQLFailure):
    """A request beyond a limit; `setting` names the limit in the section [graphql] of the settings."""

    def __init__(self, message: str, setting: str | None = None) -> None:
        super().__init__(
            message if setting is None else f"{message} (graphql.{setting})", "QUERY_TOO_COMPLEX"
        )


class SchemaError(GraphQLFailure):
    """Error while loading schema, check comment directives."""

    refusal_status = 500

    def __init__(self, detail: str) -> None:
        super().__init__(f"Error while loading schema, check comment directives. {detail}")
        self.detail = detail


class StaleSchema(Exception):
    """A statement names something that a migration has dropped and the schema cache still has.

    The worker waits for a new schema and runs the request once more.
    """

    def __init__(self, failure: GraphQLFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class RejectedRequest(ApiError):
    """A request that is rejected with an HTTP status; the body has the shape of every GraphQL answer."""

    def __init__(self, status: int, message: str, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status, self._headers = status, headers or []
        self.has_graphql_type = False
        """Whether the answer is `application/graphql-response+json`, in which a refused request has no `data`."""

    def headers(self) -> Headers:
        if self.has_graphql_type:
            return [("content-type", GRAPHQL_RESPONSE), ("vary", "Accept"), *self._headers]
        return self._headers

    def body(self) -> dict[str, object]:
        errors: dict[str, object] = {"errors": [{"message": str(self)}]}
        return errors if self.has_graphql_type else {"data": None, **errors}


def rejected_token(rejected: RejectedCaller | None) -> RejectedRequest:
    """Return the error for a token that the gateway rejected; for None, that a token is required."""
    challenge: Headers = [("www-authenticate", "Bearer")]
    if rejected is None:
        return RejectedRequest(401, "Anonymous access is disabled", challenge)
    return RejectedRequest(500 if rejected.kind is TokenFault.NO_SECRET else 401, rejected.message, challenge)


class MalformedRequest(RejectedRequest):
    """The request is not a GraphQL request: the body must be a JSON object with a text `query`."""

    def __init__(self, message: str) -> None:
        super().__init__(400, message)


class WrongMethod(RejectedRequest):
    """The HTTP method is not allowed, or not for this operation."""

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(405, message, [("allow", allowed)])
