"""Copy one database from the old server to the new one. No code of the project runs as the superuser meanwhile.

Functions of the project stand in checks, generated columns, domains, casts and index expressions, and the server calls them with the
rights of whoever writes the rows or adds the constraint. So the copy has three parts:

    definitions  as the superuser, while all tables are empty: nothing is evaluated
    rows         of each owner over a login of its own, which has the owner's rights and no more; foreign keys rest meanwhile
    the rest     as the superuser: sequences, large objects, triggers, materialized views (filled as their owners); event triggers last,
                 so that none fires

Source: PostgreSQL, "Notes" of pg_dump and pg_restore; dump_entries of pg_restore --list: `id; class oid KIND schema name owner`.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from services.supervisor.postgres.cluster import SUPERUSER
from services.supervisor.postgres.major_upgrade.tools import ServerTools, connection_string

_ENTRY = re.compile(r"\d+; \d+ (\d+) (.*)")
_ROWS = "TABLE DATA "
_LATER = (
    "SEQUENCE SET ", "BLOB", "LARGE OBJECT", "TRIGGER ", "MATERIALIZED VIEW DATA ", "EVENT TRIGGER ", "COMMENT ", "SECURITY LABEL ",
)  # fmt: skip
_OWNERS = "select oid, relowner::regrole from pg_class where relkind in ('r', 'p', 'f', 'm');"
_LOGIN = """\
create role {login} login bypassrls nosuperuser password '{password}' in role {owner};
grant set on parameter session_replication_role to {login};
select format('grant usage on schema %I to {login}', nspname) from pg_namespace as n
where exists (select from pg_class as c where c.relnamespace = n.oid and c.relowner = '{text}'::regrole and c.relkind in ('r', 'p')) \\gexec
select format('grant insert on %s to {login}', oid::regclass) from pg_class
where relowner = '{text}'::regrole and relkind in ('r', 'p') \\gexec
"""
_NO_TRIGGERS = "-c session_replication_role=replica"
_NO_LOGIN = "drop owned by {login}; drop role {login};"


@dataclass(frozen=True, slots=True)
class ArchiveParts:
    """Lines of an archive's list, by the part of the copy that restores them; `rows` by the oid of the table."""

    definitions: list[str] = field(default_factory=list)
    rows: list[tuple[int, str]] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)


def copy_database(old: ServerTools, new: ServerTools, name: str, folder: Path) -> None:
    """Copy a database with its settings and rights; the archive lies in `folder` meanwhile. Raises: StartFailed."""
    archive, chosen = folder / "archive", folder / "entries"
    old.output(
        "pg_dump",
        "--format=custom",
        "--compress=1",
        "--create",
        f"--file={archive}",
        f"--dbname={connection_string(name)}",
    )
    parts = parts_of(old.output("pg_restore", "--list", str(archive)).splitlines())
    owners = dict(row.split("|", 1) for row in old.run_sql(_OWNERS, connection_string(name)))

    def restore(server: ServerTools, entries: Iterable[str], *options: str) -> None:
        chosen.write_text("\n".join(entries) + "\n", encoding="utf-8")
        server.output("pg_restore", "--exit-on-error", f"--use-list={chosen}", *options, str(archive))

    there = f"--dbname={connection_string(name)}"
    restore(new, parts.definitions, "--create", "--clean", "--if-exists", "--dbname=template1")
    for owner, entries in _by_owner(parts.rows, owners).items():
        if owner == SUPERUSER:
            restore(replace(new, options=_NO_TRIGGERS), entries, there)
            continue
        login, password = f"headwater_upgrade_{secrets.token_hex(8)}", secrets.token_hex(24)
        text = owner.replace("'", "''")
        new.run_sql(
            _LOGIN.format(login=login, password=password, owner=owner, text=text), connection_string(name)
        )
        restore(replace(new, user=login, password=password, options=_NO_TRIGGERS), entries, there)
        new.run_sql(_NO_LOGIN.format(login=login), connection_string(name))
    restore(new, parts.rest, there)
    archive.unlink()
    chosen.unlink()


def parts_of(lines: Iterable[str]) -> ArchiveParts:
    """Divide the list of an archive (pure). Triggers of events come last: they would fire at what follows them."""
    parts, last = ArchiveParts(), list[str]()
    for line in lines:
        if not (entry := _ENTRY.match(line)):
            continue
        if entry[2].startswith(_ROWS):
            parts.rows.append((int(entry[1]), line))
        elif entry[2].startswith("EVENT TRIGGER "):
            last.append(line)
        elif entry[2].startswith(_LATER):
            parts.rest.append(line)
        else:
            parts.definitions.append(line)
    comments = [line for line in parts.rest if " COMMENT " in line or " SECURITY LABEL " in line]
    others = [line for line in parts.rest if line not in comments]
    return ArchiveParts(parts.definitions, parts.rows, [*others, *last, *comments])


def _by_owner(rows: Iterable[tuple[int, str]], owners: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the entries by the owner of their table, as SQL writes it."""
    grouped: dict[str, list[str]] = {}
    for oid, line in rows:
        grouped.setdefault(owners[str(oid)], []).append(line)
    return grouped
