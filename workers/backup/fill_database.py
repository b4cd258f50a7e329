"""Fills an empty database from a backup, without running anything of the backup in a superuser's session.

    step                                             runs as
    platform's migrations, as far as the backup's    superuser, and logins of their roles
    roles, schemas, extensions, foreign servers,
    definitions                                      a login that may become role postgres and no other role
    rows                                             the same, with triggers and foreign keys disabled
    rows of jobs                                     superuser, as rows; only jobs of roles that postgres may become
    the remaining migrations of the platform
    indexes, constraints, triggers, policies         role postgres
    publications, event triggers                     role postgres, by the platform's functions that create them for it

So check functions, generated columns, index expressions and all other code of the project run as the project. Objects that
belong to a superuser in the dump and were not created by the platform belong to role postgres afterwards.
"""

import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import asyncpg

from schemas.settings.tree import Settings
from workers.backup.database_properties import restore_properties, restore_role_settings
from workers.backup.dump_entries import RIGHTS, DumpEntry, DumpParts, divide_entries, entry_list, read_entries
from workers.backup.event_triggers import restore_event_triggers
from workers.backup.foreign_servers import KINDS, restore_foreign_servers
from workers.backup.job_rows import load_jobs
from workers.backup.manifest import DATABASE, ROLES, BackupError, BackupManifest
from workers.backup.postgres_tools import list_entries, run_tool, script_for
from workers.backup.save import STATEMENTS
from workers.database.migrations.migrate import migrate, read_migrations
from workers.database.sessions.superuser import superuser_options
from workers.database.sessions.throwaway_logins import login_as, login_url_as
from workers.project.project_connection import OWNER, open_as_superuser
from workers.project.sql_splitter import split
from workers.sql import compose

Report = Callable[[str], None]
_EXTENSION = re.compile(r"CREATE EXTENSION IF NOT EXISTS (?P<name>\S+) WITH SCHEMA (?P<schema>\S+);?")
_MAY_FAIL = re.compile(
    r"ALTER [^;]* OWNER TO |GRANT |REVOKE |SET SESSION AUTHORIZATION |RESET SESSION AUTHORIZATION|ALTER DEFAULT PRIVILEGES |"
    r"SET transaction_timeout|COMMENT ON (SCHEMA|EXTENSION) "
)
"""Commands at which role postgres may fail: changing an owner to a role it is not a member of, rights on the platform's objects."""
_COMMAND = re.compile(r"Command was: (.*)")
_TO_ITSELF = re.compile(rf' TO "?{OWNER}"?( WITH GRANT OPTION)?;?$')
SUPERUSER = "supabase_admin"
"""Owner of the platform's objects; this server may have other superusers as well."""
_NO_SUPERUSER = re.compile(r"^(ALTER ROLE .* WITH) NOSUPERUSER ")


async def fill_database(
    url: str, manifest: BackupManifest, folder: Path, settings: Settings, report: Report
) -> None:
    """Fill the database of a superuser's URL. Raises: BackupError, MigrationError, the driver's errors."""
    restored = [
        migration
        for migration in read_migrations()
        if migration.version <= manifest.migrations.get(migration.series, 0)
    ]
    report("Restoring the platform's schemas")
    await migrate(url, settings, restored)
    dump = folder / DATABASE
    async with open_as_superuser(url) as superuser:
        platform, platform_rights = await _platform(url, superuser)
        parts = divide_entries(read_entries(await list_entries(dump)), platform, await _superusers(superuser))
        async with login_as(superuser, url, OWNER) as project:
            new_roles = await _create_roles(project, folder, report)
            await restore_role_settings(project, manifest.role_settings, report)
            memberships = await _grant_owners(superuser, project, parts)
        report("Restoring definitions")
        owners = await _restore_entries(superuser, url, dump, parts.schemas, report)
        await _create_extensions(superuser, url, dump)
        servers = [entry for entry in parts.main if entry.kind in KINDS]
        main = [entry for entry in parts.main if entry.kind not in KINDS]
        async with login_as(superuser, url, OWNER) as project:
            owners += await restore_foreign_servers(project, await _script(dump, servers), report)
        owners += await _restore_entries(superuser, url, dump, main, report, "--section=pre-data")
        report("Restoring rows")
        enable_triggers = await _empty_tables(superuser, url, parts.emptied)
        await _restore_entries(
            superuser,
            url,
            dump,
            main,
            report,
            "--section=data",
            settings={"session_replication_role": "replica"},
        )
        async with login_as(superuser, url, OWNER) as project:
            for statement in enable_triggers:
                await project.execute(statement)
        await load_jobs(superuser, dump, parts.jobs)
    await migrate(url, settings)
    report("Restoring indexes, constraints and rights")
    async with open_as_superuser(url) as superuser:
        owners += await _restore_entries(superuser, url, dump, main, report, "--section=post-data")
        async with login_as(superuser, url, OWNER) as project:
            for statement in _grants(await _script(dump, parts.rights)):
                if statement not in platform_rights and not _TO_ITSELF.search(statement):
                    await _try(project, statement, report)
            for command in owners:
                await _try(project, command, report)
            await restore_event_triggers(project, await _script(dump, parts.last), report)
            for role in {*new_roles, *memberships} - _saved_memberships(folder):
                await _try(
                    project, f"revoke {compose.quoted(role)} from {OWNER} granted by {OWNER}", lambda _: None
                )
            await restore_properties(superuser, project, manifest, report)


