"""Several operations in one request: each list is done whole or not at all, and no operation sees what its caller may not.

After each list that was refused, the tables hold what they held before it. Sequences are no part of that: Postgres takes no
number back.
"""

from random import Random

import pytest

from tests.fuzz import rest
from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from tests.fuzz.wire import Wire, read_case

pytestmark = pytest.mark.process_group("fuzz")

_GRAMMAR = Grammar(
    r"""
start: «caller» POST /rest/v1/\ncontent-type: application/json\n\n[«operation»,«operation»] | «caller» POST /rest/v1/\ncontent-type: application/json\n\n[«write»,«operation»,«operation»] | «caller» POST /rest/v1/\ncontent-type: application/json\nprefer: «prefer»\n\n[«write»,«write»,«failing»] | «caller» POST /rest/v1/\ncontent-type: application/json\n\n[«setting»,«operation»,«write»,«operation»] | «caller» POST /rest/v1/\ncontent-type: application/json\n\n[«setting»,«guarded»,«guarded»] | «caller» POST /rest/v1/\ncontent-type: application/json\n\n[«gop»,«gop»] | service POST /rest/v1/\ncontent-type: application/json\nprefer: tx=rollback\n\n[«gop»,«gop»,«operation»]
gop: {"method": "GET", "path": "/parents?limit=2", "as": "p"} | {"method": "POST", "path": "/parents", "headers": {"Prefer": "return=representation"}, "body": {"name": "zz «random»«random»"}} | {"method": "PATCH", "path": "/kinds?id=eq.3", "body": {"words": "a"}} | {"method": "POST", "path": "/rpc/whole", "body": {"x": 1}} | {"method": "GET", "path": "/guarded?select=*,parents(*)"} | {"method": "DELETE", "path": "/children?place=gt.90"}
caller: anon | user | service
operation: «write» | «read» | «call» | «failing» | «odd»
write: {"method": "POST", "path": "/parents«select»", "headers": {"Prefer": "return=representation"}, "body": {"name": "zz «random»"}, "as": "p"} | {"method": "PATCH", "path": "/kinds?id=eq.«reference»", "body": {"words": «value»}} | {"method": "PUT", "path": "/kinds?id=eq.5", "body": {"id": 5, "words": «value»}} | {"method": "DELETE", "path": "/children?parent=eq.«reference»"} | {"method": "POST", "path": "/children", "body": [{"parent": {"$ref": "«name»"}, "place": «number»}], "as": "q"} | {"method": "POST", "path": "/parents?nested=true", "body": {"name": "zz «random»", "children": [{"place": 30}]}, "as": "p"} | {"method": "PATCH", "path": "/parents?key=id&columns=name", "body": [{"id": 1, "name": "parent 1"}]}
read: {"method": "GET", "path": "/parents?id=eq.«reference»", "as": "p"} | {"method": "GET", "path": "/guarded?select=*,parents(*)", "headers": {"Accept": "«accept»"}} | {"method": "HEAD", "path": "/judged"} | {"method": "GET", "path": "/partly?select=«column»"} | {"method": "GET", "path": "/kinds?limit=1", "headers": {"Range": "0-«number»", "Accept-Profile": "«schema»"}}
guarded: {"method": "GET", "path": "/guarded"} | {"method": "GET", "path": "/parents?select=*,guarded(*),partly(*)"} | «call» | {"method": "GET", "path": "/judged?select=body", "headers": {"Accept": "text/csv"}}
call: {"method": "POST", "path": "/rpc/whole", "body": «value», "as": "p"} | {"method": "GET", "path": "/rpc/joined?words=a&words=«reference»", "as": "q"} | {"method": "POST", "path": "/rpc/written", "body": {"name": {"$ref": "«name»"}}} | {"method": "POST", "path": "/rpc/state_of_all", "body": {}}
setting: {"method": "POST", "path": "/rpc/set_for_me", "body": {"name": "«setting_name»", "value": "«setting_value»"}, "as": "p"}
setting_name: app.tenant | app.tenant | app.tenant | app.tenant | request.jwt.claim.sub | request.jwt.claims | role | app.tenant | request.headers | request.path | search_path | statement_timeout | session_authorization | row_security | timezone | response.status | response.headers
setting_value: somebody else | somebody else | somebody else | {\"sub\": \"somebody else\", \"role\": \"service_role\"} | service_role | postgres | off | plans | 1 | 500 | [] |
failing: {"method": "POST", "path": "/kinds", "body": {"id": 1, "words": "twice"}} | {"method": "POST", "path": "/nowhere", "body": {}} | {"method": "PATCH", "path": "/kinds?id=eq.x", "body": {"words": "a"}} | {"method": "GET", "path": "/guarded?nowhere=eq.1"} | {"method": "POST", "path": "/guarded", "body": {"id": 99}} | {"method": "GET", "path": "/parents?id=eq.1", "headers": {"Accept": "application/vnd.pgrst.object+json"}}
odd: {"method": "OPTIONS", "path": "/"} | {"method": "POST", "path": "/", "body": []} | {"method": "GET", "path": "//parents"} | {"method": "GET", "path": "/parents?id=eq.{«name»}", "as": 5} | {} | [] | null | {"method": "GET"} | {"method": "GET", "path": "/rest/v1/parents"} | {"method": "", "path": ""} | {"method": "POST", "path": "/rpc/nothing", "headers": {"Prefer": "«prefer»", "Content-Type": "text/csv"}, "body": "a,b"}
reference: {«name»} | 1 | {p.0.id} | {0.0.id}
name: 0.0.id | p.0.id | q.0.parent | p.1 | p | 0 | | q.0.doc.x | 1.0.id | p.-1 | p.99999999999 | p.0.body | 2.0.0
select: | ?select=id | ?select=id,name | ?select=*,children(*)
value: 1 | "a" | null | {"$ref": "«name»"} | [{"$ref": "«name»"}, 1] | {"x": {"$ref": "«name»"}} | "\u0000" | [[[]]] | "\ud800" | 1e400
number: 0 | 1 | 40 | -1 | 99999999999
prefer: tx=rollback | return=representation | handling=strict, nowhere | max-affected=0 | count=exact | missing=default | resolution=merge-duplicates
accept: application/json | text/csv | application/vnd.pgrst.object+json | application/vnd.pgrst.plan+json | */*
column: * | id,hidden | shown | hidden
schema: public | plans | graphql_public
""",
    random=lambda random: str(random.randrange(10**6)),
)
_TIDY_AFTER = 300


