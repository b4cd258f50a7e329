"""Section 4.3 GraphQL."""

from typing import Any

import pytest

from tests.platforms.seed.callers import Caller, asked

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


def test_a_collection_has_edges_cursors_and_page_info(anon: Caller) -> None:
    page = """query ($after: Cursor) {
      authorsCollection(first: 2, after: $after, orderBy: [{name: AscNullsLast}]) {
        edges { cursor node { id name country } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }"""
    first = asked(anon, page)["authorsCollection"]
    second = asked(anon, page, {"after": first["pageInfo"]["endCursor"]})["authorsCollection"]

    assert [edge["node"]["name"] for edge in first["edges"]] == ["Ada", "Bob"]
    assert first["edges"][0]["node"]["id"] == "1"  # BigInt
    assert first["pageInfo"] == {
        "hasNextPage": True,
        "hasPreviousPage": False,
        "startCursor": first["edges"][0]["cursor"],
        "endCursor": first["edges"][1]["cursor"],
    }
    assert [edge["node"]["name"] for edge in second["edges"]] == ["Cleo"]
    assert (second["pageInfo"]["hasNextPage"], second["pageInfo"]["hasPreviousPage"]) == (False, True)


def test_pages_go_backwards(anon: Caller) -> None:
    query = """query ($before: Cursor) {
      authorsCollection(last: 1, before: $before, orderBy: [{id: AscNullsFirst}]) { edges { cursor node { name } } }
    }"""
    last = asked(anon, query)["authorsCollection"]["edges"]
    before = asked(anon, query, {"before": last[0]["cursor"]})["authorsCollection"]["edges"]

    assert [each[0]["node"]["name"] for each in (last, before)] == ["Cleo", "Bob"]


@pytest.mark.parametrize(
    ("wanted", "titles"),
    [
        ("{id: {eq: 1}}", ["Rivers"]),
        ("{id: {neq: 1}}", ["Streams", "Lakes"]),
        ("{id: {gt: 1, lte: 3}}", ["Streams", "Lakes"]),
        ("{id: {gte: 1, lt: 2}}", ["Rivers"]),
        ('{isbn: {in: ["a", "c"]}}', ["Rivers", "Lakes"]),
        ("{published: {is: NULL}}", ["Lakes"]),
        ("{published: {is: null}}", ["Lakes"]),
        ('{title: {like: "R%"}}', ["Rivers"]),
        ('{title: {ilike: "r%"}}', ["Rivers"]),
        ('{and: [{id: {gt: 1}}, {title: {like: "L%"}}]}', ["Lakes"]),
        ("{or: [{id: {eq: 1}}, {id: {eq: 3}}]}", ["Rivers", "Lakes"]),
        ("{not: {id: {eq: 1}}}", ["Streams", "Lakes"]),
    ],
)
def test_a_collection_is_filtered(anon: Caller, wanted: str, titles: list[str]) -> None:
    query = f"{{ booksCollection(filter: {wanted}, orderBy: [{{id: AscNullsLast}}]) {{ edges {{ node {{ title }} }} }} }}"

    found = asked(anon, query)["booksCollection"]["edges"]

    assert [edge["node"]["title"] for edge in found] == titles


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("AscNullsFirst", ["Bob", "Cleo", "Ada"]),
        ("AscNullsLast", ["Cleo", "Ada", "Bob"]),
        ("DescNullsFirst", ["Bob", "Ada", "Cleo"]),
        ("DescNullsLast", ["Ada", "Cleo", "Bob"]),
    ],
)
def test_a_collection_is_ordered(anon: Caller, order: str, names: list[str]) -> None:
    query = f"{{ authorsCollection(orderBy: [{{country: {order}}}, {{name: AscNullsLast}}]) {{ edges {{ node {{ name }} }} }} }}"

    assert [edge["node"]["name"] for edge in asked(anon, query)["authorsCollection"]["edges"]] == names


def test_related_collections_take_the_same_arguments(anon: Caller) -> None:
    query = """{ authorsCollection(filter: {id: {eq: 1}}) { edges { node {
      booksCollection(first: 1, filter: {title: {like: "S%"}}) { edges { node { title } } } } } } }"""

    node = asked(anon, query)["authorsCollection"]["edges"][0]["node"]

    assert node["booksCollection"]["edges"] == [{"node": {"title": "Streams"}}]


def test_a_single_row_comes_by_its_key(anon: Caller) -> None:
    query = "query ($id: BigInt!) { authors(id: $id) { ...names } } fragment names on authors { name }"

    assert asked(anon, query, {"id": "2"}) == {"authors": {"name": "Bob"}}


@pytest.mark.parametrize("verb", ["insert", "insertInto"])
def test_mutations_insert_update_and_delete(anon: Caller, verb: str) -> None:
    made = asked(
        anon,
        f'mutation {{ {verb}scratchCollection(objects: [{{word: "{verb}"}}]) {{ affectedCount records {{ word }} }} }}',
    )
    changed = asked(
        anon,
        f'mutation {{ updatescratchCollection(set: {{n: 9}}, filter: {{word: {{eq: "{verb}"}}}}) {{ records {{ n }} }} }}',
    )
    gone = asked(
        anon,
        f'mutation {{ deleteFromscratchCollection(filter: {{word: {{eq: "{verb}"}}}}) {{ affectedCount }} }}',
    )

    assert made[f"{verb}scratchCollection"] == {"affectedCount": 1, "records": [{"word": verb}]}
    assert changed["updatescratchCollection"]["records"] == [{"n": 9}]
    assert gone["deleteFromscratchCollection"]["affectedCount"] == 1


def test_types_are_those_of_2_6(anon: Caller) -> None:
    def fields(name: str) -> dict[str, Any]:
        query = f'{{ __type(name: "{name}") {{ fields {{ name type {{ kind name ofType {{ kind name ofType {{ kind }} }} }} }} }} }}'
        return {each["name"]: each["type"] for each in asked(anon, query)["__type"]["fields"]}

    row, connection, edge, page = (
        fields(name) for name in ("authors", "authorsConnection", "authorsEdge", "PageInfo")
    )
    assert (row["id"]["kind"], row["id"]["ofType"]["name"]) == ("NON_NULL", "BigInt")
    assert (row["name"]["kind"], row["country"]["kind"]) == ("NON_NULL", "SCALAR")
    assert row["booksCollection"]["name"] == "booksConnection"
    assert connection["edges"]["kind"] == "NON_NULL"
    assert connection["edges"]["ofType"]["kind"] == "LIST"
    assert connection["edges"]["ofType"]["ofType"]["kind"] == "NON_NULL"
    assert connection["pageInfo"]["ofType"]["name"] == "PageInfo"
    assert {"node", "cursor"} <= edge.keys()
    assert {"hasNextPage", "hasPreviousPage", "startCursor", "endCursor"} == page.keys()
    kinds = asked(anon, '{ __schema { types { name } } f: __type(name: "authorsFilter") { kind } '
                        'o: __type(name: "authorsOrderBy") { kind } }')  # fmt: skip
    assert (kinds["f"]["kind"], kinds["o"]["kind"]) == ("INPUT_OBJECT", "INPUT_OBJECT")
    assert any(each["name"] == "Cursor" for each in kinds["__schema"]["types"])
