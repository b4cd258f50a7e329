"""The rules of the GraphQL specification, chapters 5 and 6, side by side with graphql-core.

Each document of `INVALID` breaks a rule, as graphql-core confirms, and must be refused before anything runs. `ACCEPTED`
are the exceptions: what graphql-core refuses and applications written for the original may do (section 11 of
docs/reference/graphql.md).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import pytest
from graphql import GraphQLSchema, build_schema, get_variable_values, parse, validate
from graphql.language import OperationDefinitionNode

from tests.workers.graphql.plan.small_schema import ACCOUNT, MOOD, account, schema
from workers.graphql.compilation import CompiledField
from workers.graphql.errors import GraphQLFailure
from workers.graphql.introspection.introspector import Introspector
from workers.graphql.model import FunctionArgument, FunctionField, ResultShape, RootField, RootKind, ValueType
from workers.graphql.parse.document import parse_document
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.role import RoleState

LIMITS = OperationLimits()
WRITABLE = replace(account, is_insertable=True, is_updatable=True, is_deletable=True)
WHOLE = replace(schema, enums={"Mood": MOOD}, entities=schema.entities | {ACCOUNT: WRITABLE})
ROWS = "{ edges { node { id } } }"


@pytest.fixture(scope="module")
def standard() -> GraphQLSchema:
    """Return the schema as graphql-core builds it from its definition."""
    return build_schema(Introspector(WHOLE, is_whole=True).sdl())


def compiled(text: str, variables: Mapping[str, object]) -> list[CompiledField]:
    """Return the compiled fields of the only operation. Raises: GraphQLFailure."""
    role = RoleState(WHOLE, LIMITS, lambda document: parse_document(document, LIMITS))
    return list(role.compile(role.operation(text, None), variables).fields)


def refusals(text: str, variables: Mapping[str, object]) -> list[str]:
    """Return the messages with which a document is refused; empty if any of its fields would run."""
    try:
        fields = compiled(text, variables)
    except GraphQLFailure as failure:
        return [entry.message for entry in failure.entries]
    failures = [field.work.message for field in fields if isinstance(field.work, GraphQLFailure)]
    return failures if len(failures) == len(fields) else []


def standard_refusals(standard: GraphQLSchema, text: str, variables: Mapping[str, object]) -> list[str]:
    """Return what graphql-core objects to in a document and its variables."""
    document = parse(text)
    errors = validate(standard, document)
    if errors:
        return [error.message for error in errors]
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    values = get_variable_values(standard, operation.variable_definitions or (), dict(variables))
    return [error.message for error in values] if isinstance(values, list) else []


class Case(NamedTuple):
    """A document with variables, and the section of the specification that it is about."""

    section: str
    text: str
    variables: Mapping[str, object] = {}


DELETE = "deleteFromAccountCollection"
INVALID = [
    Case("5.1.1 Executable Definitions", f"{{ accountCollection {ROWS} }} type Extra {{ id: Int }}"),
    Case("5.2.1 Operation Name Uniqueness", f"query A {{ accountCollection {ROWS} }} query A {{ blogCollection {ROWS} }}"),
    Case("5.2.2 Lone Anonymous Operation", f"{{ accountCollection {ROWS} }} query A {{ blogCollection {ROWS} }}"),
    Case("5.3.1 Field Selections", "{ accountCollection { edges { node { nothing } } } }"),
    Case("5.3.1 Field Selections, of a connection", "{ accountCollection { rows { id } } }"),
    Case("5.3.2 Field Selection Merging", "{ accountCollection { edges { node { id: email id } } } }"),
    Case("5.3.2 Field Selection Merging, arguments", f"{{ accountCollection(first: 1) {ROWS} accountCollection(first: 2) {ROWS} }}"),
    Case("5.3.2 Field Selection Merging, in an unused fragment", f"{{ accountCollection {ROWS} }} fragment F on Account {{ id: email id }}"),
    Case("5.3.3 Leaf Field Selections, none", "{ accountCollection }"),
    Case("5.3.3 Leaf Field Selections, none below", "{ accountCollection { edges } }"),
    Case("5.3.3 Leaf Field Selections, of a scalar", "{ accountCollection { edges { node { id { x } } } } }"),
    Case("5.3.3 Leaf Field Selections, of a cursor", "{ accountCollection { edges { cursor { x } } } }"),
    Case("5.3.3 Leaf Field Selections, of a page", "{ accountCollection { pageInfo { hasNextPage { x } } } }"),
    Case("5.3.3 Leaf Field Selections, of a type name", "{ __typename { x } }"),
    Case("5.4.1 Argument Names", f"{{ accountCollection(limit: 1) {ROWS} }}"),
    Case("5.4.1 Argument Names, of a scalar", "{ accountCollection { edges { node { id(x: 1) } } } }"),
    Case("5.4.1 Argument Names, of edges", "{ accountCollection { edges(first: 1) { cursor } } }"),
    Case("5.4.1 Argument Names, of pageInfo", "{ accountCollection { pageInfo(x: 1) { hasNextPage } } }"),
    Case("5.4.1 Argument Names, of a directive", f"{{ accountCollection {ROWS} again: accountCollection @skip(if: true, x: 1) {ROWS} }}"),
    Case("5.4.2 Argument Uniqueness", f"{{ accountCollection(first: 1, first: 2) {ROWS} }}"),
    Case("5.4.2 Argument Uniqueness, of a mutation", f"mutation {{ {DELETE}(atMost: 1, atMost: 1000) {{ affectedCount }} }}"),
    Case("5.4.3 Required Arguments", "{ accountByPk { id } }"),
    Case("5.4.3 Required Arguments, of node", "{ node { nodeId } }"),
    Case("5.5.1.1 Fragment Name Uniqueness", f"{{ accountCollection {{ ...F }} }} fragment F on AccountConnection {ROWS} fragment F on AccountConnection {{ pageInfo {{ hasNextPage }} }}"),
    Case("5.5.1.2 Fragment Spread Type Existence", f"{{ accountCollection {{ ... on Nothing {ROWS} pageInfo {{ hasNextPage }} }} }}"),
    Case("5.5.1.3 Fragments on Composite Types", "{ accountCollection { ... on Int { x } pageInfo { hasNextPage } } }"),
    Case("5.5.2.1 Fragment Spread Target Defined", "{ accountCollection { ...F } }"),
    Case("5.5.2.2 Fragment Spreads must not Form Cycles", "{ accountCollection { ...F } } fragment F on AccountConnection { ...F }"),
    Case("5.5.2.3 Fragment Spread Is Possible, named", "{ accountCollection { ...F edges { cursor } } } fragment F on Blog { id }"),
    Case("5.6.1 Values of Correct Type", f'{{ accountCollection(first: "1") {ROWS} }}'),
    Case("5.6.1 Values of Correct Type, of a wide integer", f"{{ accountCollection(first: 3000000000) {ROWS} }}"),
    Case("5.6.1 Values of Correct Type, in a filter", f'{{ accountCollection(filter: {{id: {{eq: "1"}}}}) {ROWS} }}'),
    Case("5.6.1 Values of Correct Type, of an enum", f"{{ accountCollection(orderBy: [{{id: Upwards}}]) {ROWS} }}"),
    Case("5.6.1 Values of Correct Type, null for non-null", f"mutation {{ {DELETE}(atMost: null) {{ affectedCount }} }}"),
    Case("5.6.1 Values of Correct Type, null in a list", f"{{ accountCollection(orderBy: [null]) {ROWS} }}"),
    Case("5.6.1 Values of Correct Type, null in a list of filters", f"{{ accountCollection(filter: {{or: [null]}}) {ROWS} }}"),
    Case("5.6.1 Values of Correct Type, of a default", f'query($n: Int = "x") {{ accountCollection(first: $n) {ROWS} }}', {"n": 1}),
    Case("5.6.1 Values of Correct Type, in a skipped field", f'{{ accountCollection {ROWS} other: accountCollection(first: "1") @skip(if: true) {ROWS} }}'),
    Case("5.6.2 Input Object Field Names", f"{{ accountCollection(filter: {{nothing: {{eq: 1}}}}) {ROWS} }}"),
    Case("5.6.2 Input Object Field Names, of an insert", 'mutation { insertIntoAccountCollection(objects: [{id: 1}]) { affectedCount } }'),
    Case("5.6.4 Input Object Required Fields", "mutation { insertIntoAccountCollection { affectedCount } }"),
    Case("5.7.1 Directives Are Defined", f"{{ accountCollection @live {ROWS} }}"),
    Case("5.7.1 Directives Are Defined, on an operation", f"query @live {{ accountCollection {ROWS} }}"),
    Case("5.7.2 Directives Are in Valid Locations", f"query @skip(if: false) {{ accountCollection {ROWS} }}"),
    Case("5.7.3 Directives Are Unique per Location", f"{{ accountCollection @skip(if: false) @skip(if: false) {ROWS} }}"),
    Case("5.8.1 Variable Uniqueness", f"query($n: Int, $n: Int) {{ accountCollection(first: $n) {ROWS} }}", {"n": 1}),
    Case("5.8.2 Variables Are Input Types", f"query($n: Account) {{ accountCollection(first: $n) {ROWS} }}"),
    Case("5.8.2 Variables Are Input Types, unknown", f"query($n: Nothing) {{ accountCollection(first: $n) {ROWS} }}"),
    Case("5.8.3 All Variable Uses Defined", f"{{ accountCollection(first: $n) {ROWS} }}"),
    Case("5.8.3 All Variable Uses Defined, in a write", f"mutation {{ {DELETE}(filter: {{id: {{eq: $id}}}}, atMost: 100) {{ affectedCount }} }}"),
    Case("5.8.5 All Variable Usages Are Allowed, of a write", f"mutation($f: AccountOrderBy) {{ {DELETE}(filter: $f, atMost: 100) {{ affectedCount }} }}"),
    Case("6.1.2 Coercing Variable Values, a missing filter", f"mutation A($f: AccountFilter!) {{ {DELETE}(filter: $f, atMost: 100) {{ affectedCount }} }}"),
    Case("6.1.2 Coercing Variable Values, a null filter", f"mutation A($f: AccountFilter!) {{ {DELETE}(filter: $f, atMost: 100) {{ affectedCount }} }}", {"f": None}),
    Case("6.1.2 Coercing Variable Values, missing in a filter", f"mutation A($id: Int!) {{ {DELETE}(filter: {{id: {{eq: $id}}}}, atMost: 100) {{ affectedCount }} }}"),
    Case("6.1.2 Coercing Variable Values, missing in a list", f"query($e: AccountOrderBy!) {{ accountCollection(orderBy: [$e]) {ROWS} }}"),
    Case("6.1.2 Coercing Variable Values, missing in a list of filters", f"query($e: AccountFilter!) {{ accountCollection(filter: {{or: [$e]}}) {ROWS} }}"),
    Case("6.1.2 Coercing Variable Values, missing for a page", f"query($n: Int!) {{ accountCollection(first: $n) {ROWS} }}"),
    Case("6.1.2 Coercing Variable Values, null in a list", f"query($o: [AccountOrderBy!]) {{ accountCollection(orderBy: $o) {ROWS} }}", {"o": [None]}),
    Case("6.1.2 Coercing Variable Values, of another type", f"query($n: Int) {{ accountCollection(first: $n) {ROWS} }}", {"n": "1"}),
    Case("6.1.2 Coercing Variable Values, too large", f"query($n: Int) {{ accountCollection(first: $n) {ROWS} }}", {"n": 2**31}),
    Case("6.1.2 Coercing Variable Values, of a skipped field", f"query($n: Int) {{ accountCollection {ROWS} a: accountCollection(first: $n) @skip(if: true) {ROWS} }}", {"n": "1"}),
    Case("6.1.2 Coercing Variable Values, an unknown field", f"query($f: AccountFilter) {{ accountCollection(filter: $f) {ROWS} }}", {"f": {"nothing": 1}}),
    Case("6.1.2 Coercing Variable Values, an unknown field of a skipped field", f"query($f: AccountFilter) {{ accountCollection {ROWS} a: accountCollection(filter: $f) @skip(if: true) {ROWS} }}", {"f": {"nothing": 1}}),
    Case("6.4.1 Coercing Argument Values, null for non-null", f"mutation($n: Int) {{ {DELETE}(atMost: $n) {{ affectedCount }} }}", {"n": None}),
]  # fmt: skip
ACCEPTED = [
    Case("5.5.1.4 Fragments Must Be Used", f"{{ accountCollection {ROWS} }} fragment F on Account {{ id }}"),
    Case("5.5.2.3 Fragment Spread Is Possible, inline", "{ accountCollection { ... on Blog { id } edges { cursor node { ... on Blog { ownerId } id } } } }"),
    Case("5.6.3 Input Object Field Uniqueness", f"{{ accountCollection(filter: {{id: {{eq: 1, eq: 2}}}}) {ROWS} }}"),
    Case("5.6.1 Values of Correct Type, an enum as a string", f'{{ accountCollection(orderBy: [{{id: "AscNullsLast"}}]) {ROWS} }}'),
    Case("5.8.3 All Variable Uses Defined, with a value", f"{{ accountCollection(first: $n) {ROWS} }}", {"n": 1}),
    Case("5.8.4 All Variables Used", f"query($n: Int) {{ accountCollection {ROWS} }}"),
    Case("5.8.5 All Variable Usages Are Allowed, a scalar", f"mutation($id: String!) {{ {DELETE}(filter: {{id: {{eq: $id}}}}) {{ affectedCount }} }}", {"id": 1}),
    Case("5.8.5 All Variable Usages Are Allowed, in a query", f"query($f: Int!) {{ accountCollection(filter: $f) {ROWS} }}", {"f": {"id": {"eq": 1}}}),
    Case("5.8.5 All Variable Usages Are Allowed, an element", f"query($i: Int!) {{ accountCollection(filter: {{id: {{in: $i}}}}) {ROWS} }}", {"i": 1}),
    Case("6.1.2 Coercing Variable Values, null in a query", f"query($f: AccountFilter!) {{ accountCollection(filter: $f) {ROWS} }}", {"f": None}),
]  # fmt: skip
VALID = [
    Case("defaults", f"query($n: Int! = 3) {{ accountCollection(first: $n) {ROWS} }}"),
    Case("a nullable variable where the place has a default", f"mutation($n: Int) {{ {DELETE}(atMost: $n) {{ affectedCount }} }}"),
    Case("a nullable variable in a filter", f"query($id: Int) {{ accountCollection(filter: {{id: {{eq: $id}}}}) {ROWS} }}"),
    Case("one element for a list", f"query($o: [AccountOrderBy!]) {{ accountCollection(orderBy: $o) {ROWS} }}", {"o": {"id": "AscNullsLast"}}),
    Case("a fragment on an interface", '{ node(nodeId: "WyJwdWJsaWMiLCAiYWNjb3VudCIsIDJd") { nodeId ... on Account { id } ... on Blog { ownerId } } }'),
    Case("introspection", "query($t: String!) { __type(name: $t) { name } __schema { queryType { name } } __typename }", {"t": "Account"}),
]  # fmt: skip


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case.section)
def test_what_the_specification_refuses_is_refused_before_anything_runs(
    standard: GraphQLSchema, case: Case
) -> None:
    expected = standard_refusals(standard, case.text, case.variables)

    assert expected or case.section.startswith(
        "6.4.1"
    )  # a matter of execution, which graphql-core does later
    assert refusals(case.text, case.variables)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.section)
def test_what_the_original_accepts_beyond_the_specification_is_accepted(
    standard: GraphQLSchema, case: Case
) -> None:
    assert standard_refusals(standard, case.text, case.variables)
    assert not refusals(case.text, case.variables)


@pytest.mark.parametrize("case", VALID, ids=lambda case: case.section)
def test_what_the_specification_accepts_is_accepted(standard: GraphQLSchema, case: Case) -> None:
    assert not standard_refusals(standard, case.text, case.variables)
    assert not refusals(case.text, case.variables)


def test_a_plan_in_the_cache_refuses_the_next_values_that_are_invalid() -> None:
    role = RoleState(WHOLE, LIMITS, lambda document: parse_document(document, LIMITS))
    cached = role.operation(
        f"query($f: AccountFilter!, $n: Int) {{ accountCollection(filter: $f) {ROWS} a: accountCollection(first: $n) @skip(if: true) {ROWS} }}",
        None,
    )
    valid: dict[str, object] = {"f": {"id": {"eq": 1}}, "n": 1}
    role.compile(cached, valid)

    for invalid in ({"n": 1}, valid | {"n": "1"}):
        with pytest.raises(GraphQLFailure):
            role.compile(cached, invalid)
    [unknown_key] = role.compile(cached, valid | {"f": {"id": {"equals": 1}}}).fields
    assert isinstance(unknown_key.work, GraphQLFailure)


def test_a_query_with_one_wrong_field_answers_the_others_if_these_are_valid() -> None:
    fields = compiled(f"{{ wrong {{ x }} accountCollection {ROWS} }}", {})

    assert [isinstance(field.work, GraphQLFailure) for field in fields] == [True, False]
    with pytest.raises(GraphQLFailure, match="is not defined"):
        compiled(f"{{ wrong {{ x }} accountCollection(first: $n) {ROWS} }}", {})


def test_what_introspection_hides_is_valid() -> None:
    hidden = replace(MOOD, is_introspectable=False)
    mood = ValueType("Mood", '"mood"', enum=hidden)
    function = FunctionField(
        "moodOf",
        ("public", "mood_of"),
        (FunctionArgument("mood", "mood", mood, is_required=True),),
        ResultShape.VALUE,
        mood,
        is_introspectable=False,
    )
    columns = account.columns | {"mood": replace(account.columns["mood"], type=mood)}
    secret = replace(
        account, columns=columns, functions={"humour": replace(function, name="humour", arguments=())}
    )
    silent = replace(
        schema,
        enums={"Mood": hidden},
        entities={ACCOUNT: replace(secret, is_introspectable=False)},
        query={
            "accountCollection": schema.query["accountCollection"],
            "moodOf": RootField("moodOf", RootKind.CALL, function=function),
        },
        mutation={},
        has_introspection=False,
    )
    role = RoleState(silent, LIMITS, lambda document: parse_document(document, LIMITS))
    text = """query($m: Mood!) {
      moodOf(mood: $m) accountCollection(filter: {mood: {eq: $m}}) { edges { node { mood humour } } } }"""

    fields = role.compile(role.operation(text, None), {"m": "VERY_GOOD"}).fields

    assert not [field.work for field in fields if isinstance(field.work, GraphQLFailure)]


def test_a_subscription_beside_the_query_that_runs_is_valid() -> None:
    role = RoleState(WHOLE, LIMITS, lambda document: parse_document(document, LIMITS))
    text = f"""query Q {{ accountCollection {ROWS} }} subscription L {{ blogCollection {ROWS} }}
      subscription C {{ accountChanges(event: INSERT) {{ event node {{ id }} old {{ id }} }} }}"""

    assert len(role.compile(role.operation(text, "Q"), {}).fields) == 1
