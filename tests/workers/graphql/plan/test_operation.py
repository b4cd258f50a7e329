"""Plans of operations, and the messages for operations that are rejected, on a schema written by hand."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from tests.workers.graphql.plan.small_schema import account, schema
from workers.graphql.compilation import compile_operation
from workers.graphql.errors import GraphQLFailure
from workers.graphql.parse.document import choose_operation, parse_document
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, PlanDependencies
from workers.graphql.plan.operation import OperationPlan, plan_operation
from workers.graphql.plan.order import plan_order
from workers.graphql.plan.tree import ConnectionPlan, InsertPlan

ACCOUNTS = "accountCollection(%s) { edges { node { id } } }"


def plan(
    text: str,
    variables: Mapping[str, object] | None = None,
    dependencies: PlanDependencies | None = None,
    limits: OperationLimits | None = None,
) -> OperationPlan:
    bounds = limits or OperationLimits()
    document = parse_document(text, bounds)
    return plan_operation(
        document,
        choose_operation(document, None),
        schema,
        variables or {},
        bounds,
        dependencies or PlanDependencies(),
    )


def failures(text: str, variables: Mapping[str, object] | None = None) -> list[str]:
    return [str(one.work) for one in plan(text, variables).fields if isinstance(one.work, GraphQLFailure)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nothing: 1", 'Input contains extra keys ["nothing"]'),
        ("first: -1", "`first` must be an unsigned integer"),
        ("offset: -1", "`offset` must be an unsigned integer"),
        ("first: 1.5", "Invalid input for Int type"),
        ("first: [1]", "Invalid input for Int type"),
        ("first: 1, last: 1", 'only one of "first" and "last" may be provided'),
        ('before: "WzFd", after: "WzFd"', 'only one of "before" and "after" may be provided'),
        ('first: 1, before: "WzFd"', '"first" may only be used with "after"'),
        ('last: 1, after: "WzFd"', '"last" may only be used with "before"'),
        ("offset: 1, last: 1", '"offset" may only be used with "first" and "after"'),
        ('after: "?"', "Failed to decode cursor, error 1"),
        ('after: "/w=="', "Failed to decode cursor, error 2"),
        ('after: "eHg="', "Failed to decode cursor, error 3"),
        ('after: "MQ=="', "Failed to decode cursor, error 4"),
        ('after: "WzEsMl0="', "orderBy clause incompatible with pagination cursor"),
        ("after: 1", "Invalid input for Cursor type"),
        ("filter: 1", "Invalid input for AccountFilter type"),
        ("filter: {id: 1}", "Invalid input for IntFilter type"),
        ("filter: {id: {eq: [1]}}", "Invalid input for Int type"),
        ("filter: {id: {like: 1}}", 'Input for type IntFilter contains extra keys ["like"]'),
        ("filter: {hidden: {eq: 1}}", 'Input for type AccountFilter contains extra keys ["hidden"]'),
        ("filter: {data: {eq: 1}}", 'Input for type AccountFilter contains extra keys ["data"]'),
        ("filter: {email: {eq: \"toolong\"}}", "Invalid input for String type. Maximum character length 5"),
        ("filter: {score: {eq: 1}}", "Invalid input for BigFloat type. String required"),
        ("filter: {mood: {eq: GOOD}}", "Invalid input for Mood type"),
        ("filter: {and: 1}", "Invalid input for AccountFilter type"),
        ("filter: {tags: {contains: [1]}}", "Invalid input for String type"),
        ("filter: {id: {in: [1, null]}}", "Invalid input for NonNull type"),
        ("filter: {tags: {overlaps: [null]}}", "Invalid input for NonNull type"),
        ('filter: {nodeId: {eq: "WyJwdWJsaWMiLCAiYWNjb3VudCIsIDEsIDJd"}}', "Invalid value passed to nodeId argument. Error 5"),
        ("filter: {nodeId: {eq: null}}", "Invalid value passed to nodeId argument, Error 1"),
        ("filter: {id: {is: 1}}", "Invalid input for FilterIs type"),
        ("filter: {nodeId: {eq: \"x\"}}", "Invalid value passed to nodeId argument. Error 2"),
        ("orderBy: 1", "Invalid input for AccountOrderBy type"),
        (f"orderBy: [{'{id: AscNullsLast}' * 101}]", "An order has at most 100 terms"),
        ("orderBy: {id: Up}", "Invalid input for OrderByDirection type"),
        ("orderBy: {tags: AscNullsLast}", 'Input for type AccountOrderBy contains extra keys ["tags"]'),
    ],
)  # fmt: skip
def test_arguments_of_a_connection_are_rejected_with_the_messages_of_the_original(
    arguments: str, message: str
) -> None:
    assert failures(f"{{ {ACCOUNTS % arguments} }}") == [message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ nothing }", 'Unknown field "nothing" on type Query'),
        ("{ account { id } }", 'Unknown field "account" on type Query'),
        ("{ accountByPk { id } }", "Missing primary key column(s): id"),
        ("{ accountByPk(id: 1) { x } }", 'Unknown field "x" on type Account'),
        ("{ accountCollection { x } }", "unknown field in connection"),
        ("{ accountCollection { totalCount } }", "unknown field in connection"),
        ("{ accountCollection { aggregate { count } } }", "enable the aggregate directive to use aggregates"),
        ("{ accountCollection { edges { x } } }", "unknown field in edge"),
        ("{ accountCollection { pageInfo { x } } }", "unknown field in pageInfo"),
        ("{ accountCollection { edges { node { hidden } } } }", "Unknown field 'hidden' on type 'Account'"),
        ("{ accountCollection { edges { node { id(x: 1) } } } }", 'Input contains extra keys ["x"]'),
        ("{ accountCollection { edges { ...F } } } fragment F on Blog { id }", "no fragment named F on type AccountEdge"),
        ("{ accountCollection { edges { ...F } } }", "no fragment named F on type AccountEdge"),
        ("{ accountCollection { edges { node { id @upper } } } }", "Unknown directive upper"),
        ("{ accountCollection { edges { node { id @skip } } } }", 'Value for "if" in @skip directive is required'),
        ("{ accountCollection { edges { node { a: id a: email } } } }", "Fields `email` and `id` are different"),
        ("mutation { insertIntoAccountCollection(objects: []) { affectedCount } }", "At least one record must be provided to objects"),
        ("mutation { insertIntoAccountCollection(objects: [null]) { affectedCount } }", "Invalid input for NonNull type"),
        ("mutation { insertIntoAccountCollection { affectedCount } }", "Invalid input for NonNull type"),
        ('mutation { insertIntoAccountCollection(objects: {id: 1}) { affectedCount } }', 'Input for type AccountInsertInput contains extra keys ["id"]'),
        ("mutation { insertIntoAccountCollection(objects: {email: \"a\"}) { x } }", "unknown field in insert"),
        ("mutation { updateAccountCollection(set: {}) { affectedCount } }", "At least one mapping must be provided to set argument"),
        ("mutation { updateAccountCollection(set: {hidden: 1}) { affectedCount } }", 'Input for type AccountUpdateInput contains extra keys ["hidden"]'),
        ("mutation { deleteFromAccountCollection(atMost: null) { affectedCount } }", "Invalid input for NonNull type"),
    ],
)  # fmt: skip
def test_root_fields_are_rejected_with_the_messages_of_the_original(text: str, message: str) -> None:
    assert failures(text) == [message]


@pytest.mark.parametrize("argument", ["filter: $f", "filter: {or: [$f]}"])
def test_the_objects_of_a_filter_in_variables_are_bounded(argument: str) -> None:
    text = f"query ($f: AccountFilter) {{ {ACCOUNTS % argument} }}"

    few = failures(text, {"f": {"and": [{"id": {"in": [1] * 20_000}}] * 100}})
    many = failures(text, {"f": {"and": [{"id": {"eq": 1}}] * 5_000}})

    assert few == []
    assert many == ["A filter has at most 10000 objects; compare with a list by `in` instead"]


def test_a_conflict_between_root_fields_is_the_failure_of_the_operation() -> None:
    with pytest.raises(GraphQLFailure, match="Two fields named `blogCollection` have different arguments"):
        plan("{ blogCollection(first: 1) { __typename } blogCollection(first: 2) { __typename } }")


def test_more_root_fields_than_allowed_are_rejected() -> None:
    with pytest.raises(GraphQLFailure, match="more than 50 root fields"):
        plan("{" + " ".join(f"a{n}: __typename" for n in range(51)) + "}")


def test_rows_inside_rows_count_towards_the_cost() -> None:
    query = "{ accountCollection(first: 10) { edges { node { blogCollection(first: 20) { edges { cursor } } } } } }"

    assert not isinstance(plan(query, limits=OperationLimits(cost=210)).fields[0].work, GraphQLFailure)
    assert (
        str(plan(query, limits=OperationLimits(cost=209)).fields[0].work)
        == "The query asks for more than 209 rows (graphql.max_cost)"
    )


def test_what_is_skipped_is_not_in_the_plan() -> None:
    found = plan(
        "query($no: Boolean!) { a: __typename @skip(if: $no) b: __typename @include(if: $no) }", {"no": True}
    )

    assert [one.key for one in found.fields] == ["b"]


def test_an_operation_with_all_fields_skipped_is_rejected() -> None:
    with pytest.raises(GraphQLFailure, match="Selection set must not be empty"):
        plan("query($no: Boolean!) { __typename @skip(if: $no) }", {"no": True})


def test_a_key_that_the_role_cannot_see_orders_nothing() -> None:
    unseen = replace(account.columns["id"], is_selectable=False, is_insertable=True)
    entity = replace(account, columns={**account.columns, "id": unseen})

    assert entity.key_columns == ()
    assert plan_order(schema, entity, ABSENT_ARGUMENT) == ()


def test_a_plan_learns_only_what_steers_it() -> None:
    dependencies = PlanDependencies()
    found = plan(
        "query($n: Int, $d: X, $f: X, $c: X) { accountCollection(first: $n, after: $c, orderBy: $d, filter: $f) { edges { cursor } } }",
        {
            "n": 3,
            "c": "WzEsMl0=",
            "d": [{"email": "AscNullsLast"}],
            "f": {"id": {"eq": 1}, "tags": {"is": "NULL"}},
        },
        dependencies,
    )
    work = found.fields[0].work

    assert isinstance(work, ConnectionPlan)
    assert {path for path, _ in dependencies.questions} == {
        ("c",),
        ("d",),
        ("d", 0, "email"),
        ("f", "tags", "is"),
        ("n",),
    }
    assert [reader.path for reader in found.fields[0].readers] == [("n",), ("c",), ("c",), ("f", "id", "eq")]


@pytest.mark.parametrize(
    ("arguments", "row_bound"),
    [
        ("first: 2", None),
        ("first: 2, offset: 0", 64 + 2 + 1),
        ("first: 2, offset: 64", 64 + 2 + 1),
        ("first: 2, offset: 65", 256 + 2 + 1),
        ("first: 2, offset: $o", 1024 + 2 + 1),
        ("first: $n", 30 + 1),
        ("last: $n", 30 + 1),
        ("first: $n, offset: $o", 1024 + 30 + 1),
        ("first: 2, offset: 2000000", None),
        ("first: $m", 30 + 1),
        ("first: 2, offset: $m", None),
    ],
)
def test_a_page_that_parameters_choose_lies_within_a_bound_that_does_not(
    arguments: str, row_bound: int | None
) -> None:
    found = plan(
        f"query($n: Int, $o: Int, $m: Int) {{ accountCollection({arguments}) {{ edges {{ cursor }} }} }}",
        {"n": 20, "o": 300, "m": 5000000},
    )
    work = found.fields[0].work

    assert isinstance(work, ConnectionPlan)
    assert work.row_bound == row_bound


def test_rows_of_one_form_in_a_variable_become_one_parameter() -> None:
    found = plan(
        "mutation($o: X) { insertIntoAccountCollection(objects: $o) { affectedCount } }",
        {"o": [{"email": "a"}, {"email": None}, {"email": "b"}]},
    )
    work = found.fields[0].work

    assert isinstance(work, InsertPlan)
    assert not work.rows
    reader = found.fields[0].readers[0]
    assert reader.convert([{"email": "a"}, {"email": None}]) == '[["a"],[null]]'


WORDS = ["accountCollection", "edges", "node", "id", "email", "(first: $a)", "(filter: {id: {in: $b}})", "(x: [])", "{", "}",
         "...F", "...{", "@include(if: $c)", "fragment F on Account {", "query Q {", "mutation {", "$", "a:", "__typename"]  # fmt: skip


DOCUMENTS = [
    'query Q($a: Int, $b: [Int!], $c: Boolean = true) { accountCollection(first: $a, filter: {id: {in: $b}, or: [{email: {ilike: "a%"}},'
    " {not: {tags: {is: NULL}}}]}, orderBy: [{email: AscNullsFirst}]) { pageInfo { hasNextPage } edges { cursor node { id x: email ...F } } } }"
    " fragment F on Account { blogCollection(last: 2) { edges { node { owner @include(if: $c) { nodeId } } } } }",
    'mutation { insertIntoAccountCollection(objects: [{email: "a", mood: VERY_GOOD, tags: ["b"], data: "{}"}]) { affectedCount records { id } } }',
    "mutation($a: String) { updateAccountCollection(set: {email: $a}, filter: {id: {eq: 1}}, atMost: 2) { records { email } } }",
    "mutation { deleteFromAccountCollection(filter: {mood: {neq: VERY_GOOD}}, atMost: 1) { affectedCount } }",
    '{ accountByPk(id: 1) { __typename score } node(nodeId: "WyJwdWJsaWMiLCJhY2NvdW50IiwxXQ==") { ... on Account { id } } }',
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)


@given(
    near_text(DOCUMENTS, WORDS) | st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.recursive(
            LEAVES,
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            ),
        ),
    ),
)
@example("{ accountCollection(last: 1e400) { edges { node { id } } } }", {})
@settings(max_examples=300, deadline=None)
def test_any_document_and_variables_give_a_plan_or_a_failure(text: str, variables: dict[str, object]) -> None:
    page = "{ " + ACCOUNTS % "first: $a, filter: {id: {in: $b}, and: $c}, orderBy: $b, after: $a" + " }"
    insert = "mutation { insertIntoAccountCollection(objects: $a) { records { id } } }"
    for document in (text, page, insert):
        with contextlib.suppress(GraphQLFailure):
            compile_operation(plan(document, variables))
