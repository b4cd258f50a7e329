"""Files of rows through the gateway: longer than a message in both directions, and a client that leaves in the middle."""

import http.client
import json
import socket
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.platform import Platform


class Program:
    """A program with a token of a developer."""

    def __init__(self, running_platform: Platform) -> None:
        words = ("admin", "token", f"t{uuid.uuid4().hex[:8]}", "--rights", "developer", "--write")
        done = running_platform.command(*words)
        assert done.returncode == 0, done.stderr
        self.url = running_platform.url
        self.headers = {"authorization": f"Bearer {done.stdout.strip().splitlines()[-1]}"}

    def send(self, name: str, data: bytes | Iterator[bytes], query: str = "") -> bytes:
        """Run an operation and return its body; the status must be 200."""
        url = f"{self.url}/management/v1/operations/{name}{query}"
        with urllib.request.urlopen(urllib.request.Request(url, data, self.headers), timeout=60) as response:  # type: ignore[arg-type]  # an iterator is sent in chunks
            body: bytes = response.read()
        return body

    def run(self, name: str, **arguments: object) -> Any:
        """Run an operation and return its result."""
        return json.loads(self.send(name, json.dumps(arguments).encode()))

    def sessions(self) -> int:
        """Return how many sessions of texts and exports there are beside that of this question."""
        text = "select count(*) from pg_stat_activity where application_name like 'headwater sql %' and pid <> pg_backend_pid()"
        return int(self.run("sql.run", sql=text)["results"][0]["rows"][0][0])


@pytest.fixture(scope="module")
def program(running_platform: Platform) -> Program:
    """A program, and a table that it made."""
    made = Program(running_platform)
    made.run("sql.run", sql="create table public.files (id int primary key, name text)", read_only=False)
    return made


ROWS = 60_000
_ENDLESS = "select repeat('x', 1000), generate_series(1, 100000000)"
"""Sends its first row at once. As a table of `from`, Postgres would first write all numbers to a file."""


def test_a_file_is_imported_in_chunks_and_exported_again(program: Program) -> None:
    def lines() -> Iterator[bytes]:
        yield b"id,name\n"
        for first in range(0, ROWS, 1000):
            yield b"".join(b"%d,name of the row %d\n" % (n, n) for n in range(first, first + 1000))

    query = "?arguments=" + quote(json.dumps({"table": "files"}))
    report = json.loads(program.send("rows.import", lines(), query))
    body = program.send("rows.export", json.dumps({"table": "files", "format": "ndjson"}).encode())
    streamed = program.send("sql.stream", json.dumps({"sql": "select * from files order by id"}).encode())

    assert (report["is_stored"], report["rows"]) == (True, ROWS)
    assert len(body) > 1024 * 1024
    assert sum(json.loads(line)["id"] for line in body.splitlines()) == ROWS * (ROWS - 1) // 2
    assert [json.loads(line)["id"] for line in streamed.splitlines()] == list(range(ROWS))


def test_an_error_before_the_first_row_is_an_answer(program: Program) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        program.send("sql.stream", b'{"sql": "select 1/0"}')

    with refused.value:
        assert refused.value.code == 400
        assert json.loads(refused.value.read())["code"] == "22012"


def test_an_export_that_fails_in_the_middle_breaks_off(program: Program) -> None:
    text = "select n, 1 / (200000 - n) from generate_series(1, 300000) n"

    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        program.send("sql.stream", json.dumps({"sql": text}).encode())


def test_the_session_of_a_client_that_leaves_ends(program: Program) -> None:
    text = json.dumps({"sql": _ENDLESS}).encode()
    parts = urlsplit(program.url)
    head = [
        "POST /management/v1/operations/sql.stream HTTP/1.1",
        f"host: {parts.netloc}",
        f"content-length: {len(text)}",
        *(f"{name}: {value}" for name, value in program.headers.items()),
    ]
    with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=30) as client:
        client.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + text)
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert program.sessions() == 1

    while program.sessions():
        pass  # the edge notices that the client is gone; the test's time limit ends this
