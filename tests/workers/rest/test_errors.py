"""Every refusal: its code, status, members and headers. Reference page, section 20."""

import inspect
import re

import pytest

from workers.rest.dialect import Dialect, dialect_of, spelled_code, spelled_type
from workers.rest.errors import execute, parse, plan, respond, token
from workers.rest.errors.base import RestError
from workers.rest.errors.execute import (
    BadRaise,
    ConnectionFailed,
    DatabaseRejection,
    NotSingular,
    PoolExhausted,
    RaisedResponse,
    TooManyAffected,
    UpsertKeyMismatch,
)
from workers.rest.errors.parse import (
    BadBody,
    BadPath,
    BadQuery,
    LimitOnUpsert,
    MethodNotForFunctions,
    RangeNotSatisfiable,
    RootDisabled,
    SchemaNotExposed,
    UnsupportedMethod,
)
from workers.rest.errors.plan import (
    AggregatesDisabled,
    AmbiguousFunction,
    AmbiguousRelationship,
    BadPreferences,
    BadUpsertFilters,
    DatabaseFunctionNotFound,
    MaxAffectedNeedsSet,
    NoColumn,
    NoRelationship,
    NotAcceptable,
    NotEmbedded,
    NotImplementedHere,
    RelatedOrderNotToOne,
    RelationNotFound,
)
from workers.rest.errors.respond import BadResponseHeaders, BadResponseStatus
from workers.rest.errors.token import BadClaims, BadToken, NoJwtSecret, TokenRequired

REFUSALS: list[tuple[RestError, str, int, str]] = [
    (ConnectionFailed("gone"), "000", 503, "Database connection error."),
    (PoolExhausted(), "003", 504, "Timed out acquiring connection from connection pool."),
    (PoolExhausted("Too many", did_wait=False, retry_after_s=3), "003", 503, "Too many"),
    (BadQuery("m", "d"), "100", 400, "m"),
    (MethodNotForFunctions("PUT"), "101", 405, "Cannot use the PUT method on RPC"),
    (BadBody("m"), "102", 400, "m"),
    (RangeNotSatisfiable("d"), "103", 416, "Requested range not satisfiable"),
    (BadUpsertFilters(), "105", 405, "Filters must include all and only primary key columns with 'eq' operators"),
    (SchemaNotExposed("x", ["a"]), "106", 406, "Invalid schema: x"),
    (NotAcceptable(["a/b", "c/d"]), "107", 406, "None of these media types are available: a/b, c/d"),
    (NotEmbedded("x"), "108", 400, "'x' is not an embedded resource in this request"),
    (BadResponseHeaders(), "111", 500, "response.headers guc must be a JSON array composed of objects with a single key and a string value"),
    (BadResponseStatus(), "112", 500, "response.status guc must be a valid status code"),
    (LimitOnUpsert(), "114", 400, "limit/offset querystring parameters are not allowed for PUT"),
    (UpsertKeyMismatch(), "115", 400, "Payload values do not match URL in primary key column(s)"),
    (NotSingular(2), "116", 406, "Cannot coerce the result to a single JSON object"),
    (UnsupportedMethod("X"), "117", 405, "Unsupported HTTP method: X"),
    (RelatedOrderNotToOne("a", "b"), "118", 400, "A related order on 'b' is not possible"),
    (BadRaise("d", "h"), "121", 500, "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error"),
    (BadPreferences(["a", "b"]), "122", 400, "Invalid preferences given with handling=strict"),
    (AggregatesDisabled(), "123", 400, "Use of aggregate functions is not allowed"),
    (TooManyAffected(3), "124", 400, "Query result exceeds max-affected preference constraint"),
    (BadPath(), "125", 404, "Invalid path specified in request URL"),
    (RootDisabled(), "126", 404, "Root endpoint metadata is disabled"),
    (NotImplementedHere("w"), "127", 400, "Feature not implemented"),
    (MaxAffectedNeedsSet(), "128", 400, "Function must return SETOF or TABLE when max-affected preference is used with handling=strict"),
    (NoRelationship("a", "b", None, "s", None), "200", 400, "Could not find a relationship between 'a' and 'b' in the schema cache"),
    (AmbiguousRelationship("a", "b", [], ["b!x"]), "201", 300, "Could not embed because more than one relationship was found for 'a' and 'b'"),
    (DatabaseFunctionNotFound("m"), "202", 404, "m"),
    (AmbiguousFunction(["f(a => int)"]), "203", 300, "Could not choose the best candidate function between: f(a => int)"),
    (NoColumn("x", "t"), "204", 400, "Could not find the 'x' column of 't' in the schema cache"),
    (RelationNotFound("s", "x", None), "205", 404, "Could not find the table 's.x' in the schema cache"),
    (NoJwtSecret("m"), "300", 500, "m"),
    (BadToken("m"), "301", 401, "m"),
    (TokenRequired(), "302", 401, "Anonymous access is disabled"),
    (BadClaims("m"), "303", 401, "m"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("refusal", "code", "status", "message"), REFUSALS, ids=lambda each: type(each).__name__
)
def test_a_refusal_has_four_members(refusal: RestError, code: str, status: int, message: str) -> None:
    body = refusal.body()

    assert list(body) == ["code", "message", "details", "hint"]
    assert (body["code"], refusal.status, body["message"]) == (f"PGRST{code}", status, message)
    assert ("proxy-status", f"PostgREST; error=PGRST{code}") in refusal.headers()


def test_every_refusal_of_the_reference_is_looked_at_here() -> None:
    classes = {
        member
        for module in (execute, parse, plan, respond, token)
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, RestError)
    }
    numbered = {each for each in classes if re.fullmatch(r"PGRST\d+", each.code)}

    assert numbered == {type(refusal) for refusal, *_ in REFUSALS}
    assert len({each.code for each in numbered}) == len(numbered)


