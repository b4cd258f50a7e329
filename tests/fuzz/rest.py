"""The grammar of REST requests over the tables of `fuzz.sql`, and what every answer of REST is."""

import json
from random import Random

from tests.fuzz.grammar import Grammar
from tests.fuzz.wire import Answer, Case, check_always

_RULES = r"""
start: «caller» GET /rest/v1/«place»?«reads»\n«headers»\n | «caller» «writer» /rest/v1/«place»?«writes»\ncontent-type: «type»\n«headers»\n«body» | «caller» POST /rest/v1/rpc/«function»?«reads»\ncontent-type: «type»\n«headers»\n«arguments» | «caller» GET /rest/v1/rpc/«function»?«named»&«reads»\n«headers»\n | «caller» «method» /rest/v1/«place»?«reads»\n«headers»\n
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
GRAMMAR = Grammar(_RULES)
_DOCUMENTED_500 = frozenset(
    {"21000", "54000", "54001", "54011", "54023", "55000", "57014", "RESTERR111", "RESTERR112"}
)
"""States of Postgres that the interface answers with 500, as the original does: a view that cannot be written, one row of an
upsert twice, a statement too complex or too slow, a function of the project that sets a status or headers that are none. Source: reference page "rest", section 20; docs/status.md."""
WORDS = GRAMMAR.words


def generated(random: Random) -> bytes:
    """Make a case of REST."""
    return GRAMMAR.make(random).encode(errors="replace")


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
