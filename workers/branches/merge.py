"""Compares a branch with its parent, and merges its schema: as the migrations that only the branch has, and a new one for the rest.

    branch, parent, base --> three_way.py --> merged schema, or conflicts
    shadow: migrations of the parent, its own changes --> migrations of the branch --> the rest of the difference --> is it the merged schema?
    then: files into the project folder, migrations applied to the parent, the new one marked as applied in the branch

Nothing is written and nothing is applied before all of it has run on the shadow. Rows are never merged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import msgspec

from schemas.branches import CompareTask, MergedBranch, MergeTask, SchemaComparison
from schemas.migration_names import next_version
from schemas.settings.tree import Settings
from workers.branches.base_schema import StoredSchema, read_base, read_schema
from workers.branches.errors import BranchRejected
from workers.branches.three_way import merge_schemas, statements_of
from workers.project import history
from workers.project.diff.compare import compare
from workers.project.diff.model import Snapshot
from workers.project.diff.shadow_comparison import DATABASE, prepare_shadow, recreate_database
from workers.project.diff.snapshot import read_snapshot
from workers.project.errors import ScriptFailed
from workers.project.migration_file import files_to_write, text_of, write_migration
from workers.project.project_connection import in_database, open_project_connection
from workers.project.project_folder import FOLDER, ProjectMigration, Script, StoredMigration
from workers.project.push import ProjectFiles, apply_migrations, read_project_files
from workers.project.script_runner import ProjectConnection, run_script
from workers.project.text_migration import file_part


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two schemas now, and the merged one."""

    branch: StoredSchema
    parent: StoredSchema
    merged: Snapshot
    statements: list[str]
    conflicts: list[str]

    @property
    def schemas(self) -> list[str]:
        return sorted({*self.branch.schemas, *self.parent.schemas})

    @property
    def new_versions(self) -> list[str]:
        """The migrations that only the branch has."""
        return sorted({*self.branch.versions} - {*self.parent.versions})


async def compare_branch(task: CompareTask) -> SchemaComparison:
    """Return what a merge would do. Raises: BranchRejected, ProjectError, the driver's errors."""
    sides = await _read_sides(task.base, task.branch_url, task.parent_url)
    return SchemaComparison(sides.new_versions, sides.statements, sides.conflicts)


async def merge_branch(task: MergeTask, settings: Settings) -> MergedBranch:
    """Merge a branch into its parent. Raises: BranchRejected, ProjectError, MigrationError, the driver's errors."""
    await _settle_killed(task)
    sides = await _read_sides(task.base, task.branch_url, task.parent_url)
    if sides.conflicts:
        lines = "\n".join(f"  {conflict}" for conflict in sides.conflicts)
        raise BranchRejected(
            f"The branch and its parent changed the same things:\n{lines}\nMake them equal in one of both, and merge again. Nothing was changed."
        )
    folder = Path(task.folder)
    files = read_project_files(folder, settings)
    if not sides.new_versions and not sides.statements:
        return MergedBranch([], [])
    fetched = await _missing_files(task.branch_url, sides.new_versions, files)
    scripts = _scripts(sides.new_versions, files, fetched)
    rest = await _try_on_shadow(task.shadow_url, settings, files, sides, scripts)
    written = _new_name(folder, task.name, fetched) if rest else ""
    names = [*fetched, *([written] if written else [])]
    _note_path(task).write_bytes(msgspec.json.encode(_MergeNote(names, written, rest)))
    try:
        _write(folder, fetched, written, rest)
    except OSError:
        _note_path(task).unlink()
        raise
    versions = [*sides.new_versions, *(name.partition("_")[0] for name in names if name == written)]
    try:
        applied = await _apply(task.parent_url, sides, folder, settings, versions)
    except ScriptFailed as error:
        removed = await _remove_unapplied(task.parent_url, folder, names)
        raise BranchRejected(
            f"{error}\nThe branch was not merged: rows of the platform forbid it. Removed again: {', '.join(removed) or 'nothing'}."
        ) from None
    if written:
        await _mark(task.branch_url, written, rest)
    _note_path(task).unlink()
    schema = await read_schema(task.branch_url, sides.schemas)
    return MergedBranch(sorted(fetched), applied, written, schema)


async def _read_sides(base_file: str, branch_url: str, parent_url: str) -> _Sides:
    base = read_base(base_file)
    branch = await read_schema(branch_url, base.schemas)
    parent = await read_schema(parent_url, branch.schemas)
    if {*parent.schemas} - {*branch.schemas}:
        branch = await read_schema(branch_url, parent.schemas)
    merge = merge_schemas(base.snapshot, branch.snapshot, parent.snapshot)
    statements = [] if merge.conflicts else statements_of(merge, parent.snapshot)
    return _Sides(branch, parent, merge.merged, statements, merge.conflicts)


async def _missing_files(url: str, versions: Sequence[str], files: ProjectFiles) -> dict[str, str]:
    """Return text by name of the files that the folder lacks of the branch's migrations. Raises: BranchRejected."""
    async with open_project_connection(url) as project:
        stored: list[StoredMigration] = await history.stored_migrations(project.connection)
    texts, notices = files_to_write([one for one in stored if one.version in versions], files.migrations)
    if notices:
        raise BranchRejected(
            "The branch has migrations that cannot be written as files: " + "; ".join(notices)
        )
    return dict(texts)


def _scripts(versions: Sequence[str], files: ProjectFiles, fetched: dict[str, str]) -> list[Script]:
    """Return the migrations of the branch that the parent lacks, in order."""
    by_version = {migration.version: migration for migration in files.migrations}
    texts = {name.partition("_")[0]: (name, text) for name, text in fetched.items()}
    return [
        by_version[version].script()
        if version in by_version
        else Script(f"{FOLDER}/migrations/{texts[version][0]}", texts[version][1])
        for version in versions
    ]


