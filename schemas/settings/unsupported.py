"""What the official `config.toml` may say and this platform does not do (pure): why, and what to do instead.

A project brings such keys with its file, so they are told at the start and never fatal: one line a section, and only where
something is really asked for. A section that is switched off asks for nothing, nor does a key with the value that
`supabase init` writes or that holds here anyway.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_NOTHING = ("", None, False, "false")
"""Values that ask for nothing, whatever the key."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A section or a key that is not honoured."""

    why: str
    instead: str
    usual: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Values by key that ask for nothing; of a key, its own stand under its name."""
    names: bool = False
    """What stands in the section are names of the user's, and each asks for something."""


FOREIGN_SECTIONS: dict[str, Foreign] = {
    "studio": Foreign(
        "there is no dashboard",
        "use `headwater psql`, `headwater status` and `headwater logs`, or any client of Postgres",
    ),
    "analytics": Foreign("logs are kept in files, by no service of their own", "read them with `headwater logs`"),
    "experimental": Foreign(
        "what the official tool tries out is not here; database webhooks need no switch",
        "remove the section",
        {
            "webhooks.enabled": (True, "true"),
            "s3_host": ("env(S3_HOST)",),
            "s3_region": ("env(S3_REGION)",),
            "s3_access_key": ("env(S3_ACCESS_KEY)",),
            "s3_secret_key": ("env(S3_SECRET_KEY)",),
        },
    ),
    "remotes": Foreign(
        "it belongs to a branch of a hosted project and is not applied here",
        "set what differs in the environment (HEADWATER_API_MAX_ROWS=500), or start with another file: --config FILE",
        names=True,
    ),
    "db.pooler": Foreign(
        "the worker pools share their connections by themselves, and no pooler listens",
        "connect to db.port, and set db.pool_size for more connections",
        {"port": (54329,), "pool_mode": ("transaction",), "default_pool_size": (20,), "max_client_conn": (100,)},
    ),
    "db.network_restrictions": Foreign(
        "the embedded database listens on this machine only", "remove the section; a firewall guards an outside database"
    ),
    "db.ssl_enforcement": Foreign(
        "the embedded database listens on this machine only, without TLS",
        "for an outside one write sslmode=require into db.url",
    ),
    "storage.analytics": Foreign("there are no buckets for tables of Iceberg", "switch it off"),
    "storage.vector": Foreign("there are no buckets for vectors", "use the extension vector in a table"),
}  # fmt: skip
"""By their names; what stands below them belongs to them."""

FOREIGN_KEYS: dict[str, Foreign] = {
    "db.major_version": Foreign(
        "the embedded server is Postgres 18", "name a server of another version in db.url", {"major_version": (18,)}
    ),
    "db.health_timeout": Foreign(
        "a start waits for the database as long as it lives", "remove it", {"health_timeout": ("2m", "2m0s", "120s")}
    ),
    "db.root_key": Foreign("the vault keeps a key of its own", "put yours as a line into vault.key beside the database"),
    "realtime.ip_version": Foreign(
        "the parts reach each other on this machine by IPv4",
        "set gateway.host to listen on IPv6",
        {"ip_version": ("IPv4",)},
    ),
    "realtime.max_header_length": Foreign(
        "one limit holds for all interfaces", "set gateway.max_headers", {"max_header_length": (4096,)}
    ),
    "edge_runtime.inspector_port": Foreign(
        "functions have no inspector", "read what they print: `headwater functions logs`", {"inspector_port": (8083,)}
    ),
    "edge_runtime.deno_version": Foreign(
        "functions run in Deno 2", "bring what was written for Deno 1 up to it", {"deno_version": (2,)}
    ),
    "inbucket.pop3_port": Foreign(
        "the mail catcher has no POP3", "read letters at inbucket.port", {"pop3_port": (54326,)}
    ),
}  # fmt: skip
"""Keys of sections that are honoured otherwise."""


def is_foreign(path: str) -> bool:
    """Tell whether a dotted path is, or lies in, what is told here."""
    return path in FOREIGN_KEYS or any(
        path == name or path.startswith(f"{name}.") for name in FOREIGN_SECTIONS
    )


def not_honoured(tree: Mapping[str, Any], source: str) -> list[str]:
    """Give a line for each section of a file that asks for what is not done here."""
    lines = []
    for name, foreign in FOREIGN_SECTIONS.items():
        if asked := list(_asked(_at(tree, name), foreign)):
            told = f"[{name}] in {source} is not honoured ({', '.join(asked)})"
            lines.append(f"{told}: {foreign.why}. Instead: {foreign.instead}")
    return [*lines, *_told_keys(tree, source)]


def _told_keys(tree: Mapping[str, Any], source: str) -> Iterator[str]:
    """Give the lines of single keys, those of one section together."""
    found: dict[str, list[str]] = {}
    for path, foreign in FOREIGN_KEYS.items():
        section, _, key = path.rpartition(".")
        value = _at(tree, path)
        if value is not None and not _is_usual(foreign, key, value):
            found.setdefault(section, []).append(f"{key}: {foreign.why}. Instead: {foreign.instead}")
    for section, told in found.items():
        yield f"[{section}] in {source} has keys that are not honoured. {'; '.join(told)}"


def _asked(section: Any, foreign: Foreign, path: str = "") -> Iterator[str]:
    """Name the keys of a section that ask for something; none where it is switched off."""
    if not isinstance(section, dict):
        yield from () if section in _NOTHING else [path or "its value"]
        return
    if section.get("enabled") in (False, "false"):
        return
    for key, value in section.items():
        where = f"{path}.{key}" if path else key
        if foreign.names or not (isinstance(value, dict) or _is_usual(foreign, where, value)):
            yield where
        elif isinstance(value, dict):
            yield from _asked(value, foreign, where)


def _is_usual(foreign: Foreign, key: str, value: object) -> bool:
    usual = foreign.usual.get(key, ())
    return value in _NOTHING or value in usual or (isinstance(value, str) and value in map(str, usual))


def _at(tree: Mapping[str, Any], path: str) -> Any:
    """Give what stands at a path; None where nothing does."""
    found: Any = tree
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
