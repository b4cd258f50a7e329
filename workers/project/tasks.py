"""Runs one task of a project: `python -P -m workers project TASK` (schemas/project_tasks.py).

The task's result goes to standard output, steps and errors to standard error. Exit codes: 0 done, 1 a file or a finding
made it fail, 2 it cannot be started: an invalid folder, a history that disagrees with it, no database, 3 access is gained that is an alarm.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec

from schemas.project_tasks import (
    AccessTask,
    ApplyTask,
    DatabasesForTestsTask,
    DiffTask,
    FetchTask,
    LintTask,
    ListMigrationsTask,
    RepairTask,
    ResetTask,
    SeedTask,
    Task,
    TypesTask,
    read_task,
)
from schemas.settings.tree import Settings
from workers.database.migrations.migrate import MigrationError
from workers.project import history, lint, migration_list
from workers.project.access.model import AccessQuestion
from workers.project.access.report import as_json, as_text
from workers.project.access.trial import access_of_migrations
from workers.project.databases_for_tests import make_databases_for_tests
from workers.project.diff.model import NOT_COMPARED
from workers.project.diff.renames import parse_rename
from workers.project.diff.shadow_comparison import difference
from workers.project.diff.snapshot import project_schemas
from workers.project.errors import ProjectError, ProjectRejected
from workers.project.migration_file import display_name, files_to_write, write_migration
from workers.project.project_connection import ProjectUrls, open_project_connection, read_project_urls
from workers.project.project_folder import FOLDER, FOLDER_VARIABLE, ProjectMigration, Script, read_script
from workers.project.push import ProjectFiles, apply_seeds, planned_migrations, push, read_project_files
from workers.project.reset import reset
from workers.project.types.dart import dart
from workers.project.types.python import python
from workers.project.types.read_catalog import check_schemas, read_database
from workers.project.types.typescript import typescript
from workers.project.types.zod import zod

DONE, FAILED, REFUSED, ALARM = 0, 1, 2, 3


def run(settings: Settings, environment: Mapping[str, str], words: Sequence[str]) -> int:
    """Parse and run the task; return the exit code."""
    try:
        task = read_task(words[0] if words else "")
        folder = Path(environment.get(FOLDER_VARIABLE, FOLDER))
        return asyncio.run(do(task, settings, folder, read_project_urls(environment)))
    except ProjectRejected as error:
        return _fail(str(error), REFUSED)
    except ProjectError as error:
        return _fail(str(error), FAILED)
    except msgspec.ValidationError as error:
        return _fail(f"This is no task: {error}", REFUSED)
    except MigrationError as error:
        return _fail(f"The platform's schemas could not be made: {error}", FAILED)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return _fail(f"The database did not do it: {str(error) or type(error).__name__}", FAILED)


async def do(task: Task, settings: Settings, folder: Path, urls: ProjectUrls) -> int:
    """Run a task; return the exit code. Raises: ProjectError; the driver's errors."""
    match task:
        case ApplyTask():
            return await _apply(task, _read_files(folder, settings), urls)
        case ResetTask():
            files = _read_files(folder, settings)
            await reset(urls, settings, files, _print, up_to=task.up_to, seeds=task.seeds)
            return DONE
        case ListMigrationsTask():
            return await _list(task, _read_files(folder, settings), urls)
        case RepairTask():
            return await _repair(task, _read_files(folder, settings), urls)
        case FetchTask():
            return await _fetch(folder, _read_files(folder, settings), urls)
        case SeedTask():
            return await _seed(task, _read_files(folder, settings), urls)
        case TypesTask():
            return await _types(task, settings, urls)
        case LintTask():
            return await _lint(task, settings, urls)
        case DiffTask():
            return await _diff(task, settings, folder, urls)
        case AccessTask():
            return await _access(task, settings, folder, urls)
        case DatabasesForTestsTask():
            files = _read_files(folder, settings)
            await make_databases_for_tests(urls, settings, files, lambda _: None, task.count)
            return DONE


def _read_files(folder: Path, settings: Settings) -> ProjectFiles:
    files = read_project_files(folder, settings)
    for notice in files.notices:
        _print(f"Note: {notice}")
    return files


async def _apply(task: ApplyTask, files: ProjectFiles, urls: ProjectUrls) -> int:
    async with open_project_connection(urls.project, _print) as project:
        if task.dry_run:
            comparison = history.compare(files.migrations, await history.applied_versions(project.connection))
            if reason := history.disagreement(comparison, include_all=task.include_all):
                raise ProjectRejected(reason)
            for migration in planned_migrations(comparison, task.up_to):
                print(f"{FOLDER}/migrations/{migration.path.name}")
            return DONE
        done = await push(
            project, files, _print,
            include_all=task.include_all, seeds=task.seeds, roles=task.roles, up_to=task.up_to,
        )  # fmt: skip
    if not done:
        _print("The database is up to date")
    return DONE


async def _list(task: ListMigrationsTask, files: ProjectFiles, urls: ProjectUrls) -> int:
    async with open_project_connection(urls.project) as project:
        rows = migration_list.listing(files.migrations, await history.applied_names(project.connection))
    print(migration_list.as_json(rows) if task.form == "json" else migration_list.as_table(rows))
    return DONE


