"""The interface document, walked in its order: what each of its sections says of requests and answers, asked over HTTP.

Its sections 1, 8 and 9 are held where their subjects are; the wire protocol of section 6, which it leaves open, by the
tests of the realtime edge. A test names the section it walks.
"""

import base64
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import aiohttp
import httpx
import jwt
import pytest

from tests.platform import Platform, platform

pytestmark = [pytest.mark.xdist_group("seed"), pytest.mark.timeout(120)]

PROVIDERS = (
    "google", "github", "gitlab", "bitbucket", "azure", "facebook", "twitter", "discord", "slack", "spotify", "linkedin",
)  # fmt: skip
ASKED_FIRST = ("google", "twitter")
"""Those whom the platform asks before it leads there: their own tests do so against a stand-in."""
FIXED_SCOPES = ("bitbucket",)
PHONES = {"46700000001": "123456", "46700000002": "654321"}
SITE = "https://app.example.com"
SETTINGS = {
    "HEADWATER_AUTH_SITE_URL": SITE,
    "HEADWATER_AUTH_ADDITIONAL_REDIRECT_URLS": f"{SITE}/**",
    "HEADWATER_AUTH_SMS_ENABLE_SIGNUP": "true",
    "HEADWATER_AUTH_SMS_ENABLE_CONFIRMATIONS": "true",
    "HEADWATER_AUTH_SMS_TEST_OTP": json.dumps(PHONES),
    "HEADWATER_AUTH_SMS_MAX_FREQUENCY": "0s",
    **{f"HEADWATER_AUTH_EXTERNAL_{each.upper()}_ENABLED": "true" for each in PROVIDERS},
    **{f"HEADWATER_AUTH_EXTERNAL_{each.upper()}_CLIENT_ID": f"client of {each}" for each in PROVIDERS},
    **{f"HEADWATER_AUTH_EXTERNAL_{each.upper()}_SECRET": "s" * 32 for each in PROVIDERS},
}
SCHEMA = """
create table authors (id bigint generated always as identity primary key, name text not null unique, country text);
create table books (
  id bigint generated always as identity primary key, author_id bigint not null references authors,
  title text not null, isbn text unique, price numeric, published date
);
insert into authors (name, country) values ('Ada', 'SE'), ('Bob', null), ('Cleo', 'NO');
insert into books (author_id, title, isbn, price, published) values
  (1, 'Rivers', 'a', 10, '2001-01-01'), (1, 'Streams', 'b', 20, '2002-01-01'), (2, 'Lakes', 'c', 30, null);
create view dear_books as select id, title from books where price > 15;
create table scratch (id bigint generated always as identity primary key, word text, n int);
create table counters (id bigint generated always as identity primary key, n int not null check (n >= 0));
insert into counters (n) values (10), (10);
create function add(a int, b int) returns int language sql as 'select a + b';
create function hand_over(giver bigint, taker bigint, amount int) returns void language sql as
  'update counters set n = n + amount where id = taker; update counters set n = n - amount where id = giver';
create table notes (
  id bigint generated always as identity primary key, owner uuid not null default auth.uid(), body text not null
);
alter table notes enable row level security;
create policy own on notes to authenticated using (auth.uid() = owner) with check (auth.uid() = owner);
create table letters (id bigint generated always as identity primary key, reader text not null, kind text not null);
alter table letters enable row level security;
create policy by_email on letters for select using (kind = 'email' and auth.email() = reader);
create policy by_role on letters for select using (kind = 'role' and auth.role() = reader);
create policy by_claim on letters for select using (kind = 'claim' and auth.jwt() ->> 'team' = reader);
insert into letters (reader, kind) values ('ada@example.com', 'email'), ('authenticated', 'role'), ('blue', 'claim');
create policy own_folder_in on storage.objects for insert to authenticated
  with check (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text);
create policy own_folder_out on storage.objects for select to authenticated
  using (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text);
create policy own_folder_away on storage.objects for delete to authenticated
  using (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text);
alter publication supabase_realtime add table notes;
"""
MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(slots=True)
class Caller:
    """Somebody who asks: the gateway, and the headers that say who it is."""

    client: httpx.Client = field(repr=False)
    headers: dict[str, str] = field(repr=False)

    def ask(self, method: str, path: str, body: Any = None, **more: str) -> Any:
        """Ask for a path below the gateway. Bytes go as they are, all else as JSON; names of headers have underscores."""
        headers = self.headers | {name.replace("_", "-"): value for name, value in more.items()}
        given: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            given = {"content": body}
        return self.client.request(method, path, headers=headers, **given)

    def told(self, method: str, path: str, body: Any = None, **more: str) -> Any:
        """Give the JSON of a 2xx answer."""
        answer = self.ask(method, path, body, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()


@dataclass(slots=True)
class Place:
    """A platform, and who calls it."""

    platform: Platform
    client: httpx.Client
    anon: Caller
    service: Caller

    def bearer(self, token: str) -> Caller:
        """Give somebody with the public key and an access token."""
        return Caller(self.client, self.anon.headers | {"authorization": f"Bearer {token}"})

    def with_claims(self, **claims: object) -> Caller:
        """Give somebody with a token of these claims, signed by the platform."""
        whole = {"role": "authenticated", "aud": "authenticated", "exp": int(time.time()) + 600, **claims}
        return self.bearer(jwt.encode(whole, self.platform.values["JWT_SECRET"], algorithm="HS256"))


@dataclass(slots=True)
class Person:
    """Somebody who has signed up."""

    email: str
    password: str
    session: dict[str, Any] = field(repr=False)
    caller: Caller = field(repr=False)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with platform(environment=SETTINGS) as one, httpx.Client(base_url=one.url, timeout=30) as client:
        done = one.command("psql", "-v", "ON_ERROR_STOP=1", "-qc", SCHEMA)
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("letters")
        key = one.values["SERVICE_ROLE_KEY"]
        yield Place(
            one,
            client,
            Caller(client, {"apikey": one.values["ANON_KEY"]}),
            Caller(client, {"apikey": key, "authorization": f"Bearer {key}"}),
        )


@pytest.fixture(scope="module")
def anon(place: Place) -> Caller:
    return place.anon


@pytest.fixture(scope="module")
def service(place: Place) -> Caller:
    return place.service


@pytest.fixture(scope="module")
def ada(place: Place) -> Person:
    return signed_up(place, "ada@example.com", {"team": "blue"})


def signed_up(place: Place, email: str = "", data: dict[str, object] | None = None) -> Person:
    email = email or f"{uuid4()}@example.com"
    asked = {"email": email, "password": "secret", "data": data or {}}
    session = place.anon.told("POST", "/auth/v1/signup", asked)
    return Person(email, "secret", session, place.bearer(session["access_token"]))


def claims_of(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))


