"""How the command line prints: short lines, colours on a terminal only."""

import contextlib
import json
import shlex
from collections.abc import Mapping
from typing import Any

import click

from schemas.settings.tree import DEVELOPMENT_JWT_SECRET, DEVELOPMENT_SECRET_KEY

LABELS = {
    "API_URL": "API",
    "REST_URL": "REST",
    "GRAPHQL_URL": "GraphQL",
    "FUNCTIONS_URL": "Functions",
    "STUDIO_URL": "Dashboard",
    "DB_URL": "Database",
    "POOLER_URL": "Pooler",
    "MAILPIT_URL": "Mail catcher",
    "MAILPIT_KEY": "Mail catcher's key",
    "BROKER_URL": "NATS",
    "STORAGE_S3_URL": "Storage (S3)",
    "PUBLISHABLE_KEY": "Publishable key",
    "SECRET_KEY": "Secret key",
    "JWT_SECRET": "JWT secret",
    "ANON_KEY": "anon key",
    "SERVICE_ROLE_KEY": "service_role key",
    "S3_PROTOCOL_ACCESS_KEY_ID": "S3 access key",
    "S3_PROTOCOL_ACCESS_KEY_SECRET": "S3 secret key",
    "S3_PROTOCOL_REGION": "S3 region",
}
_DUPLICATES = frozenset({"INBUCKET_URL"})
"""An older name of an address that is listed under its new name."""
_HIDDEN = frozenset(
    {
        "MAILPIT_KEY", "SECRET_KEY", "JWT_SECRET", "SERVICE_ROLE_KEY", "DB_URL", "POOLER_URL",
        "S3_PROTOCOL_ACCESS_KEY_SECRET",
    }
)  # fmt: skip


class Terminal:
    """Reports a start on the terminal: steps on standard output, warnings on standard error."""

    def __init__(self, *, detached: bool) -> None:
        self.is_detached = detached
        """The platform goes on when the command has returned."""

    def info(self, line: str) -> None:
        """Print a step."""
        _print(line)

    def warn(self, line: str) -> None:
        """Print a warning."""
        _print(line, fg="yellow", err=True)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Print the summary of a start."""
        _print(f"\nHeadwater is ready after {seconds:.1f} s.", fg="green", bold=True)
        _print(table(values if _is_development(values) else _masked(values)))
        end = "Stop it with `headwater stop`." if self.is_detached else "Press Ctrl-C to stop."
        _print(f"\n{end}")


def _print(text: str, **style: Any) -> None:
    """Print a text. A terminal or a pipe that is gone must not stop a running platform, so errors are ignored."""
    with contextlib.suppress(OSError):
        click.secho(text, **style)


def table(values: Mapping[str, str]) -> str:
    """Return addresses and keys as lines for people."""
    listed = {name: value for name, value in values.items() if name not in _DUPLICATES}
    return "\n".join(f"{LABELS.get(name, name):>18}  {value}" for name, value in listed.items())


def env_lines(values: Mapping[str, str]) -> str:
    """Return values as lines for a shell and for readers of `.env` files."""
    return "\n".join(f"{name}={_quoted(value)}" for name, value in values.items())


def json_text(values: Mapping[str, object]) -> str:
    """Return values as one JSON object."""
    return json.dumps(values, indent=2)


def _quoted(value: str) -> str:
    if "'" in value or "\n" in value:
        return shlex.quote(value)
    return f'"{value}"' if not set(value) & set('"\\$`') else f"'{value}'"


def _is_development(values: Mapping[str, str]) -> bool:
    """Return whether the keys are the published development keys, which are public."""
    return (
        values.get("JWT_SECRET") == DEVELOPMENT_JWT_SECRET
        and values.get("SECRET_KEY") == DEVELOPMENT_SECRET_KEY
    )


def _masked(values: Mapping[str, str]) -> dict[str, str]:
    return {
        name: "*** (shown by `headwater status`)" if name in _HIDDEN else value
        for name, value in values.items()
    }
