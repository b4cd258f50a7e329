"""Fill an empty database from a backup, with nothing of the backup in a superuser's session.

    platform's migrations, as far as the backup's    superuser, and logins of their roles
    roles, schemas, extensions, definitions          a login that may become role postgres and nothing else
    rows                                             the same, while triggers and foreign keys keep still
    rows of jobs                                     the superuser, as rows; only jobs of roles that postgres may become
    platform's migrations to the end
    indexes, constraints, triggers, policies         role postgres
    publications, event triggers                     role postgres, by the functions that make them for it

So check functions, generated columns, index expressions and whatever else is the project's run as the project. What belongs to
a superuser in the dump and is not of the platform's making belongs to role postgres afterwards.
"""

import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import asyncpg

from schemas.settings.tree import Settings
from workers.backup.contents import RIGHTS, Entry, Parts, listed, parted, read_entries
from workers.backup.last import make_last
from workers.backup.manifest import DATABASE, ROLES, BackupError, Manifest
from workers.backup.properties import give_properties, give_role_settings
from workers.backup.rows import load_jobs
from workers.backup.save import STATEMENTS
from workers.backup.tools import contents, run_tool, script_of
from workers.database.migrate import migrate, read_migrations
from workers.database.superuser import login_as, login_url_as, superuser_options
from workers.project.door import OWNER, open_as_superuser
from workers.project.split import split
from workers.sql import compose

Tell = Callable[[str], None]
_EXTENSION = re.compile(r"CREATE EXTENSION IF NOT EXISTS (?P<name>\S+) WITH SCHEMA (?P<schema>\S+);?")
_FORGIVEN = re.compile(
    r"ALTER [^;]* OWNER TO |GRANT |REVOKE |SET SESSION AUTHORIZATION |RESET SESSION AUTHORIZATION|ALTER DEFAULT PRIVILEGES |"
    r"SET transaction_timeout|COMMENT ON (SCHEMA|EXTENSION) "
)
"""What role postgres may fail at: to give things away to whom it is no member of, and rights on what is the platform's."""
_COMMAND = re.compile(r"Command was: (.*)")
_TO_ITSELF = re.compile(rf' TO "?{OWNER}"?( WITH GRANT OPTION)?;?$')
SUPERUSER = "supabase_admin"
"""Who owns what the platform made; the server here may have another superuser besides."""
_NO_SUPERUSER = re.compile(r"^(ALTER ROLE .* WITH) NOSUPERUSER ")


async def fill_database(url: str, manifest: Manifest, folder: Path, settings: Settings, tell: Tell) -> None:
    """Fill the database of a superuser's URL. Raises: BackupError, MigrationError, the driver's errors."""
    known = [one for one in read_migrations() if one.version <= manifest.migrations.get(one.series, 0)]
    tell("Restoring the platform's schemas")
    await migrate(url, settings, known)
    dump = folder / DATABASE
    async with open_as_superuser(url) as superuser:
        platform, known_rights = await _platform(url, superuser)
        parts = parted(read_entries(await contents(dump)), platform, await _superusers(superuser))
        async with login_as(superuser, url, OWNER) as project:
            made = await _roles(project, folder, tell)
            await give_role_settings(project, manifest.role_settings, tell)
            lent = await _membership(superuser, project, parts)
        tell("Restoring definitions")
        owners = await _run(superuser, url, dump, parts.schemas, tell)
        await _extensions(superuser, url, dump)
        owners += await _run(superuser, url, dump, parts.main, tell, "--section=pre-data")
        tell("Restoring rows")
        switched_off = await _empty(superuser, url, parts.emptied)
        await _run(
            superuser,
            url,
            dump,
            parts.main,
            tell,
            "--section=data",
            settings={"session_replication_role": "replica"},
        )
        async with login_as(superuser, url, OWNER) as project:
            for statement in switched_off:
                await project.execute(statement)
        await load_jobs(superuser, dump, parts.jobs)
    await migrate(url, settings)
    tell("Restoring indexes, constraints and rights")
    async with open_as_superuser(url) as superuser:
        owners += await _run(superuser, url, dump, parts.main, tell, "--section=post-data")
        async with login_as(superuser, url, OWNER) as project:
            for statement in _grants(await _script(dump, parts.rights)):
                if statement not in known_rights and not _TO_ITSELF.search(statement):
                    await _try(project, statement, tell)
            for command in owners:
                await _try(project, command, tell)
            await make_last(project, await _script(dump, parts.last), tell)
            for role in {*made, *lent} - _kept_memberships(folder):
                await _try(
                    project, f"revoke {compose.quoted(role)} from {OWNER} granted by {OWNER}", lambda _: None
                )
            await give_properties(superuser, project, manifest, tell)


async def _platform(url: str, superuser: asyncpg.Connection) -> tuple[list[Entry], set[str]]:
    """Return what a database has whose schemas are the platform's alone: the list of its own dump, and its grants."""
    options = superuser_options(superuser.get_server_version().major * 10000)
    with tempfile.TemporaryDirectory(prefix="headwater-restore-") as folder:
        file = Path(folder) / "platform.dump"
        await run_tool(
            "pg_dump", url, ["--format=custom", "--schema-only", f"--file={file}"], options=options
        )
        entries = read_entries(await contents(file))
        return entries, set(_grants(await _script(file, [one for one in entries if one.kind in RIGHTS])))


async def _superusers(superuser: asyncpg.Connection) -> set[str]:
    rows = await superuser.fetch("select rolname::pg_catalog.text from pg_catalog.pg_roles where rolsuper")
    return {SUPERUSER, *(row[0] for row in rows)}