# 2. Resources and their fields


def test_a_session_has_the_fields_of_2_3_and_its_user_those_of_2_2(ada: Person) -> None:
    session, user = ada.session, ada.session["user"]

    assert isinstance(session["access_token"], str)
    assert session["token_type"].lower() == "bearer"
    assert isinstance(session["expires_in"], int)
    assert isinstance(session["refresh_token"], str)
    assert UUID(user["id"])
    assert (user["email"], user["role"]) == ("ada@example.com", "authenticated")
    assert MILLISECONDS.fullmatch(user["created_at"])
    assert user["user_metadata"]["team"] == "blue"


def test_an_access_token_has_the_claims_of_2_4(ada: Person) -> None:
    claims = claims_of(ada.session["access_token"])

    assert claims["aud"] == claims["role"] == "authenticated"
    assert isinstance(claims["exp"], int)
    assert 0 < claims["exp"] - time.time() <= ada.session["expires_in"]
    assert claims["sub"] == ada.session["user"]["id"]
    assert claims["email"] == "ada@example.com"
    assert claims["user_metadata"]["team"] == "blue"


# 4.1 The REST interface


def test_the_root_describes_the_interface_as_openapi(service: Caller) -> None:
    told = service.told("GET", "/rest/v1/")

    assert told.get("swagger") or told["openapi"]
    assert {"/authors", "/books", "/dear_books", "/rpc/add"} <= told["paths"].keys()


def test_the_key_may_come_in_the_query(place: Place) -> None:
    key = place.anon.headers["apikey"]

    found = place.client.get(f"/rest/v1/authors?select=name&id=eq.1&apikey={key}")

    assert (found.status_code, found.json()) == (200, [{"name": "Ada"}])


def test_rows_of_tables_and_views_come_as_an_array(anon: Caller) -> None:
    answer = anon.ask("GET", "/rest/v1/authors?select=*&order=id")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()[0] == {"id": 1, "name": "Ada", "country": "SE"}
    assert anon.told("GET", "/rest/v1/dear_books?select=title&order=title") == [
        {"title": "Lakes"},
        {"title": "Streams"},
    ]


@pytest.mark.parametrize("body", [{"word": "one"}, [{"word": "many"}, {"word": "more"}]])
@pytest.mark.parametrize("wanted", ["representation", "minimal", "headers-only", None])
def test_an_insert_is_answered_as_prefer_says(anon: Caller, body: Any, wanted: str | None) -> None:
    headers = {"prefer": f"return={wanted}"} if wanted else {}

    answer = anon.ask("POST", "/rest/v1/scratch", body, **headers)

    assert answer.status_code == 201
    if wanted == "representation":
        rows = answer.json()
        assert [row["word"] for row in rows] == [
            row["word"] for row in (body if isinstance(body, list) else [body])
        ]
        assert all(isinstance(row["id"], int) for row in rows)
    else:
        assert answer.content == b""
    if wanted == "headers-only" and isinstance(body, dict):
        assert answer.headers["location"].startswith("/scratch?id=eq.")


def test_matching_rows_are_updated_and_deleted(anon: Caller) -> None:
    word = str(uuid4())
    anon.ask("POST", "/rest/v1/scratch", [{"word": word, "n": 1}, {"word": word, "n": 2}])
    at = f"/rest/v1/scratch?word=eq.{word}"

    quiet = anon.ask("PATCH", f"{at}&n=eq.1", {"n": 5})
    minimal = anon.ask("PATCH", f"{at}&n=eq.5", {"n": 6}, prefer="return=minimal")
    shown = anon.ask("PATCH", f"{at}&n=eq.6", {"n": 7}, prefer="return=representation")
    gone = anon.ask("DELETE", f"{at}&n=eq.7", prefer="return=representation")
    rest = anon.ask("DELETE", at)

    assert [(each.status_code, each.content) for each in (quiet, minimal, rest)] == [(204, b"")] * 3
    assert (shown.status_code, [row["n"] for row in shown.json()]) == (200, [7])
    assert (gone.status_code, [row["n"] for row in gone.json()]) == (200, [7])
    assert anon.told("GET", at) == []


