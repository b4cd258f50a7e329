"""The entries of a dump: which are the platform's, and how the others are restored (pure).

The list of `pg_restore --list` has one line an entry:

    216; 1259 16397 TABLE public notes postgres
    id;  catalog and oid, kind, schema, name, owner

A project may have manipulated the backup, so nothing of it runs as a superuser, and nothing that the platform creates is restored
from it: entries that a database with only the platform's schemas already has are left out.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

_KINDS = (
    "ACCESS METHOD", "BLOB COMMENTS", "BLOB METADATA", "CHECK CONSTRAINT", "DATABASE PROPERTIES", "DEFAULT ACL", "EVENT TRIGGER",
    "FK CONSTRAINT", "FOREIGN DATA WRAPPER", "FOREIGN TABLE", "INDEX ATTACH", "LARGE OBJECT", "MATERIALIZED VIEW DATA",
    "MATERIALIZED VIEW", "OPERATOR CLASS", "OPERATOR FAMILY", "PROCEDURAL LANGUAGE", "PUBLICATION TABLES IN SCHEMA",
    "PUBLICATION TABLE", "ROW SECURITY", "SECURITY LABEL", "SEQUENCE OWNED BY", "SEQUENCE SET", "SHELL TYPE",
    "STATISTICS DATA", "SUBSCRIPTION TABLE", "TABLE ATTACH", "TABLE DATA", "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY", "TEXT SEARCH PARSER", "TEXT SEARCH TEMPLATE", "USER MAPPING",
)  # fmt: skip
_LINE = re.compile(rf"(?P<id>\d+); \d+ \d+ (?P<kind>{'|'.join(_KINDS)}|[A-Z]+) (?P<rest>.*)")
_LEFT_OUT = (
    "DATABASE",
    "DATABASE PROPERTIES",
    "ENCODING",
    "EXTENSION",
    "SEARCHPATH",
    "STATISTICS DATA",
    "STDSTRINGS",
)
_LAST = re.compile(r"(EVENT TRIGGER|PUBLICATION)\b")
RIGHTS = ("ACL", "DEFAULT ACL")
_PLATFORM_STATE = ("headwater", "headwater_history", "headwater_jobs", "net")
"""Schemas whose rows describe the state of this platform, not of the saved one."""
_PARTITION = re.compile(r"realtime messages_\d")
_PLATFORM_TRIGGERS = ("auth users headwater_webhooks", "storage events_outbox headwater_webhooks")
"""Triggers that are there while a webhook wants events of accounts or of storage; they belong to this platform's webhooks."""
_CAUSE_TRIGGERS = (" headwater_history", " headwater_cause")
"""The ends of the places of triggers that the pools `history` and `webhooks` make again where a comment or a webhook asks for it."""
JOBS = ("cron job", "cron job_run_details")
"""Tables of the superuser whose rows belong to the project. If a dump defines such a table, it is the project's own: a dump never
defines the objects of an extension."""


@dataclass(frozen=True, slots=True)
class DumpEntry:
    """One line of the list."""

    line: str
    kind: str
    place: str
    """Schema and name, as the list spells them: `public notes`, `- plpgsql`."""
    owner: str

    @property
    def schema(self) -> str:
        """The first word of `place`."""
        return self.place.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class DumpParts:
    """The entries of a dump, grouped by how they are restored."""

    schemas: list[DumpEntry]
    main: list[DumpEntry]
    """As role postgres: the project's definitions, rows and rights."""
    last: list[DumpEntry]
    """Event triggers and publications."""
    jobs: list[DumpEntry]
    rights: list[DumpEntry]
    """Grants on objects of the platform or of a superuser; extensions make their own grants."""
    emptied: list[str]
    """The platform's tables whose rows are in the dump."""


def read_entries(listing: str) -> list[DumpEntry]:
    """Parse the list of a dump; lines of another form are comments."""
    entries = []
    for line in listing.splitlines():
        if match := _LINE.fullmatch(line):
            place, _, owner = match["rest"].rpartition(" ")
            entries.append(DumpEntry(line, match["kind"], place, owner))
    return entries


def divide_entries(
    entries: Iterable[DumpEntry], platform: Iterable[DumpEntry], superusers: Container[str]
) -> DumpParts:
    """Group the entries of a dump; `platform` are those of a database with only the platform's schemas."""
    entries = list(entries)
    platform_entries = {(entry.kind, entry.place) for entry in platform}
    schemas_with_blank = {
        entry.place[2:] for entry in entries if entry.kind == "SCHEMA" and " " in entry.place[2:]
    }
    own_tables = {entry.place for entry in entries if entry.kind == "TABLE"}
    parts = DumpParts([], [], [], [], [], [])
    for entry in entries:
        about = entry.place.partition(" ")[2] if entry.kind in ("COMMENT", "SECURITY LABEL", "ACL") else ""
        if (entry.kind, entry.place) in platform_entries:
            if entry.kind in RIGHTS and entry.schema not in _PLATFORM_STATE:
                parts.rights.append(entry)
            continue
        if entry.kind == "TRIGGER" and (
            entry.place in _PLATFORM_TRIGGERS or entry.place.endswith(_CAUSE_TRIGGERS)
        ):
            continue
        if entry.kind in _LEFT_OUT or about.startswith(("EXTENSION ", "DATABASE ")):
            continue
        if (entry.schema in _PLATFORM_STATE and not _is_in(entry, schemas_with_blank)) or _PARTITION.match(
            entry.place
        ):
            continue
        if entry.kind in RIGHTS and entry.owner in superusers:
            parts.rights.append(entry)
        elif _LAST.match(entry.kind) or _LAST.match(about):
            parts.last.append(entry)
        elif entry.kind == "SCHEMA":
            parts.schemas.append(entry)
        elif entry.kind == "TABLE DATA" and entry.place in JOBS and entry.place not in own_tables:
            parts.jobs.append(entry)
        else:
            if entry.kind == "TABLE DATA" and ("TABLE", entry.place) in platform_entries:
                parts.emptied.append(entry.place)
            parts.main.append(entry)
    return parts


def _is_in(entry: DumpEntry, schemas: Iterable[str]) -> bool:
    """Return whether an entry is one of these schemas or an object in one (pure).

    The list does not quote names: in `net worth items` the schema may be `net` or `net worth`. The platform's schemas contain
    nothing of a project, so it is the backup's schema with a blank in its name.
    """
    return any(
        entry.place in (f"- {name}", f"SCHEMA {name}") or entry.place.startswith(f"{name} ")
        for name in schemas
    )


def entry_list(entries: Iterable[DumpEntry]) -> str:
    """Return a list that pg_restore reads."""
    return "".join(f"{entry.line}\n" for entry in entries)