@pytest.mark.parametrize(
    ("refusal", "details", "hint"),
    [
        (NotSingular(0), "The result contains 0 rows", None),
        (TooManyAffected(3), "The query affects 3 rows", None),
        (BadPreferences(["a", "b"]), "Invalid preferences: a, b", None),
        (SchemaNotExposed("x", ["a", "b"]), None, "Only the following schemas are exposed: a, b"),
        (NotEmbedded("x"), None, "Verify that 'x' is included in the 'select' query parameter."),
        (RelationNotFound("s", "x", "y"), None, "Perhaps you meant the table 's.y'"),
        (
            NoRelationship("a", "b", "h", "s", "Perhaps"),
            "Searched for a foreign key relationship between 'a' and 'b' using the hint 'h' in the schema 's', but no matches were found.",
            "Perhaps",
        ),
        (
            AmbiguousRelationship("a", "b", [], ["b!x", "b!y"]), [],
            "Try changing 'b' to one of the following: 'b!x', 'b!y'. Find the desired relationship in the 'details' key.",
        ),
        (RelatedOrderNotToOne("a", "b"), "'a' and 'b' do not form a many-to-one or one-to-one relationship", None),
    ],
)  # fmt: skip
def test_details_and_hints(refusal: RestError, details: object, hint: str | None) -> None:
    assert (refusal.body()["details"], refusal.body()["hint"]) == (details, hint)


@pytest.mark.parametrize(
    ("refusal", "pair"),
    [
        (ConnectionFailed(None, 7), ("retry-after", "7")),
        (RangeNotSatisfiable("d", 5), ("content-range", "*/5")),
        (BadToken("JWT expired"), ("www-authenticate", 'Bearer error="invalid_token", error_description="JWT expired"')),
        (BadClaims("m"), ("www-authenticate", 'Bearer error="invalid_token", error_description="m"')),
        (TokenRequired(), ("www-authenticate", "Bearer")),
        (DatabaseRejection("42501", 401, "m", None, None, challenges=True), ("www-authenticate", "Bearer")),
        (DatabaseRejection("57P01", 503, "m", None, None), ("retry-after", "1")),
        (RaisedResponse({"code": "1", "message": "m"}, 402, "Pay", [("x-y", "z")]), ("x-y", "z")),
    ],
)  # fmt: skip
def test_headers(refusal: RestError, pair: tuple[str, str]) -> None:
    assert pair in refusal.headers()


def test_the_database_and_functions_speak_for_themselves() -> None:
    refused = DatabaseRejection("23505", 409, "m", "d", "h")
    raised = RaisedResponse({"code": "123", "message": "m", "details": "d", "hint": "h"}, 402, "Pay", [])

    assert refused.body() == {"code": "23505", "message": "m", "details": "d", "hint": "h"}
    assert raised.body() == {"code": "123", "message": "m", "details": "d", "hint": "h"}
    assert (raised.status, raised.reason(), refused.reason()) == (402, "Pay", "")
    assert DatabaseRejection("PT402", 402, "Pay up", None, None).reason() == "Pay up"


@pytest.mark.parametrize(
    ("headers", "dialect"),
    [
        ([], Dialect.SEED),
        ([("accept", "application/json")], Dialect.SEED),
        ([("accept", "application/vnd.rest.object+json")], Dialect.SEED),
        ([("accept", "text/csv, application/vnd.pgrst.object+json")], Dialect.ORIGINAL),
        ([("x-client-info", "supabase-js/2")], Dialect.ORIGINAL),
    ],
)
def test_the_spelling_is_the_caller_s(headers: list[tuple[str, str]], dialect: Dialect) -> None:
    assert dialect_of(headers) is dialect


def test_codes_and_types_have_two_spellings() -> None:
    assert spelled_code("PGRST116", Dialect.SEED) == "RESTERR116"
    assert spelled_code("PGRST116", Dialect.ORIGINAL) == "PGRST116"
    assert spelled_code("23505", Dialect.SEED) == "23505"
    assert (
        spelled_type("application/vnd.pgrst.object+json", Dialect.SEED) == "application/vnd.rest.object+json"
    )
    assert spelled_type("application/json", Dialect.ORIGINAL) == "application/json"
