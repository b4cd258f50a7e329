"""GraphQL documents: any body is answered with JSON, a mutation with an error changes nothing, nobody sees what is another's."""

import json
from random import Random

import pytest

from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from tests.fuzz.wire import Wire, case_of, check_always, read_case

pytestmark = pytest.mark.process_group("fuzz")

_GRAMMAR = Grammar(
    r"""
start: «query» | «query» | «mutation» | «mutation» | «named» | «introspection»
query: { «field» } | { «field» «field» } | query Q($a: Int, $b: [Int!], $c: Boolean = true, $d: ParentsFilter, $e: String) { «field» «fragment» } fragment F on Parents { id ...G } fragment G on Parents { name «children» } | query { «alias»: «field» «alias»: «field» }
named: query A { «field» } query B { «field» } | subscription { «field» } | query Q @include(if: true) { «field» } | { ...F } fragment F on Query { «field» ...F }
alias: a | b | __a
field: parentsCollection«page» { «connection» } | guardedCollection«page» { edges { node { id owner body } } } | judgedCollection { edges { node { body } } } | partlyCollection { edges { node { id shown «maybe» } } } | kindsCollection(filter: {«kindfilter»}) { edges { node { «kindcolumns» } } } | childrenCollection(«bare») { edges { cursor node { place parents { name } } } } | parentsByPk(id: «int») { name } | node(nodeId: «node») { nodeId ... on Parents { name } ... on Guarded { body } } | nowhere | __typename | «function»
maybe: hidden | |
function: addThem(a: «int», b: «int») | family(named: «text», first: 1) { edges { node { id } } } | joined(words: [«text»]) | shouted(arg0: «text») | stateOfAll | whole(arg0: «text»)
page: | («bare») | (filter: {«filter»}) | (filter: $d, first: $a) | (orderBy: [«order»], «bare»)
bare: first: «int» | last: «int» | first: $a | offset: «int» | after: «cursor» | before: «cursor» | first: «int», after: «cursor», orderBy: «order» | atMost: 1
cursor: "«base»" | «text» | null | $e
base: WzFd | W10= | WyJwYXJlbnQgMSJd | %%% | e30= | bnVsbA== | WzEsMiwzXQ==
order: {name: AscNullsFirst} | {id: DescNullsLast, name: AscNullsLast} | [{id: Up}] | {} | {nowhere: AscNullsFirst} | null
filter: id: {eq: «int»} | name: {«textop»: «text»} | id: {in: [«int», «int»]} | and: [{«filter»}, {«filter»}] | or: [] | not: {«filter»} | nodeId: {eq: «node»} | name: {is: NULL} | id: {is: NOT_NULL} | nowhere: {eq: 1} | id: {} | id: $d
kindfilter: mood: {eq: calm} | mood: {eq: CALM} | tags: {contains: [«text»]} | counts: {overlaps: [«int»]} | stamp: {gt: «text»} | key: {eq: «text»} | yes: {eq: «bool»} | exact: {lt: «text»} | doc: {eq: «text»} | words: {«textop»: «text»}
kindcolumns: id words doc counts tags mood stamp exact raw address bounds search place brief day hour span key yes big small rough code | id | nodeId doc
textop: eq | neq | like | ilike | regex | iregex | startsWith | gt | in | nowhere
connection: edges { node { «columns» } } | edges { cursor node { id ...F } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } | totalCount | aggregate { count sum { id } max { name } } | __typename edges { node { «children» } } | nodes { id } |
columns: id name nodeId | id @include(if: $c) name @skip(if: «bool») | a: id b: id | «children» | partlyCollection { edges { node { id } } } guardedCollection { edges { node { body } } } | nowhere
children: childrenCollection(first: «int») { edges { node { place doubled parents { «columns» } } } } | id
fragment: ...F | ... on Query { «field» } | ... @include(if: $c) { «field» } |
mutation: mutation { insertIntoParentsCollection(objects: [{name: «newname»}]) { affectedCount records { id name } } } | mutation { insertIntoKindsCollection(objects: [{id: «int», words: «text», «kindvalue»}, {id: «int», words: «text»}]) { records { «kindcolumns» } } } | mutation { a: insertIntoParentsCollection(objects: [{name: «newname»}]) { affectedCount } b: insertIntoParentsCollection(objects: [{name: "parent 1"}]) { affectedCount } } | mutation { updateKindsCollection(set: {«kindvalue»}, filter: {«kindfilter»}, atMost: «int») { affectedCount records { id } } } | mutation { deleteFromChildrenCollection(filter: {place: {eq: «int»}}, atMost: «int») { affectedCount records { place } } } | mutation { insertIntoGuardedCollection(objects: [{id: 99, owner: "u1"}]) { records { body } } } | mutation { updateGuardedCollection(set: {owner: "u1"}, atMost: 100) { records { body } } } | mutation { written(name: «newname») } | mutation { insertIntoParentsCollection(objects: [{name: «newname», childrenCollection: [{place: 1}]}], onConflict: {constraint: "parents_name_key", updateColumns: [name]}) { records { childrenCollection { edges { node { place } } } } } }
kindvalue: doc: «text» | counts: [«int»] | mood: calm | mood: "calm" | tags: [«text», null] | stamp: «text» | raw: «text» | yes: «bool» | exact: «text» | bounds: «text» | place: «text» | words: «text»
newname: "zz «random»" | «text»
introspection: { __schema { types { name fields { name args { name type { name ofType { name } } } } } directives { name } } } | { __type(name: «text») { name kind fields(includeDeprecated: true) { name } } } | { __type(name: "Guarded") { fields { name } possibleTypes { name } enumValues { name } } }
int: 1 | 0 | -1 | 5 | 2147483647 | 99999999999999999999 | $a | null | 1.5 | "1"
text: "a" | "" | "parent 1" | "row%" | "\\u0000" | "\\ud800" | ""\"block"\"" | null | $e | "[" | "{}" | "2024-01-01" | "\\\\" | 1 | "infinity"
bool: true | false | $c | null
node: "WyJwdWJsaWMiLCAicGFyZW50cyIsIDFd" | "WyJwdWJsaWMiLCAiZ3VhcmRlZCIsIDRd" | "WyJwbGFucyIsICJwbGFuIiwgMV0=" | "W10=" | «text»
""",
    random=lambda random: str(random.randrange(10**6)),
)
_VARIABLES: tuple[object, ...] = (
    None, {}, {"a": 1}, {"a": "x"}, {"a": 2**70, "b": [1, 2], "c": False}, {"b": [None]}, {"d": {"id": {"eq": 1}}}, {"d": {"nowhere": 1}}, {"e": "a\u0000"}, {"a": [[[]]]}, [], "x", {"e": "x" * 5000},
)  # fmt: skip
_TIDY_AFTER = 300


