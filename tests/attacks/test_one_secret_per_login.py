"""Attack: who knows the password of role postgres opens the other logins, or makes them its own."""

import json
from urllib.parse import quote

import pytest

from tests.attacks.probe import as_login, run_sql, superuser_url
from tests.platform import Platform

_CLOSED = (
    "headwater_scheduler",
    "headwater_management",
    "supabase_replication_admin",
    "supabase_etl_admin",
    "supabase_admin",
    "dashboard_user",
)
"""Roles that postgres is no member of and must not become."""
_WAYS = (
    "alter role {role} password 'mine'",
    "set role {role}",
    "grant {role} to postgres",
    "set session authorization {role}",
    "alter role {role} rename to other",
    "drop role {role}",
)


@pytest.mark.parametrize("role", _CLOSED)
@pytest.mark.parametrize("way", _WAYS)
def test_postgres_does_not_make_a_login_its_own(target: Platform, role: str, way: str) -> None:
    done = run_sql(target.values["DB_URL"], f"begin; {way.format(role=role)}; rollback", check=False)

    assert "permission denied" in done.stderr or "must be" in done.stderr, done


def test_what_no_part_logs_in_as_has_no_password(target: Platform) -> None:
    without = run_sql(
        superuser_url(target),
        "select rolname from pg_catalog.pg_authid where rolcanlogin and rolpassword is null and rolname !~ '^headwater_' order by 1",
    ).stdout.split()

    assert without == [
        "cli_login_postgres",  # open for minutes, when a developer's token asks
        "cli_login_supabase_read_only_user",
        "pgbouncer",
        "supabase_etl_admin",
        "supabase_functions_admin",
        "supabase_read_only_user",
    ]


def test_each_login_opens_with_its_own_secret_alone(target: Platform) -> None:
    kept = json.loads((target.data / "passwords.json").read_text())
    logins = (
        "authenticator",
        "supabase_auth_admin",
        "supabase_storage_admin",
        "headwater_scheduler",
        "headwater_management",
        "supabase_replication_admin",
    )
    opened = [
        (role, name)
        for role in logins
        for name, password in [*kept.items(), ("postgres", "postgres")]
        if run_sql(
            as_login(target.values["DB_URL"], role, quote(password, safe="")), "select 1", check=False
        ).returncode
        == 0
    ]

    assert opened == [(role, role) for role in logins]
    assert (target.data / "passwords.json").stat().st_mode & 0o777 == 0o600
