"""Every refusal: its code, status, members and headers. Reference page, section 20."""

import inspect
import re

import pytest

from workers.rest import errors
from workers.rest.dialect import Dialect, dialect_of, spelled_code, spelled_type
from workers.rest.errors import RestError

REFUSALS: list[tuple[RestError, str, int, str]] = [
    (errors.ConnectionFailed("gone"), "000", 503, "Database connection error."),
    (errors.PoolExhausted(), "003", 504, "Timed out acquiring connection from connection pool."),
    (errors.PoolExhausted("Too many", did_wait=False, retry_after_s=3), "003", 503, "Too many"),
    (errors.BadQuery("m", "d"), "100", 400, "m"),
    (errors.MethodNotForFunctions("PUT"), "101", 405, "Cannot use the PUT method on RPC"),
    (errors.BadBody("m"), "102", 400, "m"),
    (errors.RangeNotSatisfiable("d"), "103", 416, "Requested range not satisfiable"),
    (errors.BadUpsertFilters(), "105", 405, "Filters must include all and only primary key columns with 'eq' operators"),
    (errors.SchemaNotExposed("x", ["a"]), "106", 406, "Invalid schema: x"),
    (errors.NotAcceptable(["a/b", "c/d"]), "107", 406, "None of these media types are available: a/b, c/d"),
    (errors.NotEmbedded("x"), "108", 400, "'x' is not an embedded resource in this request"),
    (errors.BadResponseHeaders(), "111", 500, "response.headers guc must be a JSON array composed of objects with a single key and a string value"),
    (errors.BadResponseStatus(), "112", 500, "response.status guc must be a valid status code"),
    (errors.LimitOnUpsert(), "114", 400, "limit/offset querystring parameters are not allowed for PUT"),
    (errors.UpsertKeyMismatch(), "115", 400, "Payload values do not match URL in primary key column(s)"),
    (errors.NotSingular(2), "116", 406, "Cannot coerce the result to a single JSON object"),
    (errors.UnsupportedMethod("X"), "117", 405, "Unsupported HTTP method: X"),
    (errors.RelatedOrderNotToOne("a", "b"), "118", 400, "A related order on 'b' is not possible"),
    (errors.BadRaise("d", "h"), "121", 500, "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error"),
    (errors.BadPreferences(["a", "b"]), "122", 400, "Invalid preferences given with handling=strict"),
    (errors.AggregatesDisabled(), "123", 400, "Use of aggregate functions is not allowed"),
    (errors.TooManyAffected(3), "124", 400, "Query result exceeds max-affected preference constraint"),
    (errors.BadPath(), "125", 404, "Invalid path specified in request URL"),
    (errors.RootDisabled(), "126", 404, "Root endpoint metadata is disabled"),
    (errors.NotImplementedHere("w"), "127", 400, "Feature not implemented"),
    (errors.MaxAffectedNeedsSet(), "128", 400, "Function must return SETOF or TABLE when max-affected preference is used with handling=strict"),
    (errors.NoRelationship("a", "b", None, "s", None), "200", 400, "Could not find a relationship between 'a' and 'b' in the schema cache"),
    (errors.AmbiguousRelationship("a", "b", [], ["b!x"]), "201", 300, "Could not embed because more than one relationship was found for 'a' and 'b'"),
    (errors.NoFunction("m"), "202", 404, "m"),
    (errors.AmbiguousFunction(["f(a => int)"]), "203", 300, "Could not choose the best candidate function between: f(a => int)"),
    (errors.NoColumn("x", "t"), "204", 400, "Could not find the 'x' column of 't' in the schema cache"),
    (errors.NoRelation("s", "x", None), "205", 404, "Could not find the table 's.x' in the schema cache"),
    (errors.NoJwtSecret("m"), "300", 500, "m"),
    (errors.BadToken("m"), "301", 401, "m"),
    (errors.TokenRequired(), "302", 401, "Anonymous access is disabled"),
    (errors.BadClaims("m"), "303", 401, "m"),
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
    classes = {each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, RestError)}
    numbered = {each for each in classes if re.fullmatch(r"PGRST\d+", each.code)}

    assert numbered == {type(refusal) for refusal, *_ in REFUSALS}
    assert len({each.code for each in numbered}) == len(numbered)


@pytest.mark.parametrize(
    ("refusal", "details", "hint"),
    [
        (errors.NotSingular(0), "The result contains 0 rows", None),
        (errors.TooManyAffected(3), "The query affects 3 rows", None),
        (errors.BadPreferences(["a", "b"]), "Invalid preferences: a, b", None),
        (errors.SchemaNotExposed("x", ["a", "b"]), None, "Only the following schemas are exposed: a, b"),
        (errors.NotEmbedded("x"), None, "Verify that 'x' is included in the 'select' query parameter."),
        (errors.NoRelation("s", "x", "y"), None, "Perhaps you meant the table 's.y'"),
        (
            errors.NoRelationship("a", "b", "h", "s", "Perhaps"),
            "Searched for a foreign key relationship between 'a' and 'b' using the hint 'h' in the schema 's', but no matches were found.",
            "Perhaps",
        ),
        (
            errors.AmbiguousRelationship("a", "b", [], ["b!x", "b!y"]), [],
            "Try changing 'b' to one of the following: 'b!x', 'b!y'. Find the desired relationship in the 'details' key.",
        ),
        (errors.RelatedOrderNotToOne("a", "b"), "'a' and 'b' do not form a many-to-one or one-to-one relationship", None),
    ],
)  # fmt: skip
def test_details_and_hints(refusal: RestError, details: object, hint: str | None) -> None:
    assert (refusal.body()["details"], refusal.body()["hint"]) == (details, hint)


@pytest.mark.parametrize(
    ("refusal", "pair"),
    [
        (errors.ConnectionFailed(None, 7), ("retry-after", "7")),
        (errors.RangeNotSatisfiable("d", 5), ("content-range", "*/5")),
        (errors.BadToken("JWT expired"), ("www-authenticate", 'Bearer error="invalid_token", error_description="JWT expired"')),
        (errors.BadClaims("m"), ("www-authenticate", 'Bearer error="invalid_token", error_description="m"')),
        (errors.TokenRequired(), ("www-authenticate", "Bearer")),
        (errors.DatabaseRefusal("42501", 401, "m", None, None, challenges=True), ("www-authenticate", "Bearer")),
        (errors.DatabaseRefusal("57P01", 503, "m", None, None), ("retry-after", "1")),
        (errors.RaisedError({"code": "1", "message": "m"}, 402, "Pay", [("x-y", "z")]), ("x-y", "z")),
    ],
)  # fmt: skip
def test_headers(refusal: RestError, pair: tuple[str, str]) -> None:
    assert pair in refusal.headers()


def test_the_database_and_functions_speak_for_themselves() -> None:
    refused = errors.DatabaseRefusal("23505", 409, "m", "d", "h")
    raised = errors.RaisedError({"code": "123", "message": "m", "details": "d", "hint": "h"}, 402, "Pay", [])

    assert refused.body() == {"code": "23505", "message": "m", "details": "d", "hint": "h"}
    assert raised.body() == {"code": "123", "message": "m", "details": "d", "hint": "h"}
    assert (raised.status, raised.reason(), refused.reason()) == (402, "Pay", "")
    assert errors.DatabaseRefusal("PT402", 402, "Pay up", None, None).reason() == "Pay up"


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