def test_without_a_filter_all_rows_are_affected(anon: Caller) -> None:
    anon.ask("POST", "/rest/v1/scratch", [{"word": "x"}, {"word": "y"}])

    patched = anon.ask("PATCH", "/rest/v1/scratch", {"n": 1}, prefer="return=representation").json()
    assert len(patched) >= 2
    assert {row["n"] for row in patched} == {1}
    assert anon.ask("DELETE", "/rest/v1/scratch").status_code == 204
    assert anon.told("GET", "/rest/v1/scratch?select=*") == []


def test_functions_are_called_by_the_names_of_their_parameters(anon: Caller) -> None:
    assert anon.told("POST", "/rest/v1/rpc/add", {"a": 2, "b": 3}) == 5


def test_a_function_is_one_transaction(anon: Caller) -> None:
    done = anon.ask("POST", "/rest/v1/rpc/hand_over", {"giver": 1, "taker": 2, "amount": 4})
    failed = anon.ask("POST", "/rest/v1/rpc/hand_over", {"giver": 1, "taker": 2, "amount": 100})

    assert (done.is_success, failed.status_code) == (True, 400)
    assert [row["n"] for row in anon.told("GET", "/rest/v1/counters?select=n&order=id")] == [6, 14]


def test_merge_duplicates_upserts_by_the_key_or_the_columns_named(anon: Caller) -> None:
    prefer = "resolution=merge-duplicates,return=representation"
    by_isbn = "/rest/v1/books?on_conflict=isbn"

    made = anon.ask("POST", by_isbn, {"author_id": 3, "title": "Seas", "isbn": "u"}, prefer=prefer)
    merged = anon.ask("POST", by_isbn, {"author_id": 3, "title": "Oceans", "isbn": "u"}, prefer=prefer)

    assert (made.status_code, merged.is_success) == (201, True)
    assert merged.json()[0] == made.json()[0] | {"title": "Oceans"}
    assert anon.ask("DELETE", "/rest/v1/books?isbn=eq.u").status_code == 204


def test_the_interface_follows_the_schema(place: Place) -> None:
    place.platform.psql(
        "create table latecomers (id int primary key, name text); insert into latecomers values (1, 'x')"
    )
    place.platform.wait_for_catalog("latecomers")
    assert place.anon.told("GET", "/rest/v1/latecomers?select=name") == [{"name": "x"}]

    place.platform.psql("drop table latecomers")
    deadline = time.monotonic() + 30
    while place.anon.ask("GET", "/rest/v1/latecomers").status_code != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)


# 4.2 Query parameters and headers


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("price=eq.10", ["Rivers"]),
        ("price=neq.10", ["Streams", "Lakes"]),
        ("price=gt.20", ["Lakes"]),
        ("price=gte.20", ["Streams", "Lakes"]),
        ("price=lt.20", ["Rivers"]),
        ("price=lte.20", ["Rivers", "Streams"]),
        ("title=like.R*", ["Rivers"]),
        ("title=like.r*", []),
        ("title=ilike.*EA*", ["Streams"]),
        ("isbn=in.(a,c)", ["Rivers", "Lakes"]),
        ("published=is.null", ["Lakes"]),
        ("isbn=not.in.(a,c)", ["Streams"]),
        ("published=not.is.null", ["Rivers", "Streams"]),
        ("price=gt.10&price=lt.30", ["Streams"]),
        ("price=gt.10&published=is.null", ["Lakes"]),
    ],
)
def test_filters_leave_their_rows(anon: Caller, query: str, titles: list[str]) -> None:
    found = anon.told("GET", f"/rest/v1/books?select=title&order=id&{query}")

    assert [row["title"] for row in found] == titles


@pytest.mark.parametrize("members", ["name,country", "*"])
def test_related_rows_are_embedded(anon: Caller, members: str) -> None:
    one = anon.told("GET", f"/rest/v1/books?select=title,authors({members})&id=eq.1")[0]
    many = anon.told("GET", "/rest/v1/authors?select=name,books(title,price)&id=eq.1")[0]

    assert one["authors"]["name"] == "Ada"
    assert ("id" in one["authors"]) == (members == "*")
    assert {row["title"] for row in many["books"]} == {"Rivers", "Streams"}
    filtered = anon.told("GET", "/rest/v1/authors?select=name,books(title)&books.title=eq.Rivers&id=eq.1")
    assert filtered == [{"name": "Ada", "books": [{"title": "Rivers"}]}]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("name.desc", ["Cleo", "Bob", "Ada"]),
        ("country.asc.nullsfirst", ["Bob", "Cleo", "Ada"]),
        ("country.asc.nullslast", ["Cleo", "Ada", "Bob"]),
        ("country.desc.nullslast,name.asc", ["Ada", "Cleo", "Bob"]),
    ],
)
def test_rows_are_ordered(anon: Caller, order: str, names: list[str]) -> None:
    assert [row["name"] for row in anon.told("GET", f"/rest/v1/authors?select=name&order={order}")] == names


