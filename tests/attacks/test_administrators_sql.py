"""Attack: SQL that an administrator may run reaches what the rights do not allow, or leaves something behind for others."""

import concurrent.futures
import json
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.attacks.probe import run_sql
from tests.platform import Platform


@dataclass
class Program:
    """A program with a token of an administrator."""

    url: str
    token: str

    def call(self, name: str, **arguments: object) -> tuple[int, dict[str, Any]]:
        """Run an operation; return status and answer."""
        request = urllib.request.Request(
            f"{self.url}/management/v1/operations/{name}",
            json.dumps(arguments).encode(),
            {"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def rows(self, sql: str) -> list[list[str | None]]:
        """Return the rows of a query that reads."""
        status, answer = self.call("sql.run", sql=sql)
        assert status == 200, answer
        rows: list[list[str | None]] = answer["results"][-1]["rows"]
        return rows


def _program(target: Platform, rights: str, *, may_write: bool = True) -> Program:
    command = [*target.command, "admin", "token", f"t{uuid.uuid4().hex[:8]}", "--rights", rights]
    if may_write:
        command.append("--write")
    made = subprocess.run(command, env=target.environment, check=True, capture_output=True, text=True)
    return Program(target.url, made.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def developer(target: Platform) -> Iterator[Program]:
    """A program with the rights of a developer."""
    yield _program(target, "developer")


@pytest.fixture(scope="module")
def reader(target: Platform) -> Iterator[Program]:
    """A program with the rights of a reader."""
    yield _program(target, "reader")
