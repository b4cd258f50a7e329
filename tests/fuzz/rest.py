"""The grammar of REST requests over the tables of `fuzz.sql`, and what every answer of REST is."""

import json
from random import Random

from tests.fuzz import mutate
from tests.fuzz.grammar import Grammar
from tests.fuzz.wire import Answer, Case, check_always

_GOOD = r"""
good: «caller» GET /rest/v1/kinds?«kread»&«kread»\n«gheaders»\n | «caller» GET /rest/v1/parents?«pread»&«pread»\n«gheaders»\n | «caller» GET /rest/v1/«small»\n«gheaders»\n | «caller» GET /rest/v1/«call»\n«gheaders»\n | «caller» POST /rest/v1/«post»\n | service «change»\n | user «change»\n | anon POST /rest/v1/kinds?select=«kselect»\ncontent-type: application/json\nprefer: return=representation, resolution=«resolution»\n\n[{"id": «id», "words": "a", "doc": «doc», "tags": ["a", "b"], "mood": "calm", "counts": [1, null], "place": {"x": 1, "y": 2}, "bounds": "[1,5)"}]
kread: select=«kselect» | «kfilter» | «kfilter»&«kfilter» | order=«korder» | limit=5&offset=2 | or=(«kterm»,«kterm») | not.and=(«kterm»,or(«kterm»,«kterm»)) | distinct=mood&select=mood | select=mood,count()&having=(count().gt.1) | order=id&cursor=&limit=2
kselect: * | id,words | id,w:words::text,doc | doc->a,doc->>b,counts->0 | mood,count() | id.sum(),small.max() | tags,raw,bounds,place | place->x,stamp::date
kfilter: id=gt.3 | id=in.(1,2,3) | words=like.w* | words=ilike(any).{w*,a*} | words=match.^w | words=isdistinct.a | mood=is.null | tags=cs.{a} | counts=ov.{1,2} | bounds=adj.[1,2) | bounds=is.null | doc->>a=eq.1 | doc=cs.{"a":1} | yes=is.false | id=lt(col).big | id::text=eq.1 | search=fts(german).cat | words=wfts.row | not.id=eq.5 | id=not.in.(7,8) | id=eq(any).{1,2}
kterm: id.eq.1 | words.like.*2 | mood.is.null | doc->>a.neq.1 | not.tags.cs.{b}
korder: id | words.desc | mood.asc.nullsfirst,id | doc->a
pread: select=«pselect» | id=lt.9 | name=eq.parent 1 | children.place=gt.2 | order=name.desc | children.order=place&children.limit=1 | or=(id.eq.1,children.place.eq.3)&select=*,children!inner(*) | limit=4 | guarded.id=gt.0 | children=not.is.null&select=id,children(place)
pselect: id,name | *,children(*) | name,children!inner(place,doubled) | ...children(place) | *,guarded(*) | *,guarded!inner(body,owner) | *,partly(shown) | *,judged(*) | id,children(count()) | id,c:children(place.max()),partly(id)
small: guarded | guarded?select=*,parents(*) | judged?select=body | partly?select=id,shown | children?select=*,parents(name)&order=parents(name) | names | counted?order=children.desc | odd%20name?select=id,"a.b" | known | guarded?select=count() | guarded?body=like.*&order=body | partly?select=count()&id=gt.1
call: rpc/add_them?a=1&b=2 | rpc/family?named=parent 1&select=id,children(place) | rpc/listed?n=3&mood=calm&order=one.desc | rpc/joined?words=a&words=b | rpc/nothing | rpc/state_of_all
post: rpc/add_them\ncontent-type: application/json\n\n{"a": 1} | rpc/family?select=name\ncontent-type: application/json\n\n{"named": "parent 2"} | rpc/whole\ncontent-type: application/json\n\n{"x": [1, {"y": null}]} | rpc/shouted\ncontent-type: text/plain\n\nabc | rpc/measured\ncontent-type: application/octet-stream\n\nabc | rpc/moved\ncontent-type: application/json\n\n{"place": {"x": 1, "y": 2}, "by": 3} | rpc/written\ncontent-type: application/json\n\n{"name": "zz «id»"} | parents?columns=name\ncontent-type: text/csv\nprefer: return=headers-only\n\nname\nzz «id»\nzz «id» | parents?nested=true\ncontent-type: application/json\nprefer: return=representation\n\n{"name": "zz «id»", "children": [{"place": 30}]} | parents?on_conflict=name\ncontent-type: application/json\nprefer: resolution=ignore-duplicates\n\n[{"name": "parent 1"}, {"name": "zz «id»"}]
change: PATCH /rest/v1/kinds?id=eq.«id»\ncontent-type: application/json\nprefer: return=representation\n\n{"words": "b", "doc": «doc»} | DELETE /rest/v1/kinds?id=gt.20\nprefer: return=representation, max-affected=500\n | PUT /rest/v1/kinds?id=eq.7\ncontent-type: application/json\n\n{"id": 7, "words": "c"} | PATCH /rest/v1/children?parent=eq.3\ncontent-type: application/x-www-form-urlencoded\nprefer: tx=rollback\n\nname=d | DELETE /rest/v1/parents?name=like.zz*\n
gheaders: | | prefer: count=exact\n | accept: text/csv\n | accept: application/vnd.pgrst.plan+json\n | range: 0-2\n | prefer: count=estimated, timezone=Asia/Tokyo\n | accept: application/vnd.pgrst.array+json;nulls=stripped\n | if-none-match: *\n | accept-profile: public\n
resolution: merge-duplicates | ignore-duplicates
id: 1 | 7 | 25 | 99 | 1000 | 31
doc: {} | {"a": 1} | [1, "b", null] | "x" | null
"""
_RULES = r"""start: «caller» GET /rest/v1/«place»?«reads»\n«headers»\n | «caller» «writer» /rest/v1/«place»?«writes»\ncontent-type: «type»\n«headers»\n«body» | «caller» POST /rest/v1/rpc/«function»?«reads»\ncontent-type: «type»\n«headers»\n«arguments» | «caller» GET /rest/v1/rpc/«function»?«named»&«reads»\n«headers»\n | «caller» «method» /rest/v1/«place»?«reads»\n«headers»\n
caller: anon | anon | user | service
method: GET | HEAD | POST | PATCH | PUT | DELETE | OPTIONS | get
writer: POST | POST | PATCH | PATCH | PUT | DELETE
place: kinds | kinds | parents | parents | children | names | odd%20name | guarded | judged | partly | counted | plans.plan |
function: add_them | family | listed | joined | moved | whole | shouted | measured | written | nothing | state_of_all | tidied | nowhere
reads: «read» | «read»&«read» | «read»&«read»&«read» | «read»&«read»&«read»&«read»
read: select=«selects» | «column»=«filter» | «embed».«column»=«filter» | order=«orders» | limit=«number» | offset=«number» | «logic» | «embed».order=«orders» | «embed».limit=«number» | distinct=«columns» | having=(«aggregate».«plain») | cursor=«value» | «column»::«kind»=«filter» |
writes: «write»&«read» | «write»&«write» | «column»=«filter»&«write» | id=eq.1&«write» |
write: columns=«columns» | on_conflict=«columns» | select=«selects» | nested=true | key=«columns» | «column»=«filter» | limit=«number» | order=«orders»
selects: «item» | «item»,«item» | «item»,«item»,«item» | *,«item»
item: «column» | «alias»:«column» | «column»::«kind» | «column»->«key» | «column»->>«key»::«kind» | «embed»(«selects») | «alias»:«embed»!«hint»(«selects») | ...«embed»(«selects») | «aggregate» | «column».«aggregate» | count() | *
alias: a | b | id | "a b" | ü
embed: parents | children | guarded | partly | parent | judged | names
hint: inner | left | parent | guarded_parent_fkey | children_parent_fkey!inner
aggregate: «column».sum() | «column».max() | «column».avg()::«kind» | count() | «column».count()
columns: «column» | «column»,«column» | («columns»)
column: id | name | words | doc | counts | tags | mood | place | bounds | search | stamp | exact | raw | address | owner | body | hidden | shown | parent | "a.b" | %22say%20%22%22hi%22%22%22 | nowhere | *
key: a | 0 | -1 | 'b' | "c d"
kind: text | int | jsonb | bigint | mood | regclass | unknown | "char" | timestamptz | text[] | record | nowhere | void | anyelement
filter: «plain» | not.«plain» | not.not.«plain»
plain: eq.«value» | neq.«value» | gt.«value» | lte.«value» | like.«value»* | ilike(any).{«value»,«value»} | match.^«value» | imatch.[ | in.(«value»,"«value»") | is.null | is.not_null | is.«value» | isdistinct.«value» | fts(german).«value» | plfts.«value» | wfts(nowhere).«value» | cs.{«value»} | cd.[«number»,«number»] | ov.(«number»,«number») | sl.(1,2) | adj.[1,2) | lt(col).«column» | eq(all).{«value»}
logic: and=(«terms») | or=(«terms») | not.or=(«terms») | «embed».or=(«terms»)
terms: «term» | «term»,«term» | and(«terms») | not.or(«terms»),«term»
term: «column».«filter» | «embed».«column».«filter»
orders: «order» | «order»,«order»
order: «column» | «column».desc | «column».asc.nullsfirst | «embed»(«column»).desc | «column»->«key».desc.nullslast | «aggregate»
number: 0 | 1 | 5 | -1 | 99999999999999999999 | 1e400 | NaN | 00001 | 2147483648
value: 1 | a | row | «number» | null | true | 2024-01-01 | %00 | %ED%A0%80 | %FF | %22%5C | calm | {} | [] | () | ü | infinity | 0001-01-01%20BC | u1 | %25%25 | *
headers: | «header»\n | «header»\n«header»\n
header: prefer: «prefers» | range: «number»-«number» | range-unit: items | accept: «accept» | accept-profile: «schema» | content-profile: «schema» | if-match: «tag» | if-none-match: «tag» | x-client-info: «value» | cookie: a=«value»
prefers: «prefer» | «prefer», «prefer» | «prefer»; «prefer»
prefer: count=exact | count=planned | count=estimated | return=representation | return=minimal | return=headers-only | missing=default | resolution=merge-duplicates | resolution=ignore-duplicates | handling=strict | handling=lenient | tx=rollback | tx=commit | timezone=Asia/Tokyo | timezone=«value» | max-affected=«number» | pagination=cursor | params=single-object
accept: application/json | application/vnd.pgrst.object+json | application/vnd.pgrst.plan+json | application/vnd.pgrst.plan+text; for="application/json"; options=analyze\|verbose | text/csv | */* | application/geo+json | application/vnd.pgrst.array+json;nulls=stripped | application/octet-stream | text/xml | application/openapi+json | ;q=1 | text/plain;q=x
schema: public | graphql_public | plans | storage | auth | pg_catalog | «value»
tag: "x" | W/"x" | * | "a", "b" | «value»
type: application/json | application/json | text/csv | application/x-www-form-urlencoded | text/plain | application/octet-stream | text/xml | application/json; charset=latin1 | «value»
body: «row» | [«row»,«row»] | [] | «json» | id,words\n1,a\n2,"b | id=1&words=a | [{"name": "zz", "children": [{"place": 1}, {"place": 2}]}] | «row»,
row: {"id": «json», "words": «json»} | {"name": «json»} | {"«jsonkey»": «json», "«jsonkey»": «json»} | {"parent": 1, "place": «json»} | {}
jsonkey: id | words | name | doc | counts | tags | mood | place | bounds | stamp | exact | raw | key | yes | hidden | nowhere |
json: 1 | "a" | null | true | -1 | 1e400 | 99999999999999999999 | "\\u0000" | "\\ud800" | [1, null] | {"x": 1, "y": 2} | [[1], [2]] | {"a": «json»} | ["«value»"] | "2024-01-01" | "" | "calm" | 0.1
arguments: {"a": «json», "b": «json»} | {"named": «json»} | {"n": «json», "mood": "calm"} | {"place": {"x": 1, "y": «json»}, "by": 2} | «json» | {"name": "zz«json»"} | {"words": [«json»]}
named: a=«value»&b=«value» | named=«value» | n=«number»&mood=«value» | words=«value»&words=«value» | place=«value»&by=1
"""
GRAMMAR = Grammar(_GOOD + _RULES)
_DOCUMENTED_500 = frozenset(
    {"21000", "54000", "54001", "54011", "54023", "55000", "57014", "RESTERR111", "RESTERR112"}
)
"""States of Postgres that the interface answers with 500, as the original does: a view that cannot be written, one row of an
upsert twice, a statement too complex or too slow, a function of the project that sets a status or headers that are none. Source: reference page "rest", section 20; docs/status.md."""
WORDS = GRAMMAR.words