def _generated(random: Random) -> bytes:
    body: dict[str, object] = {"query": _GRAMMAR.make(random)}
    if random.randrange(2):
        body["variables"] = random.choice(_VARIABLES)
    if random.randrange(6) == 0:
        body["operationName"] = random.choice(("A", "B", "Q", "", None, 5))
    text = json.dumps([body, body] if random.randrange(20) == 0 else body)
    return case_of(
        random.choice(("anon", "user", "user", "service")),
        "POST",
        "/graphql/v1",
        {"content-type": "application/json"},
        text,
    )


class _Documents:
    """Sends documents, and knows what the tables held after the last one."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._sent = 0
        self.whole = 0
        """How many answers had no errors."""
        self._state = self._look()

    def check(self, data: bytes) -> None:
        """Send a document; one with errors changed nothing."""
        case = read_case(data)
        answer = self._wire.send(case)
        before = self._state
        if b"mutation" in case.body or b"\\u" in case.body:
            self._state = self._look()
        check_always(case, answer)
        if (
            case.target.partition(b"?")[0] == b"/graphql/v1"
            and answer.status == 200
            and case.method == b"POST"
        ):
            told = json.loads(answer.body)
            self.whole += b'"errors"' not in answer.body
            assert isinstance(told, dict | list)
            assert b"Internal" not in answer.body, answer.body[:300]
            assert (
                not (isinstance(told, dict) and told.get("errors") and not told.get("data"))
                or before == self._state
            ), "a failed mutation changed rows"
        self._sent += 1
        if self._sent % _TIDY_AFTER == 0:
            self._wire.ask("service", "POST", "/rest/v1/rpc/tidied", {})
            self._state = self._look()

    def _look(self) -> bytes:
        answer = self._wire.ask("service", "POST", "/rest/v1/rpc/state_of_all", {})
        assert answer.status == 200, answer.body
        return answer.body


def test_any_document_is_answered_and_an_error_changes_nothing(budget: Budget, wire: Wire) -> None:
    documents = _Documents(wire)

    figures = run(Target("graphql", _generated, documents.check, 900, _GRAMMAR.words, share=6), budget)

    print(f"answers without errors: {documents.whole} of {figures.cases}")
    assert documents.whole > 0.05 * figures.cases
