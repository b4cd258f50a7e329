"""The files of database tests: which they are, and how one is run by psql."""

import os
import queue
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from services.database_tests.tap import TapResult, read_tap

FOLDER = Path("supabase", "tests")
_ENDINGS = (".sql", ".pg")
_BEGINS = re.compile(
    r"^\s*(begin(\s+(work|transaction))?|start\s+transaction)(\s+(isolation\s+level|read|not|deferrable)\b[^;]*)?\s*;",
    re.IGNORECASE | re.MULTILINE,
)
"""Not the `begin` of a body of PL/pgSQL, behind which no semicolon follows."""
_HELPERS = re.compile(r"0+[-_. ]")
_LOADS_PACKAGES = re.compile(r"\bpgtle\s*\.\s*install_extension\s*\(", re.IGNORECASE)
_WITHOUT_NETWORK = ("-c", "set headwater.failed_requests = 'row'")
"""Our pg_tle needs no script of a package, so a request for one may fail (schemas/extensions/http--1.6.2--1.6.3.sql)."""
_OPTIONS = ("-X", "-q", "-A", "-t", "-P", "pager=off", "-v", "ON_ERROR_STOP=1")
_ERROR = re.compile(r"^psql:.*?: (ERROR|FATAL): |^psql: error: ")
_READY = "create extension if not exists pgtap with schema extensions"
_ADDED = "select extversion from pg_catalog.pg_extension where extname = 'pgtap'"
_NAME_ONLY = "1.3.3"
"""The version that headwater 0.1.0 gave to an extension of which only the name existed."""


@dataclass(frozen=True, slots=True)
class Database:
    """Where tests run: psql, and the environment by which it reaches the database as the role of the tests."""

    psql: Path
    environment: Mapping[str, str] = field(repr=False)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run psql; its output has one column and no head."""
        return subprocess.run(  # noqa: S603 - Postgres' own terminal, with the user's files
            [self.psql, *_OPTIONS, *words],
            env=dict(self.environment), capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileResult:
    """What a file of tests did: its output, what its TAP says, and the errors of the server."""

    name: str
    output: str
    tap: TapResult
    errors: str
    code: int
    seconds: float

    @property
    def faults(self) -> list[str]:
        """What is wrong beside tests that failed."""
        failed = [self.errors or f"psql ended with exit code {self.code}"] if self.code else []
        return [*failed, *(self.tap.faults if not failed else ())]

    @property
    def is_passed(self) -> bool:
        """Whether psql ran the whole file and all tests passed."""
        return self.code == 0 and self.tap.is_passed


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that the paths name, those of folders at any depth, sorted by name within each."""
    files: list[Path] = []
    for path in paths:
        found = path.rglob("*") if path.is_dir() else [path]
        files += sorted(
            file for file in found if file.is_file() and (file == path or file.suffix in _ENDINGS)
        )
    return list(dict.fromkeys(files))


def run_file(path: Path, name: str, database: Database) -> FileResult:
    """Run one file. One that begins no transaction itself runs in one that is rolled back: tests leave nothing behind.

    A file of helpers, numbered 0 as 000-helpers, runs as it is: the files after it need what it creates. If it loads packages by
    pg_tle, its requests may fail: the platform has the packages, or says that it has not.
    Paths behind `ir` in a file are relative to it, as psql reads them.
    """
    began = time.monotonic()
    file = ("-f", str(path))
    text = path.read_text(errors="replace")
    if _HELPERS.match(path.name):
        words: tuple[str, ...] = (*_WITHOUT_NETWORK, *file) if _LOADS_PACKAGES.search(text) else file
    else:
        words = file if _BEGINS.search(text) else ("-c", "begin", *file, "-c", "rollback")
    done = database.run(*words)
    errors = "\n".join(line for line in done.stderr.splitlines() if _ERROR.match(line) or _is_detail(line))
    return FileResult(
        name,
        done.stdout,
        read_tap(done.stdout.splitlines()),
        errors.strip(),
        done.returncode,
        time.monotonic() - began,
    )


def run_side_by_side(
    files: Sequence[tuple[Path, str]], databases: Sequence[Database]
) -> Iterator[FileResult]:
    """Run files, each in a database that no other file uses meanwhile; yield their results in the order of the files.

    First files that are numbered 0, as 000-helpers, run in every database before the others, which may need what they create.
    """
    helpers = [*takewhile(lambda file: _HELPERS.match(file[0].name), files)]
    for path, name in helpers:
        results = [run_file(path, name, database) for database in databases]
        yield next((result for result in results if not result.is_passed), results[0])
    if not (files := files[len(helpers) :]):
        return
    free: queue.SimpleQueue[Database] = queue.SimpleQueue()
    for database in databases:
        free.put(database)

    def run(path: Path, name: str) -> FileResult:
        database = free.get()
        try:
            return run_file(path, name, database)
        finally:
            free.put(database)

    with ThreadPoolExecutor(len(databases)) as threads:
        yield from threads.map(run, *zip(*files, strict=True))


def add_pgtap(database: Database) -> tuple[bool, str]:
    """Create pgTAP if it is missing; return whether that was so, and an error text, empty if it is there."""
    version = database.run("-c", _ADDED).stdout.strip()
    if version == _NAME_ONLY:
        remove_pgtap(database)
    elif version:
        return False, ""
    done = database.run("-c", "set client_min_messages = warning", "-c", _READY)
    return done.returncode == 0, done.stderr.strip() if done.returncode else ""


def remove_pgtap(database: Database) -> None:
    """Drop pgTAP, which `add_pgtap` created for the tests alone."""
    database.run("-c", "set client_min_messages = warning", "-c", "drop extension if exists pgtap")


def newest_change(folders: Iterable[Path]) -> tuple[tuple[str, int], ...]:
    """Return path and time of change of every file of SQL in the folders, to be compared with a later call."""
    stamps: list[tuple[str, int]] = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                if name.endswith(_ENDINGS):
                    path = os.path.join(place, name)
                    try:
                        stamps.append((path, os.stat(path).st_mtime_ns))
                    except OSError:  # removed meanwhile
                        continue
    return tuple(sorted(stamps))


def _is_detail(line: str) -> bool:
    return line.startswith(("DETAIL:", "HINT:", "CONTEXT:", "LINE "))