def test_pages_by_limit_and_offset_and_by_range(anon: Caller) -> None:
    at = "/rest/v1/authors?select=name&order=id"
    first = anon.ask("GET", at, range="0-1", prefer="count=exact")
    whole = anon.ask("GET", at, range="0-9", prefer="count=exact")

    assert anon.told("GET", f"{at}&limit=1&offset=1") == [{"name": "Bob"}]
    assert (first.headers["content-range"], len(first.json())) == ("0-1/3", 2)
    assert (whole.status_code, whole.headers["content-range"]) == (200, "0-2/3")
    assert anon.ask("GET", at, range="0-1").headers["content-range"].startswith("0-1/")
    assert anon.ask("GET", at, range="90-99", prefer="count=exact").status_code == 416
    assert anon.ask("GET", at, range="9-2").status_code == 416


@pytest.mark.parametrize("kind", ["exact", "planned", "estimated"])
def test_a_count_stands_behind_the_range(anon: Caller, kind: str) -> None:
    answer = anon.ask("GET", "/rest/v1/authors?select=id&limit=2", prefer=f"count={kind}")

    assert re.fullmatch(r"0-1/\d+", answer.headers["content-range"])
    if kind == "exact":
        assert answer.headers["content-range"] == "0-1/3"


def test_one_object_instead_of_an_array_where_the_filter_finds_one(anon: Caller) -> None:
    accept = "application/vnd.rest.object+json"
    one = anon.ask("GET", "/rest/v1/authors?select=name&id=eq.1", accept=accept)
    several = anon.ask("GET", "/rest/v1/authors?select=name", accept=accept)

    assert (one.status_code, one.json()) == (200, {"name": "Ada"})
    assert one.headers["content-type"].startswith(accept)
    assert (several.status_code, several.json()["code"]) == (406, "RESTERR116")


# 4.3 GraphQL


def asked(caller: Caller, query: str, variables: object = None) -> Any:
    body = {"query": query, **({} if variables is None else {"variables": variables})}
    told = caller.told("POST", "/graphql/v1", body)
    assert "errors" not in told, told
    return told["data"]


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


# 4.4 Accounts


def test_a_password_has_six_characters_at_least(anon: Caller) -> None:
    answer = anon.ask("POST", "/auth/v1/signup", {"email": "short@example.com", "password": "12345"})

    assert answer.status_code in (400, 422)
    assert "6 characters" in answer.text


def test_a_session_is_had_by_password_and_by_refresh_token_and_ends_with_logout(place: Place) -> None:
    person = signed_up(place)
    told = {"email": person.email, "password": person.password}

    session = place.anon.told("POST", "/auth/v1/token?grant_type=password", told)
    again = place.anon.told(
        "POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]}
    )
    caller = place.bearer(again["access_token"])
    ended = caller.ask("POST", "/auth/v1/logout")

    for one in (session, again):
        assert {"access_token", "token_type", "expires_in", "refresh_token", "user"} <= one.keys()
        assert one["user"]["id"] == person.session["user"]["id"]
    assert (ended.status_code, ended.content) == (204, b"")
    refreshed = place.anon.ask(
        "POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": again["refresh_token"]}
    )
    assert refreshed.status_code in (400, 401)
    assert caller.ask("GET", "/auth/v1/user").status_code in (401, 403)


@pytest.mark.parametrize("provider", [each for each in PROVIDERS if each not in ASKED_FIRST])
def test_authorize_leads_to_the_provider(place: Place, provider: str) -> None:
    query = {"provider": provider, "redirect_to": f"{SITE}/back", "scopes": "one two"}

    answer = place.client.get("/auth/v1/authorize", params=query)

    assert answer.status_code in (302, 303, 307)
    there = urlsplit(answer.headers["location"])
    asked_for = parse_qs(there.query)
    assert there.scheme == "https"
    assert asked_for["client_id"] == [f"client of {provider}"]
    wanted = set() if provider in FIXED_SCOPES else {"one", "two"}
    assert wanted <= set(re.split("[ ,]", asked_for["scope"][0]))


def test_magiclink_sends_a_letter_that_leads_back(place: Place) -> None:
    email = f"{uuid4()}@example.com"

    answer = place.anon.ask(
        "POST", "/auth/v1/magiclink", {"email": email, "options": {"redirectTo": f"{SITE}/inside"}}
    )

    assert answer.status_code == 200
    catcher = f"{place.platform.values['MAILPIT_URL']}/api/v1"
    found = httpx.get(f"{catcher}/search", params={"query": f'to:"{email}"'}).json()["messages"]
    letter = httpx.get(f"{catcher}/message/{found[0]['ID']}").json()
    link = next(each for each in re.findall(r"https?://[^\s\"<>)]+", letter["Text"]) if "/verify" in each)
    followed = httpx.get(link)
    assert followed.headers["location"].startswith(f"{SITE}/inside#access_token=")


