"""PocketBase with the tables of the REST benchmark: built from its Go module, with its own defaults.

Its SQLite does not wait for the disk at a commit (`synchronous = NORMAL`); its passwords are bcrypt, ours argon2id.
"""

import json
import os
import sqlite3
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.peers.installation import PeerUnavailable, go_program
from tests.bench.postgraphile import wait_for
from tests.ports import free_port

MODULE = "github.com/pocketbase/pocketbase"
VERSIONS = ("v0.40.4", "v0.39.0", "v0.36.8")
"""The newest first; the next where the Go of the machine is too old for it."""
ITEMS, NOTES, OWNERS = 10_000, 5_000, 100
PASSWORD = "over the river"
OWNER = "user00000000007"
_SOURCE = """package main

import (
	"log"
	"os"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
)

// connect opens a database as PocketBase does by default, and waits for the disk at a commit where it is asked to.
func connect(path string) (*dbx.DB, error) {
	db, err := core.DefaultDBConnect(path)
	if err != nil || os.Getenv("BENCH_SYNCHRONOUS") == "" {
		return db, err
	}
	db.Close()
	pragmas := []string{"busy_timeout(10000)", "journal_mode(WAL)", "journal_size_limit(200000000)",
		"synchronous(" + os.Getenv("BENCH_SYNCHRONOUS") + ")", "foreign_keys(ON)", "temp_store(MEMORY)", "cache_size(-32000)"}
	return dbx.Open("sqlite", path+"?_pragma="+strings.Join(pragmas, "&_pragma="))
}

func main() {
	if err := pocketbase.NewWithConfig(pocketbase.Config{DBConnect: connect}).Start(); err != nil {
		log.Fatal(err)
	}
}
"""
_TEXTS = {
    "items": [("name", "text"), ("price", "number"), ("qty", "number"), ("note", "text")],
    "sink": [("name", "text"), ("price", "number"), ("qty", "number"), ("note", "text")],
    "notes": [("owner", "text"), ("body", "text")],
}
_OWN = "owner = @request.auth.id"
_ADMINISTRATOR = {"identity": "admin@example.org", "password": "long enough 1"}


@dataclass(frozen=True, slots=True)
class PocketBase:
    """A running PocketBase."""

    version: str
    pid: int
    port: int
    data: Path

    def call(self, path: str, value: object = None, token: str = "", method: str = "") -> Any:
        """Ask once; return the answer as a value. Raises: urllib.error.HTTPError."""
        headers = {"Content-Type": "application/json", "Authorization": token}
        body = None if value is None else json.dumps(value).encode()
        url = f"http://127.0.0.1:{self.port}/api{path}"
        asked = urllib.request.Request(url, body, headers, method=method or None)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)

    def rows(self, table: str) -> int:
        """Count the rows of a table in the database itself."""
        with closing(sqlite3.connect(self.data / "data.db", timeout=60)) as database:
            return int(database.execute(f"select count(*) from {table}").fetchone()[0])

    def sign_in(self, email: str) -> str:
        """Return the token of a user."""
        value = {"identity": email, "password": PASSWORD}
        return str(self.call("/collections/users/auth-with-password", value)["token"])


def program() -> tuple[str, Path]:
    """Return version and path of the newest PocketBase that the Go of this machine builds. Raises: PeerUnavailable."""
    problems = []
    for version in VERSIONS:
        try:
            return version, go_program("pocketbase-durable", MODULE, version, _SOURCE)
        except PeerUnavailable as error:
            problems.append(f"{version}: {error}")
    raise PeerUnavailable("; ".join(problems))


@contextmanager
def running_pocketbase(synchronous: str = "") -> Iterator[PocketBase]:
    """Run a PocketBase with tables, rows and users in a new folder. Raises: PeerUnavailable.

    `synchronous` is SQLite's setting of the name: `FULL` waits for the disk at each commit; "" is PocketBase's own.
    """
    version, path = program()
    with tempfile.TemporaryDirectory(prefix="headwater-pocketbase-") as folder:
        arguments = ["--dir", folder]
        subprocess.run(
            [str(path), "superuser", "upsert", *_ADMINISTRATOR.values(), *arguments],
            check=True,
            capture_output=True,
        )
        port = free_port()
        process = subprocess.Popen(
            [str(path), "serve", "--http", f"127.0.0.1:{port}", *arguments],
            env={**os.environ, "BENCH_SYNCHRONOUS": synchronous},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port)
            one = PocketBase(version, process.pid, port, Path(folder))
            _prepare(one)
            yield one
        finally:
            process.terminate()
            process.wait(30)


def _prepare(one: PocketBase) -> None:
    token = one.call("/collections/_superusers/auth-with-password", _ADMINISTRATOR)["token"]
    for name, columns in _TEXTS.items():
        rule = _OWN if name == "notes" else ""
        fields = [{"name": column, "type": kind} for column, kind in columns]
        indexes = ["create index notes_owner on notes (owner)"] if name == "notes" else []
        rules = {"listRule": rule, "viewRule": rule, "createRule": rule}
        one.call(
            "/collections",
            {"name": name, "type": "base", "fields": fields, "indexes": indexes, **rules},
            token,
        )
    file = {"name": "file", "type": "file", "maxSize": 200_000_000, "maxSelect": 1}
    open_to_all = {"listRule": "", "viewRule": "", "createRule": ""}
    one.call("/collections", {"name": "files", "type": "base", "fields": [file], **open_to_all}, token)
    for number in range(20):
        person = {"email": f"person-{number}@example.org", "password": PASSWORD, "passwordConfirm": PASSWORD}
        one.call("/collections/users/records", person | ({"id": OWNER} if number == 7 else {}))
    with closing(sqlite3.connect(one.data / "data.db", timeout=60)) as database, database:
        database.executemany(
            "insert into items (id, name, price, qty, note) values (?, ?, ?, ?, 'lorem ipsum dolor sit amet')",
            [(item_id(n), f"item {n}", n % 1000 / 4, n % 97) for n in range(1, ITEMS + 1)],
        )
        database.executemany(
            "insert into notes (id, owner, body) values (?, ?, ?)",
            [
                (f"note{n:011}", f"user{n % OWNERS:011}" if n % OWNERS != 7 else OWNER, f"note {n}")
                for n in range(1, NOTES + 1)
            ],
        )


def item_id(number: int) -> str:
    """Return the key of a row: fifteen letters and digits, as PocketBase wants."""
    return f"item{number:011}"
