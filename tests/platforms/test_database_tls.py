"""TLS of a Postgres of the machine: from outside by TLS as the listed logins alone, with a self-signed certificate that is replaced."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.own_address import own_address
from tests.platform import Platform, platform

_ADDRESS = own_address()
_SERVERS = sorted(Path("/usr/lib/postgresql").glob("1[5-8]/bin/postgres"))
_PASSWORD = "the-projects-own"
pytestmark = pytest.mark.skipif(
    not (_ADDRESS and _SERVERS and shutil.which("psql")),
    reason="no Postgres of the machine, or no address beside loopback",
)


@pytest.fixture(scope="module")
def served() -> Iterator[Platform]:
    settings = {"HEADWATER_DB_PASSWORD": _PASSWORD, "HEADWATER_DB_TRUSTED_PROJECT": "true"}
    words = ("--postgres", str(_SERVERS[-1].parent), "--db-tls", "--db-host", _ADDRESS)
    with platform(*words, environment=settings) as one:
        yield one


def test_a_server_with_tls_takes_the_listed_logins_from_outside_alone(served: Platform) -> None:
    def outcome(user: str, mode: str, replication: str = "") -> str:
        done = subprocess.run(
            ["psql", f"replication={replication}" if replication else "", "-Atc", "select current_user"],
            env={
                **os.environ,
                "PGHOST": _ADDRESS,
                "PGPORT": str(urlsplit(served.values["DB_URL"]).port),
                "PGUSER": user,
                "PGDATABASE": "postgres",
                "PGPASSWORD": _PASSWORD,
                "PGSSLMODE": mode,
                "PGSSLROOTCERT": str(served.data / "tls/certificate.pem"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return (done.stdout + done.stderr).strip().splitlines()[-1]

    accepted = outcome("postgres", "verify-full")
    rejected = [
        outcome(*words)
        for words in (
            ("postgres", "disable"),
            ("authenticator", "verify-full"),
            ("supabase_admin", "verify-full"),
            ("postgres", "verify-full", "true"),
        )
    ]

    assert accepted == "postgres"
    assert all("no pg_hba.conf entry" in line for line in rejected), rejected