def _generated(random: Random) -> bytes:
    return _GRAMMAR.make(random).encode(errors="replace")


class _Lists:
    """Sends lists, and knows what the tables held after the last one."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._sent = self.done = 0
        self._state = self._look()

    def check(self, data: bytes) -> None:
        """Send a list; of one that is refused nothing may be left."""
        case = read_case(data)
        answer = self._wire.send(case)
        before, self._state = self._state, self._look()
        self._sent += 1
        self.done += answer.status < 300
        if self._sent % _TIDY_AFTER == 0:
            self._wire.ask("service", "POST", "/rest/v1/rpc/tidied", {})
            self._state = self._look()
        rest.check_answer(case, answer)
        if answer.status >= 300 and case.target.partition(b"?")[0] == b"/rest/v1/":
            assert self._state == before or self._sent % _TIDY_AFTER == 0, "a refused list changed rows"

    def _look(self) -> bytes:
        answer = self._wire.ask("service", "POST", "/rest/v1/rpc/state_of_all", {})
        assert answer.status == 200, answer.body
        return answer.body


def test_any_list_is_done_whole_or_not_at_all(budget: Budget, wire: Wire) -> None:
    lists = _Lists(wire)

    figures = run(Target("batch", _generated, lists.check, 600, _GRAMMAR.words, share=8), budget)

    print(f"lists that were done: {lists.done} of {figures.cases}")
    assert lists.done > 0.04 * figures.cases