def generated(random: Random) -> bytes:
    """Make a case of REST: as often valid, valid but for a small edit, and anything that the words of the grammar allow."""
    match random.randrange(3):
        case 0:
            return GRAMMAR.make(random).encode(errors="replace")
        case 1:
            return mutate.edited(random, GRAMMAR.make(random, "good").encode(), WORDS)
    return GRAMMAR.make(random, "good").encode()


def is_error(body: bytes) -> bool:
    """Tell whether a body is an error of REST and nothing more."""
    try:
        told = json.loads(body)
    except ValueError:
        return False
    return isinstance(told, dict) and set(told) - {"operation"} == {"code", "message", "details", "hint"}


def is_no_http(body: bytes) -> bool:
    """Tell whether a body is the gateway's error for what it could not read: which area was meant, it cannot know."""
    try:
        return list(json.loads(body)) == ["message"]
    except (ValueError, TypeError):
        return False


def check_answer(case: Case, answer: Answer) -> None:
    """Check an answer of REST: what holds always, and that an error says why. Raises: AssertionError."""
    if answer.status == 500 and is_error(answer.body) and json.loads(answer.body)["code"] in _DOCUMENTED_500:
        return
    check_always(case, answer)
    if answer.status < 300 or answer.status == 304 or case.method == b"HEAD":
        return
    if case.target.startswith(b"/rest/v1/") and answer.status != 404:
        assert is_error(answer.body) or is_no_http(answer.body), (answer.status, answer.body[:300])
