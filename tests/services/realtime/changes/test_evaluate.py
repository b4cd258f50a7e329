"""Matching by the index gives what looking at every subscription would give."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import ChangeBatch, ChangeKind, RowChange, Values
from schemas.realtime import (
    AllOf,
    AnyOf,
    ChangeSubscription,
    CheckedSubscription,
    ClaimRule,
    ConstantRule,
    EveryRow,
    FilterCondition,
    NoRow,
    Rule,
    SqlRule,
)
from schemas.realtime_rules import may_see
from schemas.row_filters import passes
from services.realtime.changes.claims_groups import group_of
from services.realtime.changes.evaluate import judge
from services.realtime.changes.subscribers import PipelineSubscriber, SharedSubscription, resolve_subscription
from services.realtime.changes.subscription_index import SubscriptionIndex
from tests.services.realtime.changes.listener import Listener
from tests.services.realtime.changes.log import ITEMS, MADE, json_of
from tests.services.realtime.changes.pool import table

USERS = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
NAMES = [column.name for column in ITEMS]

subs = st.sampled_from([*USERS, USERS[0].upper(), "no uuid", None, 7])
leaves: st.SearchStrategy[Rule] = st.sampled_from([
    EveryRow(), NoRow(), SqlRule(),
    ClaimRule("user_id", ["sub"], "uuid"), ClaimRule("body", ["sub"], "text"), ClaimRule("amount", ["n"], "number"),
    ConstantRule("body", "x", "text"), ConstantRule("amount", "1", "number"),
])  # fmt: skip
rules = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(AllOf), st.lists(inner, min_size=1, max_size=3).map(AnyOf)
    ),
    max_leaves=4,
)
filters = st.sampled_from([
    [], [FilterCondition("amount", "eq", ["1"], False, "numeric", "number")], [FilterCondition("amount", "in", ["1", "2"], False, "numeric", "number")],
    [FilterCondition("user_id", "eq", [USERS[0]], False, "uuid", "uuid")], [FilterCondition("amount", "gt", ["1"], False, "numeric", "number")],
    [FilterCondition("body", "like", ["x%"], False, "text", "")], [FilterCondition("amount", "eq", ["NaN"], False, "numeric", "number")],
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


@given(
    people,
    rules,
    st.sampled_from([ChangeKind.INSERT, ChangeKind.UPDATE, ChangeKind.DELETE]),
    values,
    st.booleans(),
)
def test_the_index_finds_all_that_match_and_nothing_else(
    crowd: list[tuple[str, object, object, str, tuple[str, str], list[FilterCondition]]],
    rule: Rule,
    kind: ChangeKind,
    row: Values,
    are_deletes_checked: bool,
) -> None:
    index, placed = SubscriptionIndex(), []
    for number, (role, sub, amount, event, (schema, name), conditions) in enumerate(crowd):
        listener = Listener(role, sub=sub, n=amount)
        subscription = resolve_subscription(
            ChangeSubscription(event, schema, name), number, CheckedSubscription(filters=conditions)
        )
        placed.append(PipelineSubscriber(listener, group_of(role, listener.claims), (subscription,), 0))
        index.add(placed[-1])
    grants = {"anon": table(), "authenticated": table(rule)}
    change = RowChange(kind, None, row) if kind is ChangeKind.DELETE else RowChange(kind, row)
    batch = ChangeBatch("public", "items", 1, 0, MADE, 0, ITEMS, "f", [change])

    judged = judge(batch, grants, index, deletes_are_checked=are_deletes_checked)

    sure = {subscriber for shared in judged.matched[0] for subscriber in shared.single}
    unsure = {subscriber for doubt in judged.doubts for subscriber in doubt.shared.single}
    expected = {
        subscriber: _expected(subscriber, kind, row, rule, are_deletes_checked) for subscriber in placed
    }
    assert sure == {subscriber for subscriber in placed if expected[subscriber] is True}
    assert unsure == {subscriber for subscriber in placed if expected[subscriber] is None}


def _expected(
    subscriber: PipelineSubscriber, kind: ChangeKind, row: Values, rule: Rule, are_deletes_checked: bool
) -> bool | None:
    (subscription,) = subscriber.subscriptions
    named = dict(zip(NAMES, row, strict=True))
    if subscription.pattern[1] not in ("items", "*") or subscription.kind not in (None, kind):
        return False
    by_filter = passes(subscription.filters, named)
    if kind is ChangeKind.DELETE and subscriber.group.role == "authenticated":
        is_seen = may_see(rule, named, subscriber.group.claims or {}) is True
        if not is_seen and any(condition.column != "id" for condition in subscription.filters):
            return False  # a filter on a hidden value would tell it
    has_rule = subscriber.group.role == "authenticated" and (
        kind is not ChangeKind.DELETE or are_deletes_checked
    )
    by_rule = may_see(rule, named, subscriber.group.claims or {}) if has_rule else True
    if by_filter is False or by_rule is False or (by_rule is None and kind is ChangeKind.DELETE):
        return False
    return None if by_filter is None or by_rule is None else True


@given(people)
def test_who_leaves_leaves_nothing(
    crowd: list[tuple[str, object, object, str, tuple[str, str], list[FilterCondition]]],
) -> None:
    index, placed = SubscriptionIndex(), []
    for number, (role, sub, amount, event, (schema, name), conditions) in enumerate(crowd):
        listener = Listener(role, sub=sub, n=amount)
        subscription = resolve_subscription(
            ChangeSubscription(event, schema, name), number % 2, CheckedSubscription(filters=conditions)
        )
        placed.append(PipelineSubscriber(listener, group_of(role, listener.claims), (subscription,), 0))
        index.add(placed[-1])
    list(index.by_rule(("public", "items"), "anon", ClaimRule("body", ["sub"], "text"), {}))

    for subscriber in placed:
        index.remove(subscriber)

    found: list[SharedSubscription] = list(index.all_of(("public", "items"), "anon"))
    assert (index.patterns, found, index.roles(("public", "items"))) == ([], [], set())