def test_a_code_by_phone_gives_a_session(place: Place) -> None:
    phone, code = next(iter(PHONES.items()))

    sent = place.anon.ask("POST", "/auth/v1/otp", {"phone": f"+{phone}"})
    wrong = place.anon.ask(
        "POST", "/auth/v1/verify", {"phone": f"+{phone}", "token": "000000", "type": "sms"}
    )
    session = place.anon.told("POST", "/auth/v1/verify", {"phone": f"+{phone}", "token": code, "type": "sms"})

    assert (sent.status_code, wrong.is_success) == (200, False)
    me = place.bearer(session["access_token"]).told("GET", "/auth/v1/user")
    assert me["phone"] == phone
    assert place.anon.ask("POST", "/auth/v1/otp", {"phone": "070-1"}).status_code in (400, 422)


def test_a_changed_phone_is_verified(place: Place) -> None:
    person = signed_up(place)
    phone, code = list(PHONES.items())[1]

    assert person.caller.ask("PUT", "/auth/v1/user", {"phone": f"+{phone}"}).status_code == 200
    changed = person.caller.ask(
        "POST", "/auth/v1/verify", {"phone": f"+{phone}", "token": code, "type": "phone_change"}
    )

    assert changed.status_code == 200
    assert person.caller.told("GET", "/auth/v1/user")["phone"] == phone


def test_the_user_is_read_and_changed(place: Place) -> None:
    person = signed_up(place, data={"team": "red"})

    read = person.caller.told("GET", "/auth/v1/user")
    changed = person.caller.told("PUT", "/auth/v1/user", {"data": {"name": "Ada"}, "password": "another one"})

    assert (read["id"], read["email"]) == (person.session["user"]["id"], person.email)
    assert changed["user_metadata"]["name"] == "Ada"
    assert changed["user_metadata"]["team"] == "red"
    assert MILLISECONDS.fullmatch(changed["created_at"])
    told = {"email": person.email, "password": "another one"}
    assert place.anon.ask("POST", "/auth/v1/token?grant_type=password", told).status_code == 200
    assert person.caller.ask("PUT", "/auth/v1/user", {"email": f"{uuid4()}@example.com"}).status_code == 200


# 4.5 Storage


def test_buckets_are_made_changed_emptied_and_deleted(service: Caller) -> None:
    base = "/storage/v1/bucket"
    made = service.ask(
        "POST",
        base,
        {"name": "walk", "public": True, "file_size_limit": 10, "allowed_mime_types": ["text/plain"]},
    )
    again = service.ask("POST", base, {"name": "walk"})
    plain = service.told("POST", base, {"name": "plain"})
    listed = {each["id"]: each for each in service.told("GET", base)}
    changed = service.ask("PUT", f"{base}/walk", {"public": False, "file_size_limit": 100})
    read = service.told("GET", f"{base}/walk")
    file = service.ask("POST", "/storage/v1/object/walk/a.txt", b"words", content_type="text/plain")
    full = service.ask("DELETE", f"{base}/walk")
    emptied = service.ask("POST", f"{base}/walk/empty")
    gone = [service.ask("DELETE", f"{base}/{name}").status_code for name in ("walk", "plain")]

    assert (made.is_success, made.json()["name"], plain["name"]) == (True, "walk", "plain")
    assert again.is_error
    assert {"id", "name", "public", "created_at", "updated_at"} <= listed["walk"].keys()
    assert (listed["walk"]["public"], listed["plain"]["public"]) == (True, False)
    assert listed["plain"]["allowed_mime_types"] is None
    assert MILLISECONDS.fullmatch(listed["walk"]["created_at"])
    assert changed.status_code == 200
    assert (read["public"], read["file_size_limit"], read["allowed_mime_types"]) == (
        False,
        100,
        ["text/plain"],
    )
    assert (file.status_code, full.is_error, emptied.status_code, gone) == (200, True, 200, [200, 200])
    assert service.ask("GET", f"{base}/walk").is_error


@pytest.fixture(scope="module")
def shelf(service: Caller) -> str:
    """A private bucket with some files."""
    service.told("POST", "/storage/v1/bucket", {"name": "shelf"})
    for name in ("docs/a.txt", "docs/b.txt", "docs/deep/c.txt", "z.txt"):
        upload(service, f"shelf/{name}", name.encode(), cache_control="3600")
    return "shelf"


def upload(caller: Caller, key: str, data: bytes = b"words", **headers: str) -> Any:
    return caller.ask("POST", f"/storage/v1/object/{key}", data, **{"content_type": "text/plain", **headers})


def test_a_file_is_uploaded_once_unless_it_may_be_overwritten(service: Caller, shelf: str) -> None:
    first = upload(service, "shelf/in/one.txt", b"first", cache_control="60")
    refused = upload(service, "shelf/in/one.txt", b"second")
    kept = service.ask("GET", "/storage/v1/object/shelf/in/one.txt")
    upserted = upload(service, "shelf/in/one.txt", b"third", x_upsert="true")
    now = service.ask("GET", "/storage/v1/object/shelf/in/one.txt")

    assert (first.status_code, first.json()["Key"]) == (200, "shelf/in/one.txt")
    assert UUID(first.json()["Id"])
    assert refused.is_error
    assert (kept.content, kept.headers["content-type"]) == (b"first", "text/plain")
    assert kept.headers["cache-control"] == "max-age=60"
    assert kept.headers["etag"]
    assert (upserted.status_code, now.content) == (200, b"third")


