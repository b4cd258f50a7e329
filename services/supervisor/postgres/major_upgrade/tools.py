"""Runs of Postgres' own tools against the two servers of an upgrade, as their superuser."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from services.supervisor.errors import StartFailed
from services.supervisor.ports import LOOPBACK
from services.supervisor.postgres.cluster import SUPERUSER

_SHOWN_LINES = 8
_FIXED = (
    "-c role=none -c search_path=pg_catalog,pg_temp -c statement_timeout=0 -c lock_timeout=0 "
    "-c idle_in_transaction_session_timeout=0 -c default_transaction_read_only=off"
)


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The tools in a folder, for the server on a port of loopback."""

    programs: Path
    port: int
    password: str = field(repr=False)
    user: str = SUPERUSER
    options: str = ""
    """Further server settings of the sessions, as `-c name=value`."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of libpq; settings that a project stored for a database must not change what is read and written."""
        inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {
            **inherited,
            "PGHOST": LOOPBACK,
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
            "PGOPTIONS": f"{_FIXED} {self.options}".strip(),
            "LC_ALL": "C",
        }

    def output(self, tool: str, *arguments: str, text: str | None = None) -> str:
        """Return what a tool prints. Raises: StartFailed with its errors."""
        done = subprocess.run(  # noqa: S603 - a tool of Postgres with our arguments
            [self.programs / tool, *arguments],
            input=text,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise failure(tool, done.stderr)
        return done.stdout

    def run_sql(self, text: str, database: str) -> list[str]:
        """Return the rows that statements print, their columns separated by `|`. Raises: StartFailed."""
        arguments = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "-")
        return self.output("psql", *arguments, text=text).splitlines()


def failure(tool: str, errors: str) -> StartFailed:
    """Return the error of a tool that failed, with its last lines."""
    lines = [line for line in errors.strip().splitlines() if line.strip()][-_SHOWN_LINES:]
    return StartFailed(f"{tool} failed, and nothing was changed: {' / '.join(lines) or 'it gave no reason'}")


def connection_string(name: str) -> str:
    """Return a database's name as a connection string, so that one with `=` in it is no other string."""
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"dbname='{escaped}'"