def _grants(script: str) -> list[str]:
    """Return the statements of rights that role postgres gave, or the owner of the thing (pure)."""
    found, others = [], False
    for statement in split(script):
        text = statement.text[statement.head :]
        if text.startswith("SET SESSION AUTHORIZATION "):
            others = text.removeprefix("SET SESSION AUTHORIZATION ").strip('"; ') != OWNER
        elif text.startswith("RESET SESSION AUTHORIZATION"):
            others = False
        elif not others and text.startswith(("GRANT ", "REVOKE ", "ALTER DEFAULT PRIVILEGES ")):
            found.append(text)
    return found


async def _roles(project: asyncpg.Connection, folder: Path, tell: Tell) -> list[str]:
    """Make the project's own roles, as role postgres; return the new ones. Those that are there stay.

    What the file says is run as role postgres says it: a file of another making gives no rights that it has not.
    """
    if not (folder / ROLES).exists():
        return []
    made: list[str] = []
    if project.get_server_version().major >= 16:  # before, whoever may create roles may become them
        await project.execute("set createrole_self_grant = 'set, inherit'")
    for statement in split((folder / ROLES).read_text(encoding="utf-8")):
        text = _NO_SUPERUSER.sub(r"\1 ", statement.text)
        before = set(await _role_names(project))
        await _try(project, text, tell)
        made += set(await _role_names(project)) - before
    return made


def _kept_memberships(folder: Path) -> set[str]:
    """Return the roles that role postgres gave itself, as the backup has it (pure but for the file)."""
    if not (folder / ROLES).exists():
        return set()
    text = (folder / ROLES).read_text(encoding="utf-8")
    found = re.findall(rf'^grant (?:"((?:[^"]|"")+)"|(\w+)) to {OWNER}\b', text, re.MULTILINE)
    return {quoted.replace('""', '"') or plain for quoted, plain in found}


async def _role_names(project: asyncpg.Connection) -> list[str]:
    return [row[0] for row in await project.fetch("select rolname::pg_catalog.text from pg_catalog.pg_roles")]


async def _membership(superuser: asyncpg.Connection, project: asyncpg.Connection, parts: Parts) -> list[str]:
    """Have role postgres become who owns something in the backup, where it may; return whom it was not before."""
    owners = sorted({entry.owner for entry in (*parts.schemas, *parts.main) if entry.owner})
    lent = []
    for row in await superuser.fetch(STATEMENTS["may_become"], owners):
        if not row["is_member"] and await _try(
            project, f"grant {compose.quoted(row['name'])} to {OWNER}", lambda _: None
        ):
            lent.append(row["name"])
    return lent


async def _extensions(superuser: asyncpg.Connection, url: str, dump: Path) -> None:
    """Make the dump's extensions, as role postgres: each script runs with what rights the server gives it."""
    entries = [entry for entry in read_entries(await contents(dump)) if entry.kind == "EXTENSION"]
    text = await _script(dump, entries)
    async with login_as(superuser, url, OWNER) as project:
        for line in text.splitlines():
            if not (found := _EXTENSION.fullmatch(line.strip())):
                continue
            try:
                await project.execute(line.strip())
            except asyncpg.PostgresError as error:
                raise BackupError(
                    f"The extension {found['name']} could not be made: {error}. Leave it out, or have the server trust it."
                ) from None


async def _empty(superuser: asyncpg.Connection, url: str, places: list[str]) -> list[str]:
    """Empty the platform's tables whose rows the dump has, and switch their triggers off; return what brings these back.

    Some triggers fire in every replication role: they would count, hash and queue a second time.
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


async def _run(
    superuser: asyncpg.Connection,
    url: str,
    dump: Path,
    entries: list[Entry],
    tell: Tell,
    *words: str,
    settings: Mapping[str, str] | None = None,
) -> list[str]:
    """Restore entries as role postgres; return the changes of owners that failed, for want of rights that come later.

    Raises: BackupError for what may not fail.
    """
    if not entries:
        return []
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as file:
        file.write(listed(entries))
        file.flush()
        async with login_url_as(superuser, url, OWNER, superuser_settings=settings) as login:
            complaints = await run_tool(
                "pg_restore", login, [*words, f"--use-list={file.name}", str(dump)], forgives=_is_forgiven
            )
    owners = []
    for command in _COMMAND.findall(complaints):
        if command.startswith("ALTER ") and " OWNER TO " in command:
            owners.append(command)
        else:
            tell(f"Note: role {OWNER} may not do this, so it was left out: {command}")
    return owners


def _is_forgiven(complaints: str) -> bool:
    """Say whether pg_restore failed only at what may fail (pure)."""
    commands = _COMMAND.findall(complaints)
    return (
        "errors ignored on restore: " in complaints
        and complaints.count("pg_restore: error: ") == len(commands)
        and all(map(_FORGIVEN.match, commands))
    )


async def _script(dump: Path, entries: list[Entry]) -> str:
    if not entries:
        return ""
    with tempfile.NamedTemporaryFile("w", prefix="headwater-restore-", encoding="utf-8") as file:
        file.write(listed(entries))
        file.flush()
        return await script_of(dump, Path(file.name))


async def _try(project: asyncpg.Connection, statement: str, tell: Tell) -> bool:
    """Run a statement as role postgres; where the server refuses, say so and go on."""
    try:
        await project.execute(statement)
    except asyncpg.DuplicateObjectError:
        return False
    except asyncpg.PostgresError as error:
        tell(f"Note: {error}; left out: {statement.splitlines()[0]}")
        return False
    return True