def test_a_bucket_takes_files_of_up_to_5_gb_where_it_says_so(service: Caller) -> None:
    told = {"name": "vast", "file_size_limit": 5 * 1024**3}

    assert service.ask("POST", "/storage/v1/bucket", told).status_code == 200
    assert service.told("GET", "/storage/v1/bucket/vast")["file_size_limit"] == 5 * 1024**3
    assert upload(service, "vast/more", bytes(51 * 1024**2)).status_code == 200


def test_without_a_limit_of_its_own_a_bucket_takes_50_mb(service: Caller) -> None:
    service.told("POST", "/storage/v1/bucket", {"name": "usual"})

    assert upload(service, "usual/fits", bytes(52428800)).status_code == 200
    assert upload(service, "usual/more", bytes(52428801)).is_error


def test_what_a_bucket_does_not_take_is_refused(service: Caller) -> None:
    told = {"name": "narrow", "file_size_limit": 10, "allowed_mime_types": ["text/plain"]}
    service.told("POST", "/storage/v1/bucket", told)

    assert upload(service, "narrow/fits", b"x" * 10).status_code == 200
    assert upload(service, "narrow/long", b"x" * 11).is_error
    assert upload(service, "narrow/kind", b"x", content_type="image/png").is_error


def test_a_public_file_needs_no_credentials_and_a_private_one_does(place: Place, shelf: str) -> None:
    place.service.told("POST", "/storage/v1/bucket", {"name": "open", "public": True})
    upload(place.service, "open/a b.txt", b"for all")

    at = "/storage/v1/object/public/open/a b.txt"
    public = place.client.get(at)
    odd = place.client.get(at, headers={"apikey": "nonsense", "authorization": "Bearer nonsense"})
    private = place.client.get("/storage/v1/object/public/shelf/z.txt")

    assert (public.status_code, public.content) == (odd.status_code, odd.content) == (200, b"for all")
    assert private.is_error
    assert place.client.get("/storage/v1/object/shelf/z.txt").is_error
    assert place.anon.ask("GET", "/storage/v1/object/shelf/z.txt").is_error
    assert place.service.ask("GET", "/storage/v1/object/shelf/z.txt").content == b"z.txt"


def test_a_listing_has_the_entries_of_2_5(service: Caller, shelf: str) -> None:
    def names(**told: object) -> list[str]:
        return [each["name"] for each in service.told("POST", "/storage/v1/object/list/shelf", told)]

    entries = service.told("POST", "/storage/v1/object/list/shelf", {"prefix": "docs"})
    file = next(each for each in entries if each["name"] == "a.txt")

    assert UUID(file["id"])
    for moment in ("updated_at", "created_at", "last_accessed_at"):
        assert MILLISECONDS.fullmatch(file[moment]), moment
    told = file["metadata"]
    assert isinstance(told["eTag"], str)
    assert (told["size"], told["mimetype"]) == (10, "text/plain")
    assert told["cacheControl"] == "max-age=3600"
    assert [each["name"] for each in entries] == ["a.txt", "b.txt", "deep"]
    assert {"docs", "z.txt"} <= set(names())
    assert names(prefix="docs", limit=1, offset=1) == ["b.txt"]
    assert names(prefix="docs", search="b") == ["b.txt"]
    assert names(prefix="docs", sortBy={"column": "name", "order": "desc"}) == ["deep", "b.txt", "a.txt"]
    for column in ("created_at", "updated_at"):
        assert set(names(prefix="docs", sortBy={"column": column, "order": "asc"})) == {
            "a.txt",
            "b.txt",
            "deep",
        }


def test_a_list_has_a_hundred_entries_unless_told_otherwise(place: Place, shelf: str) -> None:
    place.platform.psql(
        "insert into storage.objects (bucket_id, name) select 'shelf', 'many/' || to_char(n, '000') from generate_series(1, 105) n"
    )

    listed = place.service.told("POST", "/storage/v1/object/list/shelf", {"prefix": "many"})

    assert len(listed) == 100


def test_files_are_moved_copied_and_deleted(service: Caller, shelf: str) -> None:
    upload(service, "shelf/from.txt", b"moved")

    moved = service.ask(
        "POST",
        "/storage/v1/object/move",
        {"bucketId": "shelf", "sourceKey": "from.txt", "destinationKey": "to/there.txt"},
    )
    copied = service.ask(
        "POST",
        "/storage/v1/object/copy",
        {"bucketId": "shelf", "sourceKey": "to/there.txt", "destinationKey": "copy.txt"},
    )
    read = [
        service.ask("GET", f"/storage/v1/object/shelf/{name}").content
        for name in ("to/there.txt", "copy.txt")
    ]
    gone = service.ask("DELETE", "/storage/v1/object/shelf", {"prefixes": ["to/there.txt", "copy.txt"]})

    assert (moved.status_code, copied.status_code, gone.status_code) == (200, 200, 200)
    assert read == [b"moved", b"moved"]
    assert service.ask("GET", "/storage/v1/object/shelf/from.txt").is_error
    assert service.ask("GET", "/storage/v1/object/shelf/copy.txt").is_error