async def _platform(url: str, superuser: asyncpg.Connection) -> tuple[list[DumpEntry], set[str]]:
    """Return the entries and grants in a dump of a database that has only the platform's schemas."""
    options = superuser_options(superuser.get_server_version().major * 10000)
    with tempfile.TemporaryDirectory(prefix="headwater-restore-") as folder:
        file = Path(folder) / "platform.dump"
        await run_tool(
            "pg_dump", url, ["--format=custom", "--schema-only", f"--file={file}"], options=options
        )
        entries = read_entries(await list_entries(file))
        return entries, set(
            _grants(await _script(file, [entry for entry in entries if entry.kind in RIGHTS]))
        )


async def _superusers(superuser: asyncpg.Connection) -> set[str]:
    rows = await superuser.fetch("select rolname::pg_catalog.text from pg_catalog.pg_roles where rolsuper")
    return {SUPERUSER, *(row[0] for row in rows)}


def _grants(script: str) -> list[str]:
    """Return the grants that role postgres or the object's owner made (pure)."""
    grants, others = [], False
    for statement in split(script):
        text = statement.text[statement.head :]
        if text.startswith("SET SESSION AUTHORIZATION "):
            others = text.removeprefix("SET SESSION AUTHORIZATION ").strip('"; ') != OWNER
        elif text.startswith("RESET SESSION AUTHORIZATION"):
            others = False
        elif not others and text.startswith(("GRANT ", "REVOKE ", "ALTER DEFAULT PRIVILEGES ")):
            grants.append(text)
    return grants


async def _create_roles(project: asyncpg.Connection, folder: Path, report: Report) -> list[str]:
    """Create the project's own roles as role postgres; return the new ones. Existing ones stay as they are.

    The file is run as role postgres, so a manipulated file cannot grant more rights than role postgres has.
    """
    if not (folder / ROLES).exists():
        return []
    new_roles: list[str] = []
    if project.get_server_version().major >= 16:  # before 16, a role with CREATEROLE may become any role
        await project.execute("set createrole_self_grant = 'set, inherit'")
    for statement in split((folder / ROLES).read_text(encoding="utf-8")):
        text = _NO_SUPERUSER.sub(r"\1 ", statement.text)
        before = set(await _role_names(project))
        await _try(project, text, report)
        new_roles += set(await _role_names(project)) - before
    return new_roles


def _saved_memberships(folder: Path) -> set[str]:
    """Return the roles whose membership role postgres has according to the backup (pure except for reading the file)."""
    if not (folder / ROLES).exists():
        return set()
    text = (folder / ROLES).read_text(encoding="utf-8")
    matches = re.findall(rf'^grant (?:"((?:[^"]|"")+)"|(\w+)) to {OWNER}\b', text, re.MULTILINE)
    return {quoted.replace('""', '"') or plain for quoted, plain in matches}


