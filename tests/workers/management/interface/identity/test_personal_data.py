"""Personal data of administrators as it is stored, and rows of versions that stored it as it was typed."""

import json
import uuid

import asyncpg
import msgspec

from schemas.keys.secret import Secret
from tests.workers.management.conftest import Client
from workers.management.interface.audit import seal_audit_rows
from workers.management.interface.identity.personal_data import (
    UNREADABLE,
    Lookup,
    Personal,
    PersonalData,
    PersonalDocument,
)
from workers.management.interface.identity.seal_old_rows import seal_administrators, seal_sessions
from workers.management.interface.rights import Right

_DATA, _OTHER = PersonalData(Secret("one secret")), PersonalData(Secret("another secret"))
_OLD_ROWS = """
with administrator as (
  insert into headwater.administrators (email, rights) values ('Old@Example.com', 'reader') returning id
), session as (
  insert into headwater.administrator_sessions (administrator_id, secret, address, user_agent)
  select id, sha256('old'), '192.0.2.7', 'Old browser' from administrator
)
insert into headwater.administrator_audit (actor, operation, outcome, request_id, address, arguments, before, after)
values ('Old@Example.com', 'administrators.add', 'done', 'old', '192.0.2.7', '{"email": "Old@Example.com"}', null, '{"n": 1}'),
  ('Old@Example.com', 'settings.change', 'done', 'old', '192.0.2.7', '{"version": 3}', '{"a": 1}', null)
"""
_STORED = """
select concat_ws(' ',
  (select string_agg(a::text, ' ') from headwater.administrators as a),
  (select string_agg(a::text, ' ') from headwater.administrator_sessions as a),
  (select string_agg(a::text, ' ') from headwater.administrator_audit as a where request_id = 'old'))
"""
_ALL_STORED = """
select concat_ws(' ', (select string_agg(a::text, ' ') from headwater.administrators as a),
  (select string_agg(a::text, ' ') from headwater.administrator_audit as a))
"""


def test_what_is_sealed_is_opened_with_the_same_secret_alone() -> None:
    text, document = "Ada@example.com, sealed text:x", {"email": "ada@example.com", "n": [1, None]}
    row = {
        "text": _DATA.stored(Personal(text)),
        "document": json.loads(_DATA.stored(PersonalDocument(msgspec.json.encode(document)))),
        "plain": "as it is",
        "forged": "sealed text:AAAA",
        "count": 3,
    }

    assert _DATA.opened(row) == {
        "text": text,
        "document": document,
        "plain": "as it is",
        "forged": UNREADABLE,
        "count": 3,
    }
    other = _OTHER.opened(row)
    assert (other["text"], other["document"]) == (UNREADABLE, UNREADABLE)
    assert _DATA.opened(7) == 7


def test_a_digest_needs_the_secret() -> None:
    assert _DATA.stored(Lookup("ada")) == _DATA.stored(Lookup("ada"))
    assert _DATA.stored(Lookup("ada")) != _DATA.stored(Lookup("bob"))
    assert _DATA.stored(Lookup("ada")) != _OTHER.stored(Lookup("ada"))
    assert _DATA.stored(Personal("ada")) != _DATA.stored(Personal("ada"))


async def test_a_changed_address_is_sealed_signs_in_and_is_audited(owner: Client, visitor: Client) -> None:
    old, new, taken = (f"{uuid.uuid4().hex}@example.com" for _ in range(3))
    changed = await visitor.signed_in(old, Right.DEVELOPER)
    await changed.run("account.set_password", password="a password of mine")
    await visitor.signed_in(taken, Right.READER)
    [row] = [row for row in await owner.run("administrators.list") if row["email"] == old]
    identity = {"id": row["id"], "rights": "developer"}
    for wrong in ("", "no address", "a\0@b", "x" * 400 + "@example.com"):
        assert await owner.refused("administrators.change", **identity, email=wrong) == (
            400,
            "invalid_arguments",
        )
    assert await owner.refused("administrators.change", **identity, email=taken.upper()) == (
        409,
        "already_there",
    )
    assert await changed.refused("administrators.change", **identity, email=new) == (403, "no_right")

    after = await owner.run("administrators.change", **identity, email=f" {new.capitalize()} ")

    assert (after["email"], after["rights"], after["has_password"]) == (new.capitalize(), "developer", True)
    assert (await changed.run("account.me"))["name"] == new.capitalize()  # the session stays
    credentials = {"password": "a password of mine"}
    assert (await visitor.send("POST", "/sign-in", {"email": new} | credentials)).status == 200
    assert (await visitor.send("POST", "/sign-in", {"email": old} | credentials)).status == 401
    [audited, *_] = (await owner.run("audit.list", operation="administrators.change", limit=1))["rows"]
    assert (audited["before"]["email"], audited["after"]["email"]) == (old, new.capitalize())
    admin = await asyncpg.connect(owner.superuser_url)
    try:
        stored = await admin.fetchval(_ALL_STORED)
    finally:
        await admin.close()
    assert not [address for address in (old, new) if address in stored.lower()]


async def test_rows_of_an_older_version_are_sealed_once(owner: Client) -> None:
    admin = await asyncpg.connect(owner.superuser_url)
    try:
        await admin.execute(_OLD_ROWS)
        pool = await owner.worker.database.own()

        for _ in range(2):
            await seal_administrators(pool)
            await seal_sessions(pool)
            await seal_audit_rows(pool)

        stored = await admin.fetchval(_STORED)
    finally:
        await admin.close()
    assert "settings.change" in stored
    assert not [text for text in ("old@example.com", "192.0.2.7", "old browser") if text in stored.lower()]
    [administrator] = [
        row for row in await owner.run("administrators.list") if row["email"] == "Old@Example.com"
    ]
    taken = await owner.refused("administrators.add", email="OLD@example.com", rights="reader")
    assert taken == (409, "already_there")
    sessions = [
        row for row in await owner.run("account.sessions") if row["administrator_id"] == administrator["id"]
    ]
    assert [(row["address"], row["user_agent"]) for row in sessions] == [("192.0.2.7", "Old browser")]
    rows = [row for row in (await owner.run("audit.list"))["rows"] if row["request_id"] == "old"]
    assert [
        (row["actor"], row["address"], row["arguments"], row["before"], row["after"]) for row in rows
    ] == [
        ("Old@Example.com", "192.0.2.7", {"version": 3}, {"a": 1}, None),
        ("Old@Example.com", "192.0.2.7", {"email": "Old@Example.com"}, None, {"n": 1}),
    ]
