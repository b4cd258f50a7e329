"""The Python client: refusals as it shows them, and row level security."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.callers import Caller

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

Query = Callable[[Caller], Any]

REFUSALS: dict[str, tuple[Query, tuple[str, str, Any, str | None]]] = {
    "an unknown table": (
        lambda db: db.table("project").select("*"),
        (
            "PGRST205",
            "Could not find the table 'public.project' in the schema cache",
            None,
            "Perhaps you meant the table 'public.projects'",
        ),
    ),
    "an unknown column to read": (
        lambda db: db.table("projects").select("wavelength"),
        ("42703", "column projects.wavelength does not exist", None, None),
    ),
    "an unknown column to write": (
        lambda db: db.table("projects").insert({"nope": 1}),
        ("PGRST204", "Could not find the 'nope' column of 'projects' in the schema cache", None, None),
    ),
    "an unknown operator": (
        lambda db: db.table("projects").select().filter("id", "near", "1"),
        (
            "PGRST100",
            '"failed to parse filter (near.1)" (line 1, column 1)',
            'unexpected "n" expecting "not" or operator (eq, gt, ...)',
            None,
        ),
    ),
    "several relationships": (
        lambda db: db.table("trips").select("clients(*)"),
        (
            "PGRST201",
            "Could not embed because more than one relationship was found for 'trips' and 'clients'",
            [
                {
                    "cardinality": "many-to-one",
                    "embedding": "trips with clients",
                    "relationship": f"trips_{column}_fkey using trips({column}) and clients(id)",
                }
                for column in ("goal", "origin")
            ],
            "Try changing 'clients' to one of the following: 'clients!trips_goal_fkey', 'clients!trips_origin_fkey'. "
            "Find the desired relationship in the 'details' key.",
        ),
    ),
    "a page past the end": (
        lambda db: db.table("clients").select("*", count="exact").range(5, 9),
        (
            "PGRST103",
            "Requested range not satisfiable",
            "An offset of 5 was requested, but there are only 2 rows.",
            None,
        ),
    ),
    "an unknown function": (
        lambda db: db.rpc("add_then", {"a": 1}, get=True),
        (
            "PGRST202",
            "Could not find the function public.add_then(a) in the schema cache",
            "Searched for the function public.add_then with parameter a, but no matches were found in the schema cache.",
            "Perhaps you meant to call the function public.add_them",
        ),
    ),
    "an error raised in a function": (
        lambda db: db.rpc("fail_with", {"kind": "raise"}),
        ("P0001", "no more water", "level is 0", "wait for rain"),
    ),
    "an answer raised in a function": (
        lambda db: db.rpc("fail_with", {"kind": "full"}),
        ("W42", "teapot", "short", "stout"),
    ),
    "the same key twice": (
        lambda db: db.table("clients").insert({"id": 1, "name": "again"}),
        (
            "23505",
            'duplicate key value violates unique constraint "clients_pkey"',
            "Key (id)=(1) already exists.",
            None,
        ),
    ),
    "a schema that is not exposed": (
        lambda db: db.client.schema("cellar").table("wine").select("*"),
        (
            "PGRST106",
            "Invalid schema: cellar",
            None,
            "Only the following schemas are exposed: public, graphql_public, warehouse",
        ),
    ),
}


@pytest.mark.parametrize(("query", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_refusal_has_code_message_details_and_hint(
    db: Caller, query: Query, expected: tuple[str, str, Any, str | None]
) -> None:
    error = await db.refusal(query(db))

    assert (error.code, error.message, error.details, error.hint) == expected
    assert error.json() == dict(zip(("code", "message", "details", "hint"), expected, strict=True))


async def test_refusal_without_a_body_has_its_code(db: Caller) -> None:
    table = await db.refusal(db.table("project").select("*", head=True))
    column = await db.refusal(db.table("projects").select("wavelength", head=True))
    function = await db.refusal(db.rpc("add_parcel", {"parcel": "x"}, head=True))

    assert (table.code, table.message, table.details) == ("PGRST205", "Not Found", None)
    assert (column.code, column.message) == ("42703", "Bad Request")
    assert (function.code, function.message) == ("25006", "Method Not Allowed")


async def test_row_level_security_keeps_two_people_apart(people: dict[str, Caller]) -> None:
    ada, bob, nobody = people["ada"], people["bob"], people["nobody"]
    await ada.run(ada.table("secrets").insert({"owner": "ada", "body": "hers"}))

    seen = [await one.rows(one.table("secrets").select("body")) for one in (ada, bob, nobody)]
    forged = await bob.refusal(bob.table("secrets").insert({"owner": "ada", "body": "forged"}))
    changed = await bob.rows(bob.table("secrets").update({"body": "his"}).eq("owner", "ada"))
    removed = await ada.rows(ada.table("secrets").delete().eq("owner", "ada"))

    assert seen == [[{"body": "hers"}], [], []]
    assert (forged.code, forged.message) == (
        "42501",
        'new row violates row-level security policy for table "secrets"',
    )
    assert changed == []
    assert len(removed) == 1


async def test_tokens_and_rights_that_do_not_suffice(people: dict[str, Caller]) -> None:
    expired, nobody = people["expired"], people["nobody"]

    late = await expired.refusal(expired.table("clients").select("*"))
    closed = await nobody.refusal(nobody.table("hidden").select("*"))

    assert (late.code, late.message) == ("PGRST303", "JWT expired")
    assert (closed.code, closed.message) == ("42501", "permission denied for table hidden")
