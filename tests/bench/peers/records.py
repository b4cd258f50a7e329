"""Records, sign-ins and files on Headwater and on PocketBase: the same rows, the same answers, over the same connections."""

import asyncio
import json
import os
import secrets
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import jwt

from tests.bench.load import Outcome, drive, http
from tests.bench.peers.pairs import Sample, Side, counted, used_by
from tests.bench.peers.pocketbase import PASSWORD, PocketBase, item_id
from tests.bench.rest import prepare, stored
from tests.bench.transfer import Exchange, Transfers, transfer
from tests.platform import Platform

SETTINGS = {
    "HEADWATER_AUTH_RATE_LIMIT_TOKEN_REFRESH": "0",
    "HEADWATER_AUTH_RATE_LIMIT_SIGN_IN_SIGN_UPS": "0",
}
_BOUNDARY = "headwater-benchmark"
ROW = {"name": "row", "price": 12.5, "qty": 3, "note": "lorem ipsum dolor sit amet"}

Work = tuple[str, Side, Side]
"""A name, what we do, what PocketBase does."""


class Records:
    """A platform and a PocketBase with the same rows."""

    def __init__(self, one: Platform, other: PocketBase) -> None:
        self.one, self.other = one, other
        token = jwt.encode(
            {"role": "authenticated", "sub": "user-7"}, one.values["JWT_SECRET"], algorithm="HS256"
        )
        self.anonymous = {"apikey": one.values["ANON_KEY"]}
        self.user = {**self.anonymous, "Authorization": f"Bearer {token}"}
        self.their_user = {"Authorization": other.sign_in("person-7@example.org")}
        self.here, self.there = ("127.0.0.1", one.port), ("127.0.0.1", other.port)

    def works(self) -> Iterator[Work]:
        """Yield all pieces of work, each prepared when it is its turn."""
        yield self._reads("list of 10", self._list_here(), self._list_there())
        yield self._reads("by key", self._key_here(), self._key_there())
        yield self._reads("own rows", self._own_here(), self._own_there())
        yield "insert", self._insert_here(), self._insert_there()
        yield self._sign_ins()
        for size in (10_000, 1_000_000):
            text = "10 KB" if size == 10_000 else "1 MB"
            yield f"upload {text}", self._upload_here(size), self._upload_there(size)
            yield f"download {text}", self._download_here(size), self._download_there(size)

    def durable_works(self) -> Iterator[Work]:
        """Yield what is written where PocketBase waits for the disk too, as Headwater does."""
        yield "insert, both durable", self._insert_here(), self._insert_there()
        yield "upload 10 KB, both durable", self._upload_here(10_000), self._upload_there(10_000)

    def hasty_works(self) -> Iterator[Work]:
        """Yield inserts where neither waits for the disk: the roles of Headwater's callers do without."""
        with commits_without_disk(self.one):
            yield "insert, none durable", self._insert_here(), self._insert_there()

    def _reads(self, name: str, ours: Sequence[bytes], theirs: Sequence[bytes]) -> Work:
        rows = [_rows_in(self.here, ours[0]), _rows_in(self.there, theirs[0])]
        if rows[0] != rows[1] or not rows[0]:
            raise SystemExit(f"{name}: {rows[0]} rows here, {rows[1]} there")
        return name, self._side(self.here, ours, self.one.pid), self._side(self.there, theirs, self.other.pid)

    def _side(
        self, address: tuple[str, int], requests: Sequence[bytes], root: int, at_once: int = 32
    ) -> Side:
        return lambda seconds: driven(address, requests, [root], at_once, seconds)

    def _get_here(self, path: str, headers: dict[str, str]) -> bytes:
        return http("GET", f"/rest/v1{path}", _host(self.here), headers)

    def _get_there(self, path: str, headers: dict[str, str]) -> bytes:
        return http("GET", f"/api/collections/{path}", _host(self.there), headers)

    def _list_here(self) -> list[bytes]:
        pages = range(0, 500, 10)
        return [self._get_here(f"/items?order=id.asc&limit=10&offset={n}", self.anonymous) for n in pages]

    def _list_there(self) -> list[bytes]:
        path = "items/records?perPage=10&skipTotal=1&sort=id&page="
        return [self._get_there(f"{path}{n}", {}) for n in range(1, 51)]

    def _key_here(self) -> list[bytes]:
        return [self._get_here(f"/items?id=eq.{n}", self.anonymous) for n in range(1, 2001)]

    def _key_there(self) -> list[bytes]:
        return [self._get_there(f"items/records/{item_id(n)}", {}) for n in range(1, 2001)]

    def _own_here(self) -> list[bytes]:
        return [self._get_here("/notes?order=id.asc&limit=10", self.user)]

    def _own_there(self) -> list[bytes]:
        return [self._get_there("notes/records?perPage=10&skipTotal=1&sort=id", self.their_user)]

    def _insert_here(self) -> Side:
        headers = {**self.anonymous, "Prefer": "return=representation"}
        requests = [http("POST", "/rest/v1/sink", _host(self.here), headers, json.dumps(ROW).encode())]
        return counted(
            self._side(self.here, requests, self.one.pid),
            lambda: asyncio.run(stored(self.one.values["DB_URL"])),
        )

    def _insert_there(self) -> Side:
        path = "/api/collections/sink/records"
        requests = [http("POST", path, _host(self.there), {}, json.dumps(ROW).encode())]
        return counted(self._side(self.there, requests, self.other.pid), lambda: self.other.rows("sink"))

    def _sign_ins(self) -> Work:
        emails = [f"person-{number}@example.org" for number in range(20)]
        for email in emails:
            body = json.dumps({"email": email, "password": PASSWORD}).encode()
            headers = {**self.anonymous, "Content-Type": "application/json"}
            asked = urllib.request.Request(f"{self.one.url}/auth/v1/signup", body, headers)
            urllib.request.urlopen(asked, timeout=60).close()

        def requests(path: str, address: tuple[str, int], headers: dict[str, str], name: str) -> list[bytes]:
            bodies = [json.dumps({name: email, "password": PASSWORD}).encode() for email in emails]
            return [http("POST", path, _host(address), headers, body) for body in bodies]

        ours = requests("/auth/v1/token?grant_type=password", self.here, self.anonymous, "email")
        theirs = requests("/api/collections/users/auth-with-password", self.there, {}, "identity")
        return (
            "sign-in",
            self._side(self.here, ours, self.one.pid, 8),
            self._side(self.there, theirs, self.other.pid, 8),
        )

    def _upload_here(self, size: int) -> Side:
        key = self.one.values["SERVICE_ROLE_KEY"]
        headers = {"apikey": key, "Authorization": f"Bearer {key}"}
        data, serial, run = os.urandom(size), iter(range(1 << 60)), secrets.token_hex(4)
        self._bucket(headers)

        def make(_: int) -> Exchange:
            path = f"/storage/v1/object/bench/new/{run}-{next(serial)}"
            return Exchange(_head("POST", path, _host(self.here), headers, size), data, size)

        def count() -> int:
            text = self.one.psql("select count(*) as count from storage.objects where name like 'new/%'")
            return int(next(word for word in text.split() if word.isdigit()))

        return counted(_moved(self.here, make, self.one.pid), count)

    def _upload_there(self, size: int) -> Side:
        body, kind = _form(os.urandom(size))

        def make(_: int) -> Exchange:
            head = _head("POST", "/api/collections/files/records", _host(self.there), {}, len(body), kind)
            return Exchange(head, body, len(body))

        return counted(_moved(self.there, make, self.other.pid), lambda: self.other.rows("files"))

    def _download_here(self, size: int) -> Side:
        key, data = self.one.values["SERVICE_ROLE_KEY"], os.urandom(size)
        headers = {"apikey": key, "Authorization": f"Bearer {key}"}
        self._bucket(headers)
        path = f"stored-{size}"
        head = _head("POST", f"/storage/v1/object/bench/{path}", _host(self.here), headers, size)
        _once(self.here, Exchange(head, data, size))
        got = urllib.request.urlopen(f"{self.one.url}/storage/v1/object/public/bench/{path}").read()
        if got != data:
            raise SystemExit("a download here is not what was uploaded")
        get = http("GET", f"/storage/v1/object/public/bench/{path}", _host(self.here), {})
        return _moved(self.here, lambda _: Exchange(get, answer=size), self.one.pid)

    def _download_there(self, size: int) -> Side:
        data = os.urandom(size)
        body, kind = _form(data)
        base = f"http://{_host(self.there)}/api"
        asked = urllib.request.Request(f"{base}/collections/files/records", body, {"Content-Type": kind})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            record = json.load(answer)
        path = f"/files/files/{record['id']}/{record['file']}"
        if urllib.request.urlopen(base + path).read() != data:
            raise SystemExit("a download there is not what was uploaded")
        get = http("GET", f"/api{path}", _host(self.there), {})
        return _moved(self.there, lambda _: Exchange(get, answer=size), self.other.pid)

    def _bucket(self, headers: dict[str, str]) -> None:
        body = b'{"name":"bench","public":true}'
        asked = http("POST", "/storage/v1/bucket", _host(self.here), headers, body)
        transfer(self.here, lambda _: Exchange(asked), 1, 0)  # the second time it is there


