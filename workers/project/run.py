"""Do one piece of work of a project: `python -P -m workers project TASK` (schemas/project_tasks.py).

What was asked for goes to standard output, steps and refusals to standard error. Exit codes: 0 done, 1 a file or a
finding failed it, 2 it cannot be begun: a broken folder, a history that disagrees, no database.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec

from schemas.project_tasks import (
    Apply,
    Diff,
    Lint,
    ListMigrations,
    Repair,
    Reset,
    RunSeeds,
    Task,
    Types,
    read_task,
)
from schemas.settings.tree import Settings
from workers.database.migrate import MigrationError
from workers.project import history, lint, listing
from workers.project.bring_up import Local, apply_seeds, planned, push, read_local
from workers.project.diff.model import CANNOT_SEE
from workers.project.diff.read import project_schemas
from workers.project.diff.run import difference
from workers.project.door import Links, links_of, open_door
from workers.project.errors import ProjectError, Refused
from workers.project.folder import FOLDER, Migration
from workers.project.reset import reset
from workers.project.start import FOLDER_VARIABLE
from workers.project.types.python import python
from workers.project.types.read import read_database
from workers.project.types.typescript import typescript

DONE, FAILED, REFUSED = 0, 1, 2


def run(settings: Settings, environment: Mapping[str, str], words: Sequence[str]) -> int:
    """Do what the task says; give the exit code."""
    try:
        task = read_task(words[0] if words else "")
        folder = Path(environment.get(FOLDER_VARIABLE, FOLDER))
        return asyncio.run(do(task, settings, folder, links_of(environment)))
    except Refused as error:
        return _refuse(str(error), REFUSED)
    except ProjectError as error:
        return _refuse(str(error), FAILED)
    except msgspec.ValidationError as error:
        return _refuse(f"This is no task: {error}", REFUSED)
    except MigrationError as error:
        return _refuse(f"The platform's schemas could not be made: {error}", FAILED)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return _refuse(f"The database did not do it: {error}", FAILED)


async def do(task: Task, settings: Settings, folder: Path, links: Links) -> int:
    """Do a task; give the exit code. Raises: ProjectError; the driver's errors."""
    match task:
        case Apply():
            return await _apply(task, _local(folder, settings), links)
        case Reset():
            local = _local(folder, settings)
            await reset(links, settings, local, _tell, up_to=task.up_to, seeds=task.seeds)
            return DONE
        case ListMigrations():
            return await _list(task, _local(folder, settings), links)
        case Repair():
            return await _repair(task, _local(folder, settings), links)
        case RunSeeds():
            return await _seed(task, _local(folder, settings), links)
        case Types():
            return await _types(task, settings, links)
        case Lint():
            return await _lint(task, settings, links)
        case Diff():
            return await _diff(task, settings, folder, links)


def _local(folder: Path, settings: Settings) -> Local:
    local = read_local(folder, settings)
    for notice in local.notices:
        _tell(f"Note: {notice}")
    return local


async def _apply(task: Apply, local: Local, links: Links) -> int:
    async with open_door(links.project, _tell) as door:
        if task.dry_run:
            found = history.compare(local.migrations, await history.applied_versions(door.connection))
            if reason := history.disagreement(found, include_all=task.include_all):
                raise Refused(reason)
            for migration in planned(found, task.up_to):
                print(f"{FOLDER}/migrations/{migration.path.name}")
            return DONE
        done = await push(
            door, local, _tell,
            include_all=task.include_all, seeds=task.seeds, roles=task.roles, up_to=task.up_to,
        )  # fmt: skip
    if not done:
        _tell("The database is up to date")
    return DONE


async def _list(task: ListMigrations, local: Local, links: Links) -> int:
    async with open_door(links.project) as door:
        rows = listing.listing(local.migrations, await history.applied_names(door.connection))
    print(listing.as_json(rows) if task.form == "json" else listing.as_table(rows))
    return DONE


async def _repair(task: Repair, local: Local, links: Links) -> int:
    by_version = {migration.version: migration for migration in local.migrations}
    versions = task.versions or list(by_version)
    if task.status == "applied" and (unknown := [each for each in versions if each not in by_version]):
        raise Refused(f"{FOLDER}/migrations has no file of version {', '.join(unknown)}.")
    async with open_door(links.project) as door:
        await history.make_history(door.connection)
        async with door.connection.transaction():
            if not task.versions:
                await history.forget_all(door.connection)
            if task.status == "applied":
                await _mark(door.connection, [by_version[each] for each in versions])
            else:
                await history.mark_reverted(door.connection, versions)
    _tell(f"The history says {task.status}: {', '.join(versions) or 'nothing'}")
    return DONE


async def _mark(connection: asyncpg.Connection, migrations: Sequence[Migration]) -> None:
    for migration in migrations:
        texts = [statement.text for statement in migration.script().statements()]
        await history.mark_applied(connection, migration, texts)


async def _seed(task: RunSeeds, local: Local, links: Links) -> int:
    async with open_door(links.project, _tell) as door:
        await history.lock(door.connection)
        await history.make_history(door.connection)
        hashes = await history.seed_hashes(door.connection)
        wanted = [seed for seed in local.seeds if task.again or seed.name not in hashes]
        changed = [seed for seed in local.seeds if hashes.get(seed.name, seed.digest) != seed.digest]
        if not task.again:
            for seed in changed:
                _tell(f"Note: {seed.name} was changed since it ran; `headwater seed --again` runs it again")
        if not await apply_seeds(door, wanted, _tell):
            _tell("No seed is waiting")
    return DONE


async def _types(task: Types, settings: Settings, links: Links) -> int:
    async with open_door(links.project) as door:
        database = await read_database(door.connection, task.schemas or settings.api.schemas)
    print(typescript(database) if task.language == "typescript" else python(database), end="")
    return DONE


async def _lint(task: Lint, settings: Settings, links: Links) -> int:
    async with open_door(links.project) as door:
        schemas = task.schemas or await project_schemas(door.connection)
        findings = lint.at_least(await lint.lint(door, schemas, settings.api.schemas), task.level)
    if task.form == "json":
        print(lint.as_json(findings))
    elif findings:
        print(lint.as_text(findings))
    else:
        _tell("Nothing was found")
    return FAILED if lint.at_least(findings, task.fail_on) else DONE


async def _diff(task: Diff, settings: Settings, folder: Path, links: Links) -> int:
    local = _local(folder, settings)
    found = await difference(
        links, settings, folder, local, _tell, schemas=task.schemas, against=task.against
    )
    for statement in found.statements:
        print(f"{statement};\n")
    if not found.statements:
        _tell("No difference was found")
    for doubt in found.doubts:
        _tell(f"Look at this: {doubt}")
    _tell(f"Not compared: {CANNOT_SEE}")
    return DONE


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _refuse(text: str, code: int) -> int:
    _tell(text)
    return code
