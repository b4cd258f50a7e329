"""Answers to introspection queries, compared with those of graphql-core where they must be the same."""

import pytest
from graphql import build_client_schema, get_introspection_query, graphql_sync, parse
from graphql.language import FragmentDefinitionNode

from tests.workers.graphql.introspection.queries import parse_query
from tests.workers.graphql.library import schema_for
from workers.graphql.errors import GraphQLFailure, QueryTooComplex
from workers.graphql.introspection.answer import _Budget, answer
from workers.graphql.introspection.describe import describe


@pytest.fixture(scope="module")
def described(snapshot):
    return describe(schema_for(snapshot))


@pytest.fixture
def ask(described):
    return lambda text, variables=None: answer(described, *parse_query(text, variables))


def test_graphql_core_gives_the_same_answers(ask, described):
    """Except for graphql-core's own scalars, introspection types and directives, and null where we have an empty list."""
    question = get_introspection_query(
        specified_by_url=True, schema_description=True, input_value_deprecation=True
    )
    ours = ask(question)
    theirs = graphql_sync(build_client_schema({"__schema": ours}), question)
    assert theirs.errors is None

    def compared(told):
        kept = {}
        for each in told["types"]:
            if each["kind"] != "SCALAR" and not each["name"].startswith("__"):
                kept[each["name"]] = {
                    **each,
                    **{key: each[key] or None for key in ("enumValues", "interfaces")},
                }
        return kept

    expected = compared(theirs.data["__schema"])
    assert compared(ours) == expected
    assert len(expected) > 100


def test_names_lead_to_types_and_unknown_ones_to_null(ask):
    assert ask('{ __type(name: "Loan") { kind name fields { name } } }') == {
        "kind": "OBJECT",
        "name": "Loan",
        "fields": [{"name": name} for name in ("nodeId", "bookId", "day", "book")],
    }
    assert ask('{ __type(name: "Nothing") { kind } }') is None


def test_a_name_comes_from_a_variable(ask):
    assert ask("query ($n: String!) { __type(name: $n) { name } }", {"n": "Loan"}) == {"name": "Loan"}
    for variables in ({}, {"n": None}, {"n": 5}):
        with pytest.raises(GraphQLFailure, match="Invalid input for NonNull type"):
            ask("query ($n: String!) { __type(name: $n) { name } }", variables)


def test_aliases_fragments_and_directives_are_honoured(ask):
    told = ask(
        """query ($no: Boolean) { s: __schema { q: queryType { ...T kind @include(if: $no) } ... on __Schema { description }
        queryType @skip(if: true) { name } } } fragment T on __Type { n: name, n: name }""",
        {"no": False},
    )

    assert told == {"q": {"n": "Query"}, "description": "Represents the GraphQL schema of the database"}


def test_wrappers_are_unwrapped_step_by_step(ask):
    told = ask(
        '{ __type(name: "LoanConnection") { fields { type { kind name ofType { kind ofType { kind ofType { name } } } } } } }'
    )

    assert told["fields"][0]["type"] == {
        "kind": "NON_NULL",
        "name": None,
        "ofType": {"kind": "LIST", "ofType": {"kind": "NON_NULL", "ofType": {"name": "LoanEdge"}}},
    }


def test_lists_that_do_not_apply(ask):
    fields = "fields { name } inputFields { name } enumValues { name } interfaces { name } possibleTypes { name } isOneOf"

    assert ask(f'{{ __type(name: "Int") {{ {fields} }} }}') == {
        "fields": None,
        "inputFields": None,
        "enumValues": [],
        "interfaces": [],
        "possibleTypes": None,
        "isOneOf": None,
    }


def test_types_name_themselves_and_other_records_their_type(ask):
    told = ask(
        '{ __type(name: "Loan") { __typename fields { __typename type { __typename ofType { __typename } } } } }'
    )

    assert told["__typename"] == "Loan"
    assert told["fields"][0] == {
        "__typename": "__Field",
        "type": {"__typename": "__Type", "ofType": {"__typename": "ID"}},
    }


def test_there_is_no_mutation_for_who_may_change_nothing(snapshot):
    described = describe(schema_for(snapshot, "gql_stranger"))

    told = answer(described, *parse_query("{ __schema { mutationType { name } subscriptionType { name } } }"))
    assert told == {"mutationType": None, "subscriptionType": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ __schema { nothing } }", 'Unknown field "nothing" on type __Schema'),
        ("{ __schema { types } }", 'Field "types" on type __Schema needs a selection of fields'),
        (
            "{ __schema { types { name { x } } } }",
            'Field "name" on type __Type cannot have a selection of fields',
        ),
        ("{ __type { name } }", "Invalid input for NonNull type"),
    ],
)
def test_invalid_queries_are_rejected(ask, text, message):
    with pytest.raises(GraphQLFailure) as refusal:
        ask(text)

    assert refusal.value.message == message


def test_the_standard_question_has_fragments(described):
    document = parse(get_introspection_query())

    assert any(isinstance(node, FragmentDefinitionNode) for node in document.definitions)
    assert len(answer(described, *parse_query(get_introspection_query()))["types"]) == len(described.types)


@pytest.mark.parametrize(
    "text",
    [
        "{ __schema { " + " ".join(f"a{n}: types {{ fields {{ args {{ name }} }} }}" for n in range(190)) + " } }",
        "{ __schema { " + " ".join(f"a{n}: types {{ ...T }}" for n in range(190)) + " } }"
        " fragment T on __Type { a: fields { name } b: fields { name } c: fields { name } d: fields { name } }",
    ],
)  # fmt: skip
def test_an_answer_far_longer_than_the_standard_one_is_rejected(ask, text):
    with pytest.raises(
        QueryTooComplex, match=r"^The answer about the types has more than \d+ values: ask for less at once$"
    ):
        ask(text)


def test_the_standard_query_takes_less_than_half_of_the_limit(described, monkeypatch):
    budgets = []
    add_cost = _Budget.add_cost

    def watched(self, made, written):
        budgets.append((self, written))
        add_cost(self, made, written)

    monkeypatch.setattr(_Budget, "add_cost", watched)
    answer(described, *parse_query(get_introspection_query()))

    budget, written = budgets[-1]
    assert max(budget._built, written) < budget._limit / 2
