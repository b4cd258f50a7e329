"""What the password of role postgres opens, and what it reads of the passwords of others."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from services.supervisor.binaries import find_postgres
from tests.attacks.probe import as_login, run_sql, superuser_url
from tests.platform import Platform

_LOGINS = "select rolname from pg_catalog.pg_roles where rolcanlogin and rolname <> 'postgres' order by 1"


def test_the_password_of_postgres_opens_no_other_login(target: Platform) -> None:
    run_sql(target.values["DB_URL"], "create extension if not exists pg_cron")
    logins = run_sql(superuser_url(target), _LOGINS).stdout.split()
    assert "headwater_scheduler" in logins
    url = target.values["DB_URL"]
    opened = [
        role
        for role in logins
        if run_sql(as_login(url, role, "postgres"), "select 1", check=False).returncode == 0
    ]
    assert opened == []


def test_no_two_logins_share_a_secret(target: Platform) -> None:
    """A verifier is salted: shared passwords are found by trying each password that the platform keeps."""
    kept = json.loads((target.data / "passwords.json").read_text())
    assert len(set(kept.values())) == len(kept)
    logins = run_sql(superuser_url(target), _LOGINS).stdout.split()
    for name, password in kept.items():
        opened = [
            role
            for role in logins
            if run_sql(as_login(target.values["DB_URL"], role, password), "select 1", check=False).returncode
            == 0
        ]
        assert len(opened) <= 1, (name, opened)


_READS = {
    "the catalog": "select count(rolpassword) from pg_catalog.pg_authid",
    "the view": "select count(passwd) from pg_catalog.pg_shadow",
    "as a role that reads everything": (
        "create role hostile_reader; grant pg_read_all_data to hostile_reader; set role hostile_reader;"
        "select count(rolpassword) from pg_catalog.pg_authid"
    ),
    "as supabase_read_only_user": "set role supabase_read_only_user; select count(rolpassword) from pg_catalog.pg_authid",
    "as supabase_etl_admin": "set role supabase_etl_admin; select count(rolpassword) from pg_catalog.pg_authid",
    "a logging setting": "set log_min_duration_statement = 0; select rolpassword from pg_catalog.pg_authid limit 1",
}


@pytest.mark.parametrize("how", _READS)
def test_postgres_reads_no_verifier(target: Platform, how: str) -> None:
    done = run_sql(target.values["DB_URL"], _READS[how], check=False)
    run_sql(superuser_url(target), "drop role if exists hostile_reader")
    assert "permission denied" in done.stderr, done.stdout


def test_postgres_copies_no_cluster(target: Platform, tmp_path: Path) -> None:
    """A physical copy holds the verifiers of all roles, and every other database."""
    done = subprocess.run(
        [str(find_postgres() / "pg_basebackup"), "-d", target.values["DB_URL"], "-D", str(tmp_path / "copy"), "-X", "none", "-c", "fast"],
        capture_output=True, text=True, timeout=60, check=False, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert not (tmp_path / "copy" / "global" / "1260").exists(), "pg_authid was copied"
    assert done.returncode != 0


def test_postgres_may_not_have_programs_run(target: Platform) -> None:
    for role in ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files"):
        done = run_sql(target.values["DB_URL"], f"grant {role} to postgres", check=False)
        assert "permission denied" in done.stderr