@contextmanager
def commits_without_disk(one: Platform) -> Iterator[None]:
    """Set `synchronous_commit = off` for the role of a request without a user, as the project may."""
    one.psql("alter role anon set synchronous_commit = off; notify pgrst, 'reload config'")
    try:
        _wait_for_setting(one, "off")
        yield
    finally:
        one.psql("alter role anon reset synchronous_commit; notify pgrst, 'reload config'")


def _wait_for_setting(one: Platform, value: str) -> None:
    """Wait until the workers apply the setting. Raises: SystemExit after 30 seconds."""
    one.psql(
        "create or replace function public.commit_setting() returns text language sql stable as"
        " $$ select current_setting('synchronous_commit') $$; notify pgrst, 'reload schema'"
    )
    deadline = time.monotonic() + 30
    while one.get("/rest/v1/rpc/commit_setting") != (200, json.dumps(value).encode()):
        if time.monotonic() > deadline:
            raise SystemExit(f"synchronous_commit = {value} is not applied")
        time.sleep(0.1)  # nothing announces that all workers have read it


def load(one: Platform) -> None:
    """Load our tables."""
    asyncio.run(prepare(one.values["DB_URL"]))
    one.wait_for_catalog("items")


def driven(
    address: tuple[str, int], requests: Sequence[bytes], roots: list[int], connections: int, seconds: float
) -> Sample:
    """Drive one side with small requests."""
    outcome = Outcome()

    def work() -> None:
        nonlocal outcome
        outcome = drive(address, requests, connections, seconds)

    used = used_by(roots, work)
    return Sample(outcome.good, outcome.seconds, used / max(1, outcome.good) * 1000, outcome.errors)