def test_a_signed_url_serves_a_private_file_for_seven_days_at_most(place: Place, shelf: str) -> None:
    at = "/storage/v1/object/sign/shelf/z.txt"
    signed = place.service.told("POST", at, {"expiresIn": 604800})["signedURL"]

    assert signed.startswith("/object/sign/shelf/z.txt?token=")
    assert place.client.get(f"/storage/v1{signed}").content == b"z.txt"
    assert place.client.get("/storage/v1/object/sign/shelf/z.txt?token=nonsense").is_error
    for wrong in ({"expiresIn": 604801}, {"expiresIn": 0}, {}):
        assert place.service.ask("POST", at, wrong).status_code == 400, wrong


def test_a_signed_upload_url_takes_a_file(place: Place, shelf: str) -> None:
    told = place.service.told("POST", "/storage/v1/object/upload/sign/shelf/signed.txt", {"expiresIn": 600})

    sent = place.client.put(
        f"/storage/v1{told['url']}", content=b"signed", headers={"content-type": "text/plain"}
    )

    assert sent.status_code == 200
    assert place.service.ask("GET", "/storage/v1/object/shelf/signed.txt").content == b"signed"


@pytest.mark.parametrize("form", ["webp", "jpeg", "png", "avif"])
@pytest.mark.parametrize("resize", ["cover", "contain", "fill"])
def test_an_image_is_rendered(place: Place, shelf: str, form: str, resize: str) -> None:
    from tests.workers.images.samples import opened, quarters, written

    upload(
        place.service,
        "shelf/picture.png",
        written(quarters(80, 40), "png"),
        content_type="image/png",
        x_upsert="true",
    )

    answer = place.service.ask(
        "GET",
        "/storage/v1/render/image/authenticated/shelf/picture.png"
        f"?width=20&height=20&resize={resize}&format={form}&quality=1",
    )

    image = opened(answer.content)
    assert (answer.status_code, answer.headers["content-type"]) == (200, f"image/{form}")
    assert (image.width, image.height) == ((20, 10) if resize == "contain" else (20, 20))


@pytest.mark.parametrize("query", ["quality=0", "quality=101", "resize=other", "width=x", "format=other"])
def test_an_image_cannot_be_had_otherwise(service: Caller, shelf: str, query: str) -> None:
    answer = service.ask("GET", f"/storage/v1/render/image/authenticated/shelf/picture.png?{query}")

    assert answer.status_code == 400


def test_policies_on_the_objects_table_decide(place: Place, ada: Person) -> None:
    place.service.told("POST", "/storage/v1/bucket", {"name": "own"})
    other, mine = signed_up(place), ada.session["user"]["id"]

    assert upload(ada.caller, f"own/{mine}/a.txt", b"mine").status_code == 200
    assert upload(other.caller, f"own/{mine}/b.txt").is_error
    assert upload(place.anon, f"own/{mine}/b.txt").is_error
    assert ada.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").content == b"mine"
    assert other.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").is_error
    other.caller.ask("DELETE", "/storage/v1/object/own", {"prefixes": [f"{mine}/a.txt"]})
    assert ada.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").content == b"mine"
    assert (
        ada.caller.ask("DELETE", "/storage/v1/object/own", {"prefixes": [f"{mine}/a.txt"]}).status_code == 200
    )
    assert ada.caller.ask("GET", f"/storage/v1/object/own/{mine}/a.txt").is_error


# 5. Authentication


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/rest/v1/authors"),
        ("POST", "/graphql/v1"),
        ("POST", "/auth/v1/signup"),
        ("GET", "/auth/v1/user"),
        ("POST", "/auth/v1/otp"),
        ("GET", "/storage/v1/bucket"),
        ("POST", "/storage/v1/object/list/shelf"),
        ("POST", "/storage/v1/object/sign/shelf/z.txt"),
        ("POST", "/storage/v1/object/upload/sign/shelf/z.txt"),
        ("GET", "/storage/v1/render/image/authenticated/shelf/z.png"),
    ],
)
@pytest.mark.parametrize("key", [None, "nonsense"])
def test_a_missing_or_wrong_key_is_401(place: Place, method: str, path: str, key: str | None) -> None:
    body: Any = {} if method == "POST" else None

    answer = place.client.request(method, path, json=body, headers={"apikey": key} if key else {})

    assert answer.status_code == 401


def test_policies_read_id_email_role_and_claims_and_the_service_key_passes_them(
    place: Place, ada: Person
) -> None:
    def kinds(caller: Caller) -> list[str]:
        return [row["kind"] for row in caller.told("GET", "/rest/v1/letters?select=kind&order=kind")]

    ada.caller.ask("POST", "/rest/v1/notes", {"body": "mine"})
    other = place.with_claims(sub=str(uuid4()), team="blue")

    assert kinds(ada.caller) == ["email", "role"]
    assert kinds(other) == ["claim", "role"]
    assert kinds(place.anon) == []
    assert kinds(place.service) == ["claim", "email", "role"]
    assert [row["body"] for row in ada.caller.told("GET", "/rest/v1/notes")] == ["mine"]
    assert other.told("GET", "/rest/v1/notes") == []
    query = "{ notesCollection { edges { node { body } } } }"
    assert asked(ada.caller, query)["notesCollection"]["edges"] == [{"node": {"body": "mine"}}]
    assert asked(other, query)["notesCollection"]["edges"] == []


