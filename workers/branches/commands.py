"""`python -P -m workers branch`: one step of making, comparing or merging a branch.

The task is JSON on standard input (schemas/branches.py); so is the answer, on standard output. Reports go to standard error. Exit codes: 0
done, 1 failed, 2 refused.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import msgspec
from msgspec import Struct

from schemas.branches import (
    AccessBetweenTask,
    AccessReport,
    BranchTask,
    CheckTask,
    CompareTask,
    CopyTask,
    CountTask,
    MergeTask,
    PrepareTask,
)
from schemas.settings.tree import Settings
from workers.branches.check_database import check_database, count_rows
from workers.branches.copy_database import copy_live_database, copy_stopped_database
from workers.branches.errors import BranchRejected
from workers.branches.merge import compare_branch, merge_branch
from workers.branches.prepare_copy import prepare_copy
from workers.database.migrations.migrate import MigrationError
from workers.project.access.model import AccessQuestion
from workers.project.access.report import as_json, as_text
from workers.project.access.trial import access_between
from workers.project.errors import ProjectError, ProjectRejected

DONE, FAILED, REFUSED = 0, 1, 2


def run(settings: Settings, environment: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run a task; return the exit code."""
    del environment, arguments
    try:
        task = msgspec.json.decode(sys.stdin.buffer.read(), type=BranchTask)
    except msgspec.MsgspecError as error:
        return _fail(f"The task cannot be read: {error}", REFUSED)
    try:
        answer = asyncio.run(_run(task, settings))
    except (BranchRejected, ProjectRejected) as error:
        return _fail(str(error), REFUSED)
    except ProjectError as error:
        return _fail(str(error), FAILED)
    except MigrationError as error:
        return _fail(f"The platform's schemas could not be made: {error}", FAILED)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return _fail(f"It failed: {str(error) or type(error).__name__}", FAILED)
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    return DONE


async def _run(task: BranchTask, settings: Settings) -> Struct:
    match task:
        case CopyTask(source, target, url, segments):
            if url:
                return await copy_live_database(url, Path(source), Path(target))
            return await asyncio.to_thread(copy_stopped_database, Path(source), Path(target), segments)
        case PrepareTask():
            return await prepare_copy(task, settings)
        case CompareTask():
            return await compare_branch(task)
        case AccessBetweenTask():
            return await _access(task, settings)
        case MergeTask():
            return await merge_branch(task, settings)
        case CountTask(url):
            return await count_rows(url)
        case CheckTask(url):
            return await check_database(url)


async def _access(task: AccessBetweenTask, settings: Settings) -> AccessReport:
    question = AccessQuestion(
        users=task.users, sample=task.sample, channels=task.channels,
        tenant_claim=settings.access.tenant_claim, tenant_column=settings.access.tenant_column,
        search_path=list(settings.api.extra_search_path),
    )  # fmt: skip
    found = await access_between(task.parent_url, task.branch_url, question, timeout_s=task.timeout_s)
    return AccessReport(as_json(found) if task.form == "json" else as_text(found), bool(found.alarms))


def _fail(text: str, code: int) -> int:
    print(text, file=sys.stderr, flush=True)
    return code
