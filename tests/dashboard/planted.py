"""Hostile text wherever somebody else can write it, for a platform whose dashboard must show all of it as text."""

import uuid
from urllib.parse import quote

import httpx

from tests.dashboard.administrators import PASSWORD, Administrator, add_administrator
from tests.platform import Platform

IMAGE = "<img data-planted src=x onerror=alert(1)>"
"""Stands wherever there is room for one payload only."""
PAYLOADS = (
    "<script data-planted>alert(1)</script>",
    IMAGE,
    "<svg data-planted onload=alert(1)>",
    "</script><script data-planted>alert(1)</script>",
    "\"'`><b data-planted onmouseover=alert(1)>",
    "javascript:alert(1)//",
    "data:text/html,<script data-planted>alert(1)</script>",
    "{{constructor.constructor('alert(1)')()}}${alert(1)}",
    "\u202egpj.exe\u2066<b data-planted>\u2069",
    "\u200b\u2060<b data-planted>\ufeffzero",
    "__proto__",
    "constructor",
)
"""Each is a name that Postgres takes: 63 bytes at most. Elements have `data-planted`, so a test sees them if they are made."""
LONG_START = "<b data-planted>long"
_TYPES = (
    "body text, short varchar(100), fixed char(80), label name, plain json, doc jsonb, list text[], mood public.planted_enum, "
    "part public.planted_part, checked public.planted_domain, words tsvector, bytes bytea, spans public.planted_range, "
    "pattern bit varying, at timestamptz, day date, long interval, amount numeric, ratio float8, place point, address inet"
)
_FUNCTION = """
Deno.serve(() => {
  for (const text of PAYLOADS) console.error(text);
  console.log(LONG_START + "x".repeat(10240));
  throw new Error(IMAGE);
});
"""


