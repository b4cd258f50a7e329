"""Recognition against Postgres: whatever the policies, rows and claims, what is judged without SQL is what SQL says."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.realtime_rules import may_see, read_claims
from tests.fuzz.mutate import near_text
from tests.workers.realtime.realtime_pool import ALICE, BOB, RealtimePool
from workers.realtime.expression_nodes import UNKNOWN
from workers.realtime.expressions import parse_expression
from workers.realtime.recognition import PolicyColumn, PolicyScope, recognise

COLUMNS = (
    "id int primary key, owner uuid, title text, label varchar(40), org int8, small int2, price numeric(8,2),"
    " open boolean, code char(8)"
)
ROWS = [
    (1, ALICE, ALICE, "authenticated", 5, 5, "5.00", True, "a"),
    (2, BOB, ALICE.upper(), "a", 99999999999, -5, "NaN", False, "b"),
    (3, None, None, None, None, None, None, None, None),
    (4, ALICE, "a", "it's", 0, 0, "0.10", None, "5"),
    (5, BOB, "5", "5", 2147483648, 7, "7", True, "7"),
]

TEXTS = ["owner::text", "title", "label", "org::text", "small::text", "code", "lower(title)", "id::text"]
CLAIM_TEXTS = [
    "auth.uid()::text", "(select auth.uid())::text", "auth.jwt() ->> 'sub'", "auth.email()", "auth.role()",
    "auth.jwt() -> 'app_metadata' ->> 'tenant'", "(select auth.jwt() ->> 'org')", "(auth.jwt() ->> 'role')",
    "current_setting('request.jwt.claims', true)::json ->> 'org'", "auth.jwt() -> 'list' ->> 'x'",
    "upper(auth.email())",
]  # fmt: skip
CLAIM_NUMBERS = [
    f"({claim})::{kind}"
    for claim in CLAIM_TEXTS[5:7]
    for kind in ("int2", "int", "int8", "numeric", "float8")
]
NUMBERS = ["org", "small", "price", "small::int", "org::numeric", "id", "id::float8"]
CONSTANTS = ["'a'", "'5'", "'it''s'", f"'{ALICE}'", "'authenticated'", "'a\\b'"]
DIGITS = ["5", "0", "-5", "5.0", "99999999999", "'NaN'::numeric", "7::int2"]
UUIDS = [
    "auth.uid()",
    "(select auth.uid())",
    f"'{ALICE}'::uuid",
    "(auth.jwt() ->> 'sub')::uuid",
    "(auth.jwt() ->> 'org')::uuid",
]
BOOLEANS = [
    "true",
    "false",
    "open",
    "not open",
    "open is true",
    "open is false",
    "open is not true",
    "open = false",
    "open is null",
]

equalities = st.one_of(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from(CLAIM_TEXTS + CONSTANTS)),
    st.tuples(st.sampled_from(NUMBERS), st.sampled_from(CLAIM_NUMBERS + DIGITS)),
    st.tuples(st.just("owner"), st.sampled_from(UUIDS)),
    st.tuples(st.sampled_from(CLAIM_TEXTS), st.sampled_from(CONSTANTS)),
)
members = st.one_of(
    st.tuples(
        st.sampled_from(TEXTS + CLAIM_TEXTS), st.lists(st.sampled_from(CONSTANTS), min_size=1, max_size=3)
    ),
    st.tuples(st.sampled_from(NUMBERS), st.lists(st.sampled_from(DIGITS), min_size=1, max_size=3)),
)
certain = st.sampled_from(
    [
        "open",
        "not open",
        "owner = auth.uid()",
        "title = auth.uid()::text",
        "title = 'a'",
        "org = 5",
        "title = auth.email()",
    ]
)
"""What is often written, so that whole rules are recognised often enough."""
simple = st.one_of(
    certain,
    certain,
    certain,
    equalities.map(lambda pair: f"not ({pair[0]} = {pair[1]})"),
    st.sampled_from(BOOLEANS),
    st.tuples(equalities, st.booleans()).map(lambda pair: " = ".join(pair[0][:: -1 if pair[1] else 1])),
    members.map(lambda pair: f"{pair[0]} in ({', '.join(pair[1])})"),
)
expressions = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda it: f"({it[0]}) {it[1]} ({it[2]})"
        ),
        inner,
    ),
    max_leaves=4,
)
subjects = st.sampled_from([ALICE, ALICE.upper(), "{" + BOB + "}", "no uuid", "", None, 5])
values = st.sampled_from(
    ["5", 5, " 5", "a", "x", 5.0, 1e2, "5.00", 99999999999, "99999999999", None, True, [1], {"x": "a"}, ALICE]
)


@st.composite
def claims(draw: st.DrawFn) -> bytes:
    found: dict[str, Any] = {
        "role": "authenticated",
        "sub": draw(subjects),
        "org": draw(values),
        "email": draw(values),
    }
    found["app_metadata"] = draw(st.one_of(values, values.map(lambda value: {"tenant": value})))
    found["list"] = draw(values)
    if draw(st.booleans()):
        del found[draw(st.sampled_from(["sub", "org", "email", "app_metadata"]))]
    return json.dumps(found).encode()


@pytest.fixture(scope="module")
async def table(realtime_pool: RealtimePool) -> str:
    name = await realtime_pool.table(COLUMNS)
    places = ", ".join(
        f"${number}::text::{kind}"
        for number, kind in enumerate(
            ["int", "uuid", "text", "varchar", "int8", "int2", "numeric", "boolean", "bpchar"], 1
        )
    )
    for row in ROWS:
        await realtime_pool.sql(
            f"insert into {name} values ({places})", *(None if one is None else str(one) for one in row)
        )
    return name


judged = {"by rule": 0, "by sql": 0}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(policies=st.lists(st.tuples(st.booleans(), expressions), min_size=1, max_size=3), raw=claims())
async def test_what_is_judged_without_sql_is_what_sql_says(
    realtime_pool: RealtimePool, table: str, policies: list[tuple[bool, str]], raw: bytes
) -> None:
    await realtime_pool.sql(
        f"do $$ declare p text; begin for p in select polname from pg_policy where polrelid = '{table}'::regclass loop"
        f" execute format('drop policy %I on {table}', p); end loop; end $$"
    )
    for number, (is_permissive, expression) in enumerate(policies):
        kind = "permissive" if is_permissive or number == 0 else "restrictive"
        await realtime_pool.sql(
            f"create policy p{number} on {table} as {kind} for select using ({expression})"
        )

    rule = (await realtime_pool.described(table)).rule
    seen = (
        await realtime_pool.visible(table, [[str(row[0]).encode()] for row in ROWS], ("authenticated", raw))
    )[0]
    log = await realtime_pool.admin.fetch(
        f"select (select json_object_agg(key, value::text) from jsonb_each(to_jsonb(t))) from {table} as t order by id"
    )

    read = read_claims(raw)
    assert read is not None
    for (columns,), is_seen in zip(log, seen, strict=True):
        carried = {name: value.encode() for name, value in json.loads(columns).items()}
        verdict = may_see(rule, carried, read)
        judged["by sql" if verdict is None else "by rule"] += 1
        assert verdict is None or verdict == bool(is_seen), (rule, carried, raw)


def test_much_of_it_was_judged_without_sql() -> None:
    if not any(judged.values()):
        pytest.skip("the test above did not run")
    assert judged["by rule"] > judged["by sql"] / 4


SCOPE = PolicyScope({"a": PolicyColumn("text"), "b": PolicyColumn("boolean")}, "anon")


RULES = [
    "((owner = auth.uid()) OR (title = 'it''s'::text))",
    "(( SELECT auth.uid() AS uid) = owner)",
    "((title = ANY (ARRAY['a'::text, 'b'::text])) AND (NOT (open IS TRUE)))",
    "((((auth.jwt() -> 'app_metadata'::text) ->> 'tenant'::text))::bigint = org)",
    "((current_setting('request.jwt.claims'::text, true))::json ->> 'org'::text) = lower(title)",
]


@given(
    near_text(
        RULES,
        [
            "(",
            ")",
            "'",
            "::",
            "AND",
            "OR",
            "NOT",
            "=",
            "->>",
            "auth.uid()",
            "SELECT",
            '"',
            "E'",
            "$$",
            "(" * 300,
        ],
    )
)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_a_rule(text: str) -> None:
    recognise(text, SCOPE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        ")",
        "((a = 'x'::text)",
        "a = 'x",
        "f(" * 3000 + ")" * 3000,
        "(" * 4000 + "true" + ")" * 4000,
        "NOT " * 2400 + "b",
    ],
)
def test_what_postgres_does_not_write_is_unknown(text: str) -> None:
    assert parse_expression(text) == UNKNOWN
