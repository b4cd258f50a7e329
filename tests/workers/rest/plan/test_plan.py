"""What a request does as a whole: reference page, sections 1, 4, 11 and 12."""

import pytest

from tests.workers.rest.plan.asking import plan
from workers.database.transactions.model import TransactionEnd
from workers.rest.errors.base import RestError
from workers.rest.errors.plan import BadPreferences, RelationNotFound

OBJECT = "application/vnd.pgrst.object+json"


@pytest.mark.parametrize(
    ("relation", "hint"),
    [
        ("client", "clients"),
        ("Clients", "clients"),
        ("project", "projects"),
        ("badgers", "badges"),
        ("zebra", None),
        ("", None),
        ("c" * 300, None),
    ],
)
def test_an_unknown_relation_is_refused_with_the_nearest_name(relation: str, hint: str | None) -> None:
    with pytest.raises(RelationNotFound) as caught:
        plan("DELETE", f"/{relation or '%20'}")

    name = relation or " "
    assert caught.value.status == 404
    assert caught.value.body() == {
        "code": "PGRST205",
        "message": f"Could not find the table 'public.{name}' in the schema cache",
        "details": None,
        "hint": f"Perhaps you meant the table 'public.{hint}'" if hint else None,
    }


@pytest.mark.parametrize(
    ("method", "body", "read_only", "returns_rows"),
    [
        ("GET", None, True, True),
        ("HEAD", None, True, False),
        ("POST", "{}", False, False),
        ("PATCH", "{}", False, False),
        ("DELETE", None, False, False),
    ],
)
def test_reads_are_read_only_and_writes_show_nothing_by_default(
    method: str, body: str | None, read_only: bool, returns_rows: bool
) -> None:
    found = plan(method, "/clients", body)

    assert (found.read_only, found.returns_rows) == (read_only, returns_rows)


@pytest.mark.parametrize(
    ("method", "target", "prefer", "exactly", "by_plan", "limit"),
    [
        ("GET", "/clients", "", False, False, None),
        ("GET", "/clients", "count=exact", True, False, None),
        ("GET", "/clients", "count=planned", False, True, None),
        ("GET", "/clients", "count=estimated", True, True, 10),
        ("HEAD", "/clients", "count=exact", True, False, None),
        ("GET", "/rpc/all_projects", "count=exact", True, False, None),
        ("GET", "/rpc/all_projects", "count=planned", False, False, None),
        ("GET", "/rpc/all_projects", "count=estimated", True, False, None),
        ("POST", "/clients", "count=exact", True, False, None),
        ("DELETE", "/clients", "count=planned", False, False, None),
        ("POST", "/clients", "count=estimated", True, False, None),
    ],
)
def test_counts(
    method: str, target: str, prefer: str, exactly: bool, by_plan: bool, limit: int | None
) -> None:
    found = plan(method, target, "{}" if method == "POST" else None, prefer=prefer, max_rows=10)

    assert (found.counts_exactly, found.counts_by_plan, found.count_limit) == (exactly, by_plan, limit)


@pytest.mark.parametrize(
    ("tx_end", "prefer", "end", "applied"),
    [
        ("commit", "", TransactionEnd.COMMIT, False),
        ("commit", "tx=rollback", TransactionEnd.COMMIT, False),
        ("commit-allow-override", "", TransactionEnd.COMMIT, False),
        ("commit-allow-override", "tx=rollback", TransactionEnd.ROLLBACK, True),
        ("commit-allow-override", "tx=commit", TransactionEnd.COMMIT, True),
        ("rollback", "tx=commit", TransactionEnd.ROLLBACK, False),
        ("rollback-allow-override", "", TransactionEnd.ROLLBACK, False),
        ("rollback-allow-override", "tx=commit", TransactionEnd.COMMIT, True),
    ],
)
def test_the_end_of_the_transaction(tx_end: str, prefer: str, end: TransactionEnd, applied: bool) -> None:
    found = plan("DELETE", "/clients", prefer=prefer, tx_end=tx_end)

    assert (found.end, found.tx_applied) == (end, applied)


@pytest.mark.parametrize(
    ("method", "target", "body", "headers", "end"),
    [
        (
            "DELETE",
            "/clients",
            None,
            {"accept": OBJECT, "prefer": "return=representation"},
            TransactionEnd.DECIDE,
        ),
        ("GET", "/clients", None, {"accept": OBJECT}, TransactionEnd.COMMIT),
        ("PUT", "/clients?id=eq.1", '{"id":1}', {}, TransactionEnd.DECIDE),
        ("DELETE", "/clients", None, {"prefer": "handling=strict,max-affected=1"}, TransactionEnd.DECIDE),
        ("PATCH", "/clients", "{}", {"prefer": "handling=strict,max-affected=1"}, TransactionEnd.DECIDE),
        ("DELETE", "/clients", None, {"prefer": "max-affected=1"}, TransactionEnd.COMMIT),
        ("POST", "/clients", "{}", {"prefer": "handling=strict,max-affected=1"}, TransactionEnd.COMMIT),
        ("GET", "/clients", None, {"prefer": "handling=strict,max-affected=1"}, TransactionEnd.COMMIT),
        ("PUT", "/clients?id=eq.1", '{"id":1}', {"tx_end": "rollback"}, TransactionEnd.ROLLBACK),
    ],
)
def test_writes_whose_rows_are_looked_at_wait_with_their_end(
    method: str, target: str, body: str | None, headers: dict[str, str], end: TransactionEnd
) -> None:
    assert plan(method, target, body, **headers).end is end


@pytest.mark.parametrize(
    ("method", "target"), [("GET", "/clients"), ("PATCH", "/clients"), ("POST", "/rpc/nothing")]
)
def test_strict_handling_refuses_what_it_does_not_know(method: str, target: str) -> None:
    with pytest.raises(BadPreferences) as caught:
        plan(method, target, "{}", prefer="handling=strict, foo, tx=maybe, count=exact")

    assert caught.value.body() == {
        "code": "PGRST122",
        "message": "Invalid preferences given with handling=strict",
        "details": "Invalid preferences: foo, tx=maybe",
        "hint": None,
    }
    assert plan(method, target, "{}", prefer="handling=lenient, foo").request.preferences.invalid == ("foo",)


@pytest.mark.parametrize(
    ("method", "target", "body", "code"),
    [
        ("GET", "/nothing?select=x(*)", None, "PGRST205"),
        ("GET", "/projects?select=x(*)", None, "PGRST200"),
        ("GET", "/projects", None, "PGRST107"),
        ("POST", "/projects?select=x(*)", '{"nope":1}', "PGRST200"),
        ("POST", "/projects", '{"nope":1}', "PGRST204"),
        ("PUT", "/projects", '{"id":1}', "PGRST105"),
        ("PUT", "/projects", '{"nope":1}', "PGRST204"),
        ("POST", "/projects", '{"id":1}', "PGRST122"),
        ("GET", "/rpc/nope?select=x(*)", None, "PGRST202"),
        ("GET", "/rpc/over?a=1&select=x(*)", None, "PGRST203"),
        ("GET", "/rpc/all_projects?select=x(*)", None, "PGRST200"),
        ("GET", "/rpc/all_projects", None, "PGRST107"),
    ],
)
def test_refusals_win_in_their_order(method: str, target: str, body: str | None, code: str) -> None:
    with pytest.raises(RestError) as caught:
        plan(method, target, body, accept="no/type", prefer="handling=strict, foo")

    assert caught.value.code == code
