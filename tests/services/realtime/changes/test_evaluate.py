"""Matching by the index gives what looking at every subscription would give."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import Batch, Kind, RowChange, Values
from schemas.realtime import (
    AllOf,
    AnyOf,
    BySql,
    CheckedEntry,
    Entry,
    Everybody,
    Filter,
    IsClaim,
    IsConstant,
    Nobody,
    Rule,
)
from schemas.realtime_rules import may_see
from services.realtime.changes.evaluate import judge
from services.realtime.changes.filters import passes
from services.realtime.changes.groups import group_of
from services.realtime.changes.index import Index
from services.realtime.changes.seats import Node, Seat, binding_of
from tests.services.realtime.changes.listener import Listener
from tests.services.realtime.changes.log import ITEMS, MADE, json_of
from tests.services.realtime.changes.pool import table

USERS = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
NAMES = [column.name for column in ITEMS]

subs = st.sampled_from([*USERS, USERS[0].upper(), "no uuid", None, 7])
leaves: st.SearchStrategy[Rule] = st.sampled_from([
    Everybody(), Nobody(), BySql(),
    IsClaim("user_id", ["sub"], "uuid"), IsClaim("body", ["sub"], "text"), IsClaim("amount", ["n"], "number"),
    IsConstant("body", "x", "text"), IsConstant("amount", "1", "number"),
])  # fmt: skip
rules = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(AllOf), st.lists(inner, min_size=1, max_size=3).map(AnyOf)
    ),
    max_leaves=4,
)
filters = st.sampled_from([
    [], [Filter("amount", "eq", ["1"], False, "numeric", "number")], [Filter("amount", "in", ["1", "2"], False, "numeric", "number")],
    [Filter("user_id", "eq", [USERS[0]], False, "uuid", "uuid")], [Filter("amount", "gt", ["1"], False, "numeric", "number")],
    [Filter("body", "like", ["x%"], False, "text", "")], [Filter("amount", "eq", ["NaN"], False, "numeric", "number")],
])  # fmt: skip
values = st.tuples(
    st.integers(0, 9).map(json_of),
    st.one_of(st.none(), st.sampled_from([*USERS, None]).map(json_of)),
    st.one_of(st.none(), st.sampled_from(["x", "no uuid", *USERS, None]).map(json_of)),
    st.one_of(st.none(), st.sampled_from([b"1", b"1.0", b"2", b'"NaN"', b"null"])),
).map(list)
people = st.lists(
    st.tuples(st.sampled_from(["anon", "authenticated"]), subs, st.sampled_from(["1", 2, None]),
              st.sampled_from(["*", "INSERT", "DELETE"]), st.sampled_from([("public", "items"), ("public", "*"), ("*", "*"), ("public", "other")]), filters),
    min_size=1, max_size=8,
)  # fmt: skip


@given(people, rules, st.sampled_from([Kind.INSERT, Kind.UPDATE, Kind.DELETE]), values, st.booleans())
def test_the_index_finds_all_that_match_and_nothing_else(
    crowd: list[tuple[str, object, object, str, tuple[str, str], list[Filter]]],
    rule: Rule,
    kind: Kind,
    row: Values,
    are_deletes_checked: bool,
) -> None:
    index, seats = Index(), []
    for number, (role, sub, amount, event, (schema, name), conditions) in enumerate(crowd):
        listener = Listener(role, sub=sub, n=amount)
        binding = binding_of(Entry(event, schema, name), number, CheckedEntry(filters=conditions))
        seats.append(Seat(listener, group_of(role, listener.claims), (binding,), 0))
        index.add(seats[-1])
    grants = {"anon": table(), "authenticated": table(rule)}
    change = RowChange(kind, None, row) if kind is Kind.DELETE else RowChange(kind, row)
    batch = Batch("public", "items", 1, 0, MADE, 0, ITEMS, "f", [change])

    judged = judge(batch, grants, index, deletes_are_checked=are_deletes_checked)

    sure = {seat for node in judged.matched[0] for seat in node.single}
    unsure = {seat for doubt in judged.doubts for seat in doubt.node.single}
    expected = {seat: _expected(seat, kind, row, rule, are_deletes_checked) for seat in seats}
    assert sure == {seat for seat in seats if expected[seat] is True}
    assert unsure == {seat for seat in seats if expected[seat] is None}


def _expected(seat: Seat, kind: Kind, row: Values, rule: Rule, are_deletes_checked: bool) -> bool | None:
    (binding,) = seat.bindings
    named = dict(zip(NAMES, row, strict=True))
    if binding.pattern[1] not in ("items", "*") or binding.kind not in (None, kind):
        return False
    by_filter = passes(binding.filters, named)
    if kind is Kind.DELETE and seat.group.role == "authenticated":
        is_seen = may_see(rule, named, seat.group.claims or {}) is True
        if not is_seen and any(condition.column != "id" for condition in binding.filters):
            return False  # a filter on a hidden value would tell it
    has_rule = seat.group.role == "authenticated" and (kind is not Kind.DELETE or are_deletes_checked)
    by_rule = may_see(rule, named, seat.group.claims or {}) if has_rule else True
    if by_filter is False or by_rule is False or (by_rule is None and kind is Kind.DELETE):
        return False
    return None if by_filter is None or by_rule is None else True


@given(people)
def test_who_leaves_leaves_nothing(
    crowd: list[tuple[str, object, object, str, tuple[str, str], list[Filter]]],
) -> None:
    index, seats = Index(), []
    for number, (role, sub, amount, event, (schema, name), conditions) in enumerate(crowd):
        listener = Listener(role, sub=sub, n=amount)
        binding = binding_of(Entry(event, schema, name), number % 2, CheckedEntry(filters=conditions))
        seats.append(Seat(listener, group_of(role, listener.claims), (binding,), 0))
        index.add(seats[-1])
    list(index.by_rule(("public", "items"), "anon", IsClaim("body", ["sub"], "text"), {}))

    for seat in seats:
        index.remove(seat)

    found: list[Node] = list(index.all_of(("public", "items"), "anon"))
    assert (index.patterns, found, index.roles(("public", "items"))) == ([], [], set())