def literal(text: str) -> str:
    """Return an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def ident(text: str) -> str:
    """Return a quoted SQL identifier."""
    return '"' + text.replace('"', '""') + '"'


def plant_in_database(server: Platform) -> None:
    """Create the table `cells` with a payload in a cell of every type, and objects of all kinds whose names are payloads."""
    labels = ", ".join(literal(text) for text in PAYLOADS)
    server.psql(
        f"create type public.planted_enum as enum ({labels});"
        f"create type public.planted_part as ({ident(IMAGE)} text, count int);"
        "create domain public.planted_domain as text;"
        "create type public.planted_range as range (subtype = text);"
        f"create table public.cells (id int primary key, {_TYPES}, {', '.join(f'{ident(t)} text' for t in PAYLOADS)});"
        + "".join(_row(number, text) for number, text in enumerate(PAYLOADS, 1))
        + f"insert into public.cells (id, body, doc, list) select 100, t, jsonb_build_object(t, t), array[t]"
        f" from (select {literal(LONG_START)} || repeat('x', 10240) as t) as long;"
        "insert into public.cells (id, at, day, long, amount, ratio, place, address) values (101, 'infinity', '4000-01-01 BC',"
        " '-3 mons 4 days -00:00:01', 'NaN', '-Infinity', '(1,2)', '::1/128');"
        "grant select on public.cells to anon; alter publication supabase_realtime add table public.cells;"
        + "".join(map(_objects, PAYLOADS))
    )
    server.wait_for_catalog(quote(PAYLOADS[-1]))


def _row(number: int, text: str) -> str:
    value = literal(text)
    columns = ", ".join(ident(payload) for payload in PAYLOADS)
    return (
        "insert into public.cells (id, body, short, fixed, label, plain, doc, list, mood, part, checked, words, bytes, spans,"
        f" {columns}) values ({number}, {value}, {value}, {value}, {value}, to_json({value}::text),"
        f" jsonb_build_object({value}, jsonb_build_array({value})), array[{value}], {value}, row({value}, 1),"
        f" {value}, array_to_tsvector(array[{value}]), convert_to({value}, 'UTF8'),"
        f" public.planted_range({value}, null), {', '.join([value] * len(PAYLOADS))});"
    )


def _objects(text: str) -> str:
    name, value = ident(text), literal(text)
    return (
        f"create table public.{name} (id int primary key, {name} text default {value}, parent int references public.{name});"
        f"insert into public.{name} values (1, {value});"
        f"comment on table public.{name} is {value}; comment on column public.{name}.{name} is {value};"
        f"create index {ident(text[:50] + ' index')} on public.{name} ({name});"
        f"alter table public.{name} enable row level security; grant select on public.{name} to anon;"
        f"create policy {name} on public.{name} for select using ({name} = {value} or true);"
        f"create function public.{name}() returns text language plpgsql as $f$ begin"
        f" raise exception using message = {value}, detail = {value}, hint = {value}; end $f$;"
        f"comment on function public.{name}() is {value};"
        f"create function public.{ident('trigger ' + text[:50])}() returns trigger language plpgsql as"
        " $f$ begin return new; end $f$;"
        f"create trigger {name} before update on public.{name} for each row"
        f" execute function public.{ident('trigger ' + text[:50])}();"
        f"alter publication supabase_realtime add table public.{name};"
    )


def plant_in_storage(server: Platform) -> None:
    """Create buckets and objects whose names and types are payloads: past the interface, which takes few of them."""
    server.psql(
        "".join(
            f"insert into storage.buckets (id, name) values ({literal(text)}, {literal(text)});"
            + "".join(
                "insert into storage.objects (bucket_id, name, metadata) values"
                f" ({literal(text)}, {literal(name)}, jsonb_build_object('mimetype', {literal(name)}, 'size', 1));"
                for name in (*PAYLOADS, *(f"{name}/{name}" for name in PAYLOADS))
            )
            for text in PAYLOADS
        )
    )


def plant_a_user(server: Platform, owner: Administrator) -> str:
    """Create a user whose address, phone, metadata, identity and session are payloads; returns the id."""
    data = dict.fromkeys(PAYLOADS, IMAGE) | {
        "name": IMAGE,
        "full_name": IMAGE,
        "avatar_url": "javascript:alert(1)",
    }
    email = f"{uuid.uuid4().hex}@example.com"
    user = owner.run(
        "users.create",
        email=email,
        password=PASSWORD,
        email_confirm=True,
        user_metadata=data,
        app_metadata=data,
    )["user"]["id"]
    answer = httpx.post(
        f"{server.url}/auth/v1/token?grant_type=password",
        json={"email": email, "password": PASSWORD},
        headers={"apikey": server.values["PUBLISHABLE_KEY"], "user-agent": IMAGE},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
    address = literal(f'"{IMAGE}"@example.com')
    server.psql(
        f"update auth.users set email = {address}, phone = '<b data-plant>' where id = '{user}';"
        f"insert into auth.identities (provider_id, user_id, identity_data, provider) values ({literal(IMAGE)}, '{user}',"
        f" jsonb_build_object('email', {literal(IMAGE)}, 'avatar_url', 'javascript:alert(1)'), {literal(IMAGE)})"
    )
    return str(user)


def plant_an_email(owner: Administrator) -> None:
    """Have auth send an email whose subject and body are payloads."""
    version = owner.run("settings.list", prefix="auth.site_url")["version"]
    body = "".join(
        f'<p>{text}</p><a href="{quote(text, safe=":()<>=/ ")}">{text}</a>'
        for text in PAYLOADS
        if "{{" not in text
    )
    owner.run(
        "settings.change",
        version=version,
        values={
            "auth.email.template.recovery.subject": f"Subject {IMAGE}",
            "auth.email.template.recovery.content": f"{body}{{{{ .ConfirmationURL }}}}",
        },
    )
    user = owner.run("users.create", email=f"{uuid.uuid4().hex}@example.com", email_confirm=True)["user"][
        "id"
    ]
    owner.run("users.send", id=user, message="recovery")


def plant_in_logs(server: Platform, owner: Administrator) -> str:
    """Have a function write payloads, ask for paths that are some; returns the request id of the function's call."""
    script = _FUNCTION.replace("PAYLOADS", repr(list(PAYLOADS))).replace("LONG_START", repr(LONG_START))
    owner.run(
        "functions.deploy",
        name="planted",
        files=[{"path": "index.ts", "text": script.replace("IMAGE", repr(IMAGE))}],
    )
    headers = {
        "apikey": server.values["PUBLISHABLE_KEY"],
        "user-agent": IMAGE,
        "referer": "javascript:alert(1)",
    }
    for text in PAYLOADS:
        httpx.get(f"{server.url}/rest/v1/no_{quote(text, safe='')}", headers=headers, timeout=60)
        httpx.post(f"{server.url}/rest/v1/rpc/{quote(text, safe='')}", json={}, headers=headers, timeout=60)
    answer = httpx.get(f"{server.url}/functions/v1/planted", headers=headers, timeout=60)
    return str(answer.headers["x-request-id"])


def plant_an_administrator(server: Platform) -> Administrator:
    """Add an owner who signed in with a payload as browser, has tokens and runs of SQL of that name."""
    administrator = add_administrator(server, "owner")
    httpx.post(
        f"{server.url}/management/v1/sign-in",
        json={"email": administrator.email, "password": PASSWORD},
        headers={"user-agent": IMAGE},
        timeout=60,
    ).raise_for_status()
    httpx.post(
        f"{server.url}/management/v1/sign-in",
        json={"email": f"{IMAGE}@example.com", "password": "x"},
        timeout=60,
    )
    for text in PAYLOADS:
        administrator.run("tokens.create", name=text)
    return administrator
