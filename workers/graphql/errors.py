"""Every refusal of the GraphQL interface.

    Exception
    |- GraphQLFailure      a sentence for the `errors` list: of the whole request, or of one root field (status 200)
    |  |- Invalid          the document breaks rules of the specification (only with `graphql.strict`)
    |  |- TooMuch          it asks for more than the limits allow
    |  `- SchemaError      the comments of the database hold directives that cannot be read
    |- StaleSchema         what the schema tells of is gone; the request is tried once more with a new one
    `- ApiError
       |- BadRequest       what was sent is no GraphQL request at all (status 400)
       |- WrongMethod      neither GET nor POST, or a mutation by GET (status 405)
       `- Refused          the token is refused (401), or the database cannot be reached (503, 504)

The sentences are those of the reference page "graphql"; clients compare them.
"""

from collections.abc import Sequence

from schemas.caller import RejectedCaller, TokenFault
from schemas.errors import ApiError
from schemas.http import Headers


class GraphQLFailure(Exception):
    """A request or a root field that cannot be answered: one entry of `errors`."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message, self.code = message, code

    @property
    def every(self) -> "list[GraphQLFailure]":
        """Give the entries of `errors` that it makes."""
        return [self]


class Invalid(GraphQLFailure):
    """A document that breaks rules of the specification: a failure for each."""

    def __init__(self, failures: Sequence[GraphQLFailure]) -> None:
        super().__init__(failures[0].message, failures[0].code)
        self._failures = list(failures)

    @property
    def every(self) -> list[GraphQLFailure]:
        return self._failures


class TooMuch(GraphQLFailure):
    """A request beyond its limits; `setting` names the one of the section [graphql] that says how much it may be."""

    def __init__(self, message: str, setting: str | None = None) -> None:
        super().__init__(
            message if setting is None else f"{message} (graphql.{setting})", "QUERY_TOO_COMPLEX"
        )


class SchemaError(GraphQLFailure):
    """Error while loading schema, check comment directives."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"Error while loading schema, check comment directives. {detail}")
        self.detail = detail


class StaleSchema(Exception):
    """A statement names what the database does not have any more: a migration was faster than the schema cache."""

    def __init__(self, failure: GraphQLFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Refused(ApiError):
    """A request that is not looked at: its status, in the shape of every GraphQL answer."""

    def __init__(self, status: int, message: str, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status, self._headers = status, headers or []

    def headers(self) -> Headers:
        return self._headers

    def body(self) -> dict[str, object]:
        return {"data": None, "errors": [{"message": str(self)}]}


def refused_token(rejected: RejectedCaller | None) -> Refused:
    """Give the refusal of a token that the edge refused; of None, that a token is required."""
    challenge: Headers = [("www-authenticate", "Bearer")]
    if rejected is None:
        return Refused(401, "Anonymous access is disabled", challenge)
    return Refused(500 if rejected.kind is TokenFault.NO_SECRET else 401, rejected.message, challenge)


class BadRequest(Refused):
    """The body is no JSON object with a text `query`."""

    def __init__(self, message: str) -> None:
        super().__init__(400, message)


class WrongMethod(Refused):
    """The method is not offered, or not for this operation."""

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(405, message, [("allow", allowed)])