def test_what_a_user_may_not_do_is_403(place: Place, ada: Person) -> None:
    refused = ada.caller.ask("POST", "/rest/v1/notes", {"owner": str(uuid4()), "body": "another's"})

    assert (refused.status_code, refused.json()["code"]) == (403, "42501")


# 6. Events: what the realtime edge's own tests hold is not asked again; a change is followed end to end


async def test_changes_presence_and_broadcasts_reach_a_subscriber(place: Place, ada: Person) -> None:
    key, token = place.anon.headers["apikey"], ada.session["access_token"]
    url = f"{place.platform.url}/realtime/v1/websocket?vsn=1.0.0&apikey={key}"
    config = {
        "broadcast": {"self": True},
        "presence": {"key": "ada", "enabled": True},
        "postgres_changes": [{"event": "*", "schema": "public", "table": "notes"}],
    }
    heard: list[tuple[str, Any]] = []
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:

        async def until(event: str) -> Any:
            while True:
                for name, payload in heard:
                    if name == event:
                        heard.remove((name, payload))
                        return payload
                message = await socket.receive_json(timeout=20)
                heard.append((message["event"], message["payload"]))

        def frame(event: str, payload: object) -> dict[str, object]:
            return {"topic": "realtime:room", "event": event, "payload": payload, "ref": "1", "join_ref": "1"}

        await socket.send_json(frame("phx_join", {"config": config, "access_token": token}))
        while (await until("system"))["status"] != "ok":
            pass
        await socket.send_json(
            frame("broadcast", {"type": "broadcast", "event": "wave", "payload": {"n": 1}})
        )
        wave = await until("broadcast")
        await socket.send_json(
            frame("presence", {"type": "presence", "event": "track", "payload": {"at": "desk"}})
        )
        joined = await until("presence_diff")
        ada.caller.ask("POST", "/rest/v1/notes", {"body": "told"})
        place.platform.psql(f"insert into notes (owner, body) values ('{uuid4()}', 'not for ada')")
        ada.caller.ask("PATCH", "/rest/v1/notes?body=eq.told", {"body": "changed"})
        ada.caller.ask("DELETE", "/rest/v1/notes?body=eq.changed")
        changes = [(await until("postgres_changes"))["data"] for _ in range(3)]

    assert (wave["event"], wave["payload"]["n"]) == ("wave", 1)
    assert joined["joins"]["ada"]["metas"][0]["at"] == "desk"
    assert [each["type"] for each in changes] == ["INSERT", "UPDATE", "DELETE"]
    assert (changes[0]["schema"], changes[0]["table"], changes[0]["record"]["body"]) == (
        "public",
        "notes",
        "told",
    )


# 7. Errors


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "code"),
    [
        ("GET", "/rest/v1/books?title=nonsense", None, {}, 400, "RESTERR100"),
        ("GET", "/rest/v1/books?price=eq.x", None, {}, 400, "22P02"),
        ("GET", "/rest/v1/nowhere", None, {}, 404, "RESTERR205"),
        ("POST", "/rest/v1/rpc/nowhere", {}, {}, 404, "RESTERR202"),
        ("GET", "/rest/v1/books", None, {"accept": "image/x-nonsense"}, 406, "RESTERR107"),
        ("POST", "/rest/v1/authors", {"name": "Ada"}, {}, 409, "23505"),
        ("GET", "/rest/v1/books", None, {"range": "900-901", "prefer": "count=exact"}, 416, "RESTERR103"),
        ("POST", "/rest/v1/books", [1, 2], {}, 400, None),
    ],
)
def test_an_error_has_its_status_and_four_fields(
    anon: Caller, method: str, path: str, body: Any, headers: dict[str, str], status: int, code: str | None
) -> None:
    answer = anon.ask(method, path, body, **headers)
    told = answer.json()

    assert answer.status_code == status
    assert set(told) == {"code", "message", "details", "hint"}
    assert isinstance(told["message"], str)
    assert all(told[name] is None or isinstance(told[name], str) for name in ("details", "hint"))
    assert told["code"] == code or (code is None and told["code"])


@pytest.mark.parametrize(
    "path",
    ["/rest/v1/authors", "/graphql/v1", "/auth/v1/user", "/storage/v1/object/authenticated/shelf/z.txt"],
)
def test_an_expired_token_is_answered_with_words_that_say_so(place: Place, path: str) -> None:
    expired = place.with_claims(sub=str(uuid4()), exp=int(time.time()) - 3600)
    method, body = ("POST", {"query": "{ __typename }"}) if path == "/graphql/v1" else ("GET", None)

    answer = expired.ask(method, path, body)

    assert answer.is_error
    assert "jwt expired" in answer.text.lower()


# 8. Limits


def test_accounts_are_protected_against_brute_force(place: Place) -> None:
    told = {"email": "ada@example.com", "password": "guessed"}

    answers = [place.anon.ask("POST", "/auth/v1/token?grant_type=password", told) for _ in range(60)]

    assert {each.status_code for each in answers} == {400, 429}
    assert answers[-1].headers["retry-after"]