async def _try_on_shadow(
    url: str, settings: Settings, files: ProjectFiles, sides: _Sides, scripts: Sequence[Script]
) -> list[str]:
    """Run the merge on the shadow; return the statements that the migrations leave over. Raises: BranchRejected, ProjectError."""
    comparison = history.compare(files.migrations, sides.parent.versions)
    if comparison.missing:
        raise BranchRejected(str(history.disagreement(comparison)))
    applied = [migration for migration in files.migrations if migration.version in sides.parent.versions]
    await recreate_database(url, settings)
    async with open_project_connection(in_database(url, DATABASE)) as project:
        await prepare_shadow(project, files)
        await apply_migrations(project, applied, lambda _: None, keep_roles=True)
        now = await read_snapshot(project.connection, sides.schemas)
        await _run(project, compare(now, sides.parent.snapshot), "The parent's schema as it is")
        for script in scripts:
            await run_script(project, script, _record_nothing, keep_roles=True)
        await project.reset()
        rest = compare(await read_snapshot(project.connection, sides.schemas), sides.merged)
        await _run(project, rest, "The rest of the merge")
        await project.reset()
        if left := compare(await read_snapshot(project.connection, sides.schemas), sides.merged):
            raise BranchRejected(
                f"The merge was tried and does not make the expected schema; still different: {left[0]}. Nothing was changed. Write the "
                "migration by hand, with `headwater branch diff` as a start."
            )
    return rest


async def _run(project: ProjectConnection, statements: Sequence[str], what: str) -> None:
    for statement in statements:
        try:
            await project.connection.execute(statement)
        except asyncpg.PostgresError as error:
            first = statement.partition("\n")[0]
            raise BranchRejected(
                f"{what} was tried on a server of its own, and a statement does not run: {first}\n  {error}\nNothing was changed."
            ) from None


async def _record_nothing(_: list[str]) -> None:
    """The shadow has no history."""


class _MergeNote(msgspec.Struct, frozen=True):
    """What a merge is about to write and to apply: lies beside the base schema while it is at work."""

    names: list[str]
    written: str
    rest: list[str]


def _note_path(task: MergeTask) -> Path:
    return Path(task.base).with_name("merging.json")


async def _settle_killed(task: MergeTask) -> None:
    """Remove what a killed merge wrote and did not apply, and note in the branch what it applied."""
    path = _note_path(task)
    if not path.exists():
        return
    try:
        note = msgspec.json.decode(path.read_bytes(), type=_MergeNote)
    except msgspec.MsgspecError:  # cut off by a full disk or a kill: it is written before anything else
        path.unlink()
        return
    removed = await _remove_unapplied(task.parent_url, Path(task.folder), note.names)
    if note.written and note.written not in removed:
        async with open_project_connection(task.branch_url) as project:
            applied = await history.applied_versions(project.connection)
        if note.written.partition("_")[0] not in applied:
            await _mark(task.branch_url, note.written, note.rest)
    path.unlink()


def _new_name(folder: Path, name: str, fetched: dict[str, str]) -> str:
    """Return the name of a new migration, whose version is later than those of all files."""
    versions = {path.name.partition("_")[0] for path in (folder / "migrations").glob("*.sql")}
    versions |= {file.partition("_")[0] for file in fetched}
    return f"{next_version(datetime.now(UTC), versions)}_{file_part(name)}.sql"


def _write(folder: Path, fetched: dict[str, str], written: str, rest: Sequence[str]) -> None:
    """Write the files of a merge into the project folder, all or none: the next start would apply a part. Raises: OSError."""
    paths: list[Path] = []
    try:
        for file_name, text in (*fetched.items(), *([(written, text_of(rest))] if written else [])):
            paths.append(write_migration(folder, file_name, text))
    except OSError:
        for path in paths:
            path.unlink(missing_ok=True)
        raise


async def _apply(
    url: str, sides: _Sides, folder: Path, settings: Settings, versions: Sequence[str]
) -> list[str]:
    """Apply migrations to the parent, each in a transaction with its row in the history; return their names."""
    migrations = [one for one in read_project_files(folder, settings).migrations if one.version in versions]
    async with open_project_connection(url) as project:
        await history.lock(project.connection)
        await history.make_history(project.connection)
        if set(await history.applied_versions(project.connection)) != set(sides.parent.versions):
            raise BranchRejected(
                f"The parent got other migrations meanwhile. The files are in {FOLDER}/migrations and were not applied: look at them and "
                "apply them with `headwater db push --include-all`."
            )
        await apply_migrations(project, migrations, lambda _: None)
    return [migration.path.name for migration in migrations]


async def _remove_unapplied(url: str, folder: Path, names: Sequence[str]) -> list[str]:
    """Remove the files of a merge that the parent did not get, or its next start would try them; return their names."""
    async with open_project_connection(url) as project:
        applied = await history.applied_versions(project.connection)
    removed = [name for name in names if name.partition("_")[0] not in applied]
    for name in removed:
        (folder / "migrations" / name).unlink(missing_ok=True)
    return removed


async def _mark(url: str, written: str, statements: list[str]) -> None:
    """Note in the branch that it has what the new migration does."""
    version, _, name = written.removesuffix(".sql").partition("_")
    async with open_project_connection(url) as project:
        await history.make_history(project.connection)
        await history.mark_applied(
            project.connection, ProjectMigration(version, name, Path(written)), statements
        )