async def _repair(task: RepairTask, files: ProjectFiles, urls: ProjectUrls) -> int:
    by_version = {migration.version: migration for migration in files.migrations}
    versions = task.versions or list(by_version)
    if task.status == "applied" and (
        unknown := [version for version in versions if version not in by_version]
    ):
        raise ProjectRejected(f"{FOLDER}/migrations has no file of version {', '.join(unknown)}.")
    async with open_project_connection(urls.project) as project:
        await history.make_history(project.connection)
        async with project.connection.transaction():
            if not task.versions:
                await history.forget_all(project.connection)
            if task.status == "applied":
                await _mark(project.connection, [by_version[version] for version in versions])
            else:
                await history.mark_reverted(project.connection, versions)
    _print(f"The history says {task.status}: {', '.join(versions) or 'nothing'}")
    return DONE


async def _mark(connection: asyncpg.Connection, migrations: Sequence[ProjectMigration]) -> None:
    for migration in migrations:
        texts = [statement.text for statement in migration.script().statements()]
        await history.mark_applied(connection, migration, texts)


async def _fetch(folder: Path, files: ProjectFiles, urls: ProjectUrls) -> int:
    async with open_project_connection(urls.project) as project:
        stored = await history.stored_migrations(project.connection)
    texts, notices = files_to_write(stored, files.migrations)
    for notice in notices:
        _print(f"Note: {notice}")
    for file_name, text in texts.items():
        write_migration(folder, file_name, text)
        _print(f"Wrote {display_name(file_name)}")
    if not texts:
        _print("The folder has every migration of the database")
    return DONE


async def _seed(task: SeedTask, files: ProjectFiles, urls: ProjectUrls) -> int:
    async with open_project_connection(urls.project, _print) as project:
        await history.lock(project.connection)
        await history.make_history(project.connection)
        hashes = await history.seed_hashes(project.connection)
        seeds = [seed for seed in files.seeds if task.again or seed.name not in hashes]
        changed = [seed for seed in files.seeds if hashes.get(seed.name, seed.digest) != seed.digest]
        if not task.again:
            for seed in changed:
                _print(f"Note: {seed.name} was changed since it ran; `headwater seed --again` runs it again")
        if not await apply_seeds(project, seeds, _print):
            _print("No seed is waiting")
    return DONE


async def _types(task: TypesTask, settings: Settings, urls: ProjectUrls) -> int:
    async with open_project_connection(urls.project) as project:
        database = await read_database(project.connection, task.schemas or settings.api.schemas)
    generators = {"typescript": typescript, "python": python, "zod": zod, "dart": dart}
    print(generators[task.language](database), end="")
    return DONE


async def _lint(task: LintTask, settings: Settings, urls: ProjectUrls) -> int:
    async with open_project_connection(urls.project) as project:
        await check_schemas(project.connection, task.schemas)
        schemas = task.schemas or await project_schemas(project.connection)
        findings = lint.at_least(await lint.lint(project, schemas, settings.api.schemas), task.level)
    if task.form == "json":
        print(lint.as_json(findings))
    elif findings:
        print(lint.as_text(findings))
    else:
        _print("Nothing was found")
    return FAILED if lint.at_least(findings, task.fail_on) else DONE


async def _diff(task: DiffTask, settings: Settings, folder: Path, urls: ProjectUrls) -> int:
    files = _read_files(folder, settings)
    result = await difference(
        urls, settings, folder, files, _print,
        schemas=task.schemas, against=task.against, renames=[parse_rename(text) for text in task.renames],
    )  # fmt: skip
    for statement in result.statements:
        print(f"{statement};\n")
    if not result.statements:
        _print("No difference was found")
    for rename in result.likely_renames:
        _print(f"Was it renamed? To keep its rows: headwater db diff --rename '{rename}'")
    for problem in result.problems:
        _print(f"Look at this: {problem}")
    _print(f"Not compared: {NOT_COMPARED}")
    return DONE


async def _access(task: AccessTask, settings: Settings, folder: Path, urls: ProjectUrls) -> int:
    scripts = [_read_script(path) for path in task.files]
    if not scripts:
        async with open_project_connection(urls.project) as project:
            applied = await history.applied_versions(project.connection)
        comparison = history.compare(_read_files(folder, settings).migrations, applied)
        if reason := history.disagreement(comparison, include_all=True):
            raise ProjectRejected(reason)
        scripts = [migration.script() for migration in planned_migrations(comparison)]
    if not scripts:
        _print("No migration is pending")
    question = AccessQuestion(
        users=task.users, sample=task.sample, channels=task.channels,
        tenant_claim=settings.access.tenant_claim, tenant_column=settings.access.tenant_column,
        search_path=list(settings.api.extra_search_path),
    )  # fmt: skip
    found = await access_of_migrations(urls.project, scripts, question, timeout_s=task.timeout_s)
    print(as_json(found) if task.form == "json" else as_text(found))
    return ALARM if found.alarms else DONE


def _read_script(path: str) -> Script:
    return read_script(Path(path), Path(path).name)


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _fail(text: str, code: int) -> int:
    _print(text)
    return code