def _moved(address: tuple[str, int], make: Callable[[int], Exchange], root: int) -> Side:
    def side(seconds: float) -> Sample:
        outcome = Transfers()

        def work() -> None:
            nonlocal outcome
            outcome = transfer(address, make, 16, seconds)

        used = used_by([root], work)
        good = outcome.count - outcome.errors
        return Sample(good, outcome.seconds, used / max(1, good) * 1000, outcome.errors)

    return side


def _once(address: tuple[str, int], exchange: Exchange) -> None:
    done = transfer(address, lambda _: exchange, 1, 0)
    if done.errors:
        raise SystemExit(f"{exchange.head[:100]!r}: {dict(done.statuses)}")


def _form(data: bytes) -> tuple[bytes, str]:
    """Return a form with one file, and its content type."""
    disposition = 'form-data; name="file"; filename="data.bin"'
    start = f"--{_BOUNDARY}\r\nContent-Disposition: {disposition}\r\nContent-Type: application/octet-stream\r\n\r\n"
    body = start.encode() + data + f"\r\n--{_BOUNDARY}--\r\n".encode()
    return body, f"multipart/form-data; boundary={_BOUNDARY}"


def _head(
    method: str,
    path: str,
    host: str,
    headers: dict[str, str],
    size: int,
    kind: str = "application/octet-stream",
) -> bytes:
    lines = {**headers, "Host": host, "Content-Type": kind, "Content-Length": str(size)}
    fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{fields}\r\n".encode()


def _rows_in(address: tuple[str, int], request: bytes) -> int:
    """Ask once and count the rows in the answer."""
    head = request.split(b"\r\n\r\n")[0].decode().split("\r\n")
    path = head[0].split(" ")[1]
    headers = dict(line.split(": ", 1) for line in head[1:])
    asked = urllib.request.Request(f"http://{_host(address)}{path}", headers=headers)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        value = json.load(answer)
    if isinstance(value, dict):
        value = value.get("items", [value])
    return len(value)


def _host(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"
