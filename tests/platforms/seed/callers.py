"""Who asks, and the platform that is asked."""

import base64
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import jwt

from tests.platform import Platform

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

    def result(self, method: str, path: str, body: Any = None, **more: str) -> Any:
        """Return the JSON of an answer, which must be a 2xx."""
        answer = self.ask(method, path, body, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()


@dataclass(slots=True)
class SeedPlatform:
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


def signed_up(seed_platform: SeedPlatform, email: str = "", data: dict[str, object] | None = None) -> Person:
    email = email or f"{uuid4()}@example.com"
    asked = {"email": email, "password": "secret", "data": data or {}}
    session = seed_platform.anon.result("POST", "/auth/v1/signup", asked)
    return Person(email, "secret", session, seed_platform.bearer(session["access_token"]))


def claims_of(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))


def asked(caller: Caller, query: str, variables: object = None) -> Any:
    body = {"query": query, **({} if variables is None else {"variables": variables})}
    answer = caller.result("POST", "/graphql/v1", body)
    assert "errors" not in answer, answer
    return answer["data"]
