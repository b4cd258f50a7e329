"""Attack: who works as role postgres, or has an API key, makes himself an administrator or changes what the audit log says."""

import json
import urllib.error
import urllib.request

import pytest

from tests.attacks.probe import run_sql
from tests.platform import Platform

_WRITES = (
    "insert into headwater.administrators (email, rights) values ('mallory@example.com', 'owner')",
    "update headwater.administrators set rights = 'owner'",
    "insert into headwater.administrator_sessions (administrator_id, secret, address, user_agent)"
    " values (gen_random_uuid(), sha256('x'), '', '')",
    "delete from headwater.administrator_audit",
    "delete from headwater.administrator_passkeys",
    "delete from headwater.administrator_recovery_codes",
    "insert into headwater.administrator_challenges (challenge, purpose, expires_at) values ('x', 'authentication', now())",
    "update headwater.administrators set totp = null",
    "update headwater.administrator_sessions set needs_factor = false",
    "delete from headwater.administrator_attempts",
    "select headwater.sweep_administrator_audit(now(), 1000)",
    "set role headwater_management",
    "grant headwater_management to postgres",
    "alter role headwater_developer password 'mine'",
    "create trigger t before insert on headwater.administrator_sessions execute function now()",
    "alter table headwater.administrator_audit disable trigger all",
    "create table headwater.mine ()",
    "drop table headwater.administrators cascade",
)


@pytest.mark.parametrize("sql", _WRITES)
def test_role_postgres_does_not_reach_the_tables_of_administrators(target: Platform, sql: str) -> None:
    done = run_sql(target.values["DB_URL"], f"begin; {sql}; rollback", check=False)

    assert "permission denied" in done.stderr or "must be" in done.stderr, done


def test_an_api_key_is_no_session_of_an_administrator(target: Platform) -> None:
    for key in (target.values["SERVICE_ROLE_KEY"], target.values["SECRET_KEY"], target.values["ANON_KEY"]):
        for headers in ({"apikey": key}, {"authorization": f"Bearer {key}"}):
            request = urllib.request.Request(
                f"{target.url}/management/v1/operations/administrators.list", b"{}", headers
            )
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            with refused.value:
                assert refused.value.code == 401
                assert json.loads(refused.value.read())["code"] == "not_signed_in"


def test_a_client_cannot_name_the_origin_of_the_server(target: Platform) -> None:
    """The gateway overwrites the header that the pool compares with `Origin`, so a made-up one does not make a page ours."""
    headers = {
        "cookie": "headwater_session=x",
        "origin": "https://evil.example",
        "headwater-origin": "https://evil.example",
    }
    request = urllib.request.Request(f"{target.url}/management/v1/operations/account.me", b"{}", headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    with refused.value:
        assert json.loads(refused.value.read())["code"] == "cross_site"
        assert "access-control-allow-origin" not in refused.value.headers


def _answer(
    target: Platform, path: str, headers: dict[str, str], body: bytes | None = None
) -> tuple[int, object]:
    request = urllib.request.Request(target.url + path, body, {**headers, "content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


def test_the_schema_metadata_interface_takes_the_secret_key_alone(target: Platform) -> None:
    values = target.values
    query = b'{"query": "select current_user as role"}'
    secret = [
        {"apikey": values["SERVICE_ROLE_KEY"]},
        {"apikey": values["SECRET_KEY"]},
        {"apikey": values["ANON_KEY"], "authorization": f"Bearer {values['SERVICE_ROLE_KEY']}"},
    ]
    refused = [
        {},
        {"apikey": "x"},
        {"apikey": values["ANON_KEY"]},
        {"apikey": values["PUBLISHABLE_KEY"]},
        {"apikey": values["ANON_KEY"], "authorization": "Bearer x.y.z"},
        {"apikey": values["SECRET_KEY"], "authorization": f"Bearer {values['ANON_KEY']}"},
        {"authorization": f"Bearer {values['SERVICE_ROLE_KEY']}"},
        {"cookie": "headwater_session=x"},
    ]

    for headers in secret:
        assert _answer(target, "/pg/query", headers, query) == (200, [{"role": "postgres"}])
        status, schemas = _answer(target, "/pg/schemas", headers)
        assert (status, isinstance(schemas, list)) == (200, True)
    for headers in refused:
        for path, body in (("/pg/query", query), ("/pg/tables", None), ("/pg", None), ("/pg/nowhere", None)):
            status, answer = _answer(target, path, headers, body)
            assert status in (401, 403), (headers, path)
            assert isinstance(answer, dict)
            assert "error" in answer


def test_the_path_of_administrators_leads_around_no_key(target: Platform) -> None:
    for headers in ({}, {"apikey": target.values["SERVICE_ROLE_KEY"]}, {"headwater-origin": target.url}):
        for path in ("/management/v1/pg/query", "/management/v1/../../pg/query", "/management/v1//pg/query"):
            status, _ = _answer(target, path, headers, b'{"query": "select 1"}')
            assert status in (400, 401, 403, 404), path