async def _role_names(project: asyncpg.Connection) -> list[str]:
    return [row[0] for row in await project.fetch("select rolname::pg_catalog.text from pg_catalog.pg_roles")]


async def _grant_owners(
    superuser: asyncpg.Connection, project: asyncpg.Connection, parts: DumpParts
) -> list[str]:
    """Grant role postgres the owners of the backup's objects, where it may have them; return the new memberships."""
    owners = sorted({entry.owner for entry in (*parts.schemas, *parts.main) if entry.owner})
    granted = []
    for row in await superuser.fetch(STATEMENTS["may_become"], owners):
        if not row["is_member"] and await _try(
            project, f"grant {compose.quoted(row['name'])} to {OWNER}", lambda _: None
        ):
            granted.append(row["name"])
    return granted


async def _create_extensions(superuser: asyncpg.Connection, url: str, dump: Path) -> None:
    """Create the dump's extensions as role postgres; the server decides the rights of each script."""
    entries = [entry for entry in read_entries(await list_entries(dump)) if entry.kind == "EXTENSION"]
    text = await _script(dump, entries)
    async with login_as(superuser, url, OWNER) as project:
        for line in text.splitlines():
            if not (match := _EXTENSION.fullmatch(line.strip())):
                continue
            try:
                await project.execute(line.strip())
            except asyncpg.PostgresError as error:
                raise BackupError(
                    f"The extension {match['name']} could not be made: {error}. Leave it out, or have the server trust it."
                ) from None


async def _empty_tables(superuser: asyncpg.Connection, url: str, places: list[str]) -> list[str]:
    """Empty the platform's tables whose rows are in the dump and disable their triggers; return the statements that enable them.

    Some triggers fire in every replication role: they would count, hash and queue the same rows a second time.
    """
    pairs = [place.split(" ", 1) for place in places]
    if not pairs:
        return []
    schemas, names = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    async with login_as(superuser, url, OWNER) as project:
        triggers = await project.fetch(STATEMENTS["triggers"], schemas, names)
        for trigger in triggers:
            await project.execute(trigger["off"])
        tables = ", ".join(f"{compose.quoted(schema)}.{compose.quoted(name)}" for schema, name in pairs)
        await project.execute(f"truncate {tables} cascade")
    return [trigger["back"] for trigger in triggers]


async def _restore_entries(
    superuser: asyncpg.Connection,
    url: str,
    dump: Path,
    entries: list[DumpEntry],
    report: Report,
    *words: str,
    settings: Mapping[str, str] | None = None,
) -> list[str]:
    """Restore entries as role postgres; return the `ALTER ... OWNER` commands that failed, because they need later grants.

    Raises: BackupError for other failures.
    """
    if not entries:
        return []
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as file:
        file.write(entry_list(entries))
        file.flush()
        async with login_url_as(superuser, url, OWNER, superuser_settings=settings) as login:
            errors = await run_tool(
                "pg_restore", login, [*words, f"--use-list={file.name}", str(dump)], may_fail=_may_fail
            )
    owners = []
    for command in _COMMAND.findall(errors):
        if command.startswith("ALTER ") and " OWNER TO " in command:
            owners.append(command)
        else:
            report(f"Note: role {OWNER} may not do this, so it was left out: {command}")
    return owners


def _may_fail(errors: str) -> bool:
    """Return whether pg_restore failed only at commands that may fail (pure)."""
    commands = _COMMAND.findall(errors)
    return (
        "errors ignored on restore: " in errors
        and errors.count("pg_restore: error: ") == len(commands)
        and all(map(_MAY_FAIL.match, commands))
    )


async def _script(dump: Path, entries: list[DumpEntry]) -> str:
    if not entries:
        return ""
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as file:
        file.write(entry_list(entries))
        file.flush()
        return await script_for(dump, Path(file.name))


async def _try(project: asyncpg.Connection, statement: str, report: Report) -> bool:
    """Run a statement as role postgres; report an error and continue. Return whether it succeeded."""
    try:
        await project.execute(statement)
    except asyncpg.DuplicateObjectError:
        return False
    except asyncpg.PostgresError as error:
        report(f"Note: {error}; left out: {statement.splitlines()[0]}")
        return False
    return True
