import pytest
from graphql import get_introspection_query

from workers.graphql.errors import GraphQLFailure
from workers.graphql.parse.document import choose_operation, is_mutation, parse_document
from workers.graphql.parse.limits import OperationLimits

LIMITS = OperationLimits()
TOO_MANY_TYPES = "The question about types has more than 600 fields, or lists of fields in lists of fields"
DOUBLING = "{...F0} " + " ".join(
    f"fragment F{n} on Q {{ a: x {{ ...F{n + 1} }} b: x {{ ...F{n + 1} }} }}" for n in range(25)
)


def refusal(text: str, limits: OperationLimits = LIMITS) -> str:
    with pytest.raises(GraphQLFailure) as failure:
        parse_document(text, limits)
    return failure.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ a } query b { a }", "Anonymous operations must be the only defined operation"),
        ("query b { a } query b { a }", "Operation names must be unique"),
        ("{ a } fragment A on T { ...A }", "Found a cycle between fragments"),
        ("{ a } fragment A on T { x { ...B } } fragment B on T { ... { ...A } }", "Found a cycle between fragments"),
        ("{" + "a{" * 200 + "b" + "}" * 201, "The document is nested too deeply"),
        ("{ a(x: " + "[" * 500 + "]" * 500 + ") }", "The document is nested too deeply"),
        ('{ a(x: """\\\\""" """, b: ' + "[" * 2000 + "]" * 2000 + ', c: """x""") }', "The document is nested too deeply"),
        ("{" + "a{" * 40 + "b" + "}" * 41, "The query is deeper than 30 fields (graphql.max_depth)"),
        ("{" + " ".join(f"a{n}: b" for n in range(2001)) + "}", "The query has more than 2000 fields (graphql.max_fields)"),
        ("{" + " ".join(f"a{n}: b" for n in range(10_000)) + "}", "The document has more than 10000 words and signs (graphql.max_tokens)"),
        (DOUBLING, "The query has more than 2000 fields (graphql.max_fields)"),
        ("#" + "x" * 300_000, "The document is longer than 262144 bytes (graphql.max_document)"),
        ("#" + "é" * 140_000, "The document is longer than 262144 bytes (graphql.max_document)"),
        ("{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }", TOO_MANY_TYPES),
        ("{ __schema { types { " + " ".join(f"a{n}: name" for n in range(700)) + " } } }", TOO_MANY_TYPES),
    ],
)  # fmt: skip
def test_a_document_beyond_the_limits_is_rejected_before_any_work(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_chain_of_fragments_may_be_fifty_long() -> None:
    def chain(length: int) -> str:
        links = " ".join(f"fragment F{n} on T {{ ...F{n + 1} }}" for n in range(length - 1))
        return f"{{ ...F0 }} {links} fragment F{length - 1} on T {{ a }}"

    assert parse_document(chain(50), LIMITS).fragments
    assert refusal(chain(51)) == "Fragment cycle depth is greater than 50"


def test_brackets_in_strings_and_comments_are_no_nesting() -> None:
    opening = "{" * 500

    assert parse_document(
        f'{{ a(x: "{opening}", y: """{opening} \\""" """) # {opening}\n }}', LIMITS
    ).operations


def test_the_usual_question_about_types_is_within_the_limits() -> None:
    assert parse_document(get_introspection_query(input_value_deprecation=True), LIMITS).operations


def test_an_operation_is_chosen_by_its_name() -> None:
    document = parse_document("query a { x } mutation b { y } subscription c { z }", LIMITS)

    assert is_mutation(choose_operation(document, "b"))
    assert not is_mutation(choose_operation(document, "a"))
    with pytest.raises(GraphQLFailure, match="Subscriptions are not supported"):
        is_mutation(choose_operation(document, "c"))
    for name in (None, "d"):
        with pytest.raises(GraphQLFailure, match="Operation not found"):
            choose_operation(document, name)


def test_a_document_knows_the_variables_it_uses() -> None:
    document = parse_document(
        "query($z: Int) { a(x: $b, y: [{k: $c}]) @skip(if: $d) { ...F } } fragment F on T { e(f: $g) }",
        LIMITS,
    )

    assert set(document.variables) == {"b", "c", "d", "g", "z"}
