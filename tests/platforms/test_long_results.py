"""Long results on their way through a whole platform, with one connection to the database: whole or visibly broken off."""

import contextlib
import hashlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bench.stream import watched
from tests.platform import Platform, platform

pytestmark = [pytest.mark.process_group("long_results"), pytest.mark.timeout(180)]

_PATIENCE_S = 60
_TEN_MB = 10_000
"""Rows of 1 KB."""


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform whose REST workers have one connection, so that one that is held is missed."""
    with platform(environment={"HEADWATER_API_MAX_ROWS": "0", "HEADWATER_DB_POOL_SIZE": "1"}) as one:
        done = one.command("psql", "-f", str(Path(__file__).with_suffix(".sql")))
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("wide")
        yield one


class Arriving:
    """An answer that is read by hand."""

    def __init__(
        self, running_platform: Platform, path: str, method: str = "GET", content: bytes = b"", **headers: str
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", running_platform.port), timeout=_PATIENCE_S)
        named = {"apikey": running_platform.values["SERVICE_ROLE_KEY"], "Host": "platform", **headers}
        if content:
            named |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        lines = [f"{name}: {value}\r\n" for name, value in named.items()]
        self._socket.sendall(f"{method} /rest/v1{path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + content)
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self._socket.recv(1 << 16)
            assert piece, "the connection was closed before the answer"
            head += piece
        lines_, _, self.body = head.partition(b"\r\n\r\n")
        self.status = int(lines_[9:12])
        shown = [line.partition(": ") for line in lines_.decode().split("\r\n")[1:]]
        self.headers = {name.lower(): value for name, _, value in shown}
        self.size = int(self.headers.get("content-length", 0))

    def read(self, size: int | None = None) -> bytes:
        """Read so much of the body, or all of it: less when the connection ends."""
        wanted = self.size if size is None else size
        pieces, count = [self.body], len(self.body)
        try:
            while count < wanted and (piece := self._socket.recv(1 << 20)):
                pieces.append(piece)
                count += len(piece)
        except ConnectionResetError:
            pass
        self.body = b"".join(pieces)
        return self.body

    def skip(self) -> int:
        """Read the body to its end, keeping nothing; give how many bytes there were."""
        buffer, count = bytearray(1 << 20), len(self.body)
        while count < self.size and (read := self._socket.recv_into(buffer)):
            count += read
        return count

    def close(self) -> None:
        self._socket.close()


def expected(rows: int) -> list[dict[str, object]]:
    return [
        {"id": n, "name": f"item-{n}", "note": f"{n:08}" * 120, "nothing": None} for n in range(1, rows + 1)
    ]


Ask = Callable[..., Arriving]


@pytest.fixture
def ask(running_platform: Platform) -> Iterator[Ask]:
    """Ask for something; the connections are closed when the test is over."""
    with contextlib.ExitStack() as stack:

        def begin(path: str, method: str = "GET", content: bytes = b"", **headers: str) -> Arriving:
            answer = Arriving(running_platform, path, method, content, **headers)
            stack.callback(answer.close)
            return answer

        yield begin


def assert_free(running_platform: Platform) -> None:
    """See that the one connection can be used."""
    assert running_platform.get("/rest/v1/wide?select=id&order=id&limit=1") == (200, b'[{"id":1}]')


def test_ten_megabytes_of_json_are_what_the_server_made(ask: Ask, running_platform: Platform) -> None:
    made = running_platform.psql(
        "select encode(sha256(convert_to(json_agg(t)::text, 'UTF8')), 'hex') as hash"
        f" from (select * from wide order by id limit {_TEN_MB}) t"
    )

    answer = ask(f"/wide?order=id&limit={_TEN_MB}")
    body = answer.read()

    assert (answer.status, answer.size) == (200, len(body))
    assert len(body) > 10_000_000
    assert hashlib.sha256(body).hexdigest() in made
    assert json.loads(body) == expected(_TEN_MB)
    assert answer.headers["content-range"] == f"0-{_TEN_MB - 1}/*"


def test_ten_megabytes_of_csv_are_what_is_in_the_table(ask: Ask) -> None:
    answer = ask(f"/wide?select=id,name,note&order=id&limit={_TEN_MB}", Accept="text/csv")
    lines = [f"{row['id']},{row['name']},{row['note']}" for row in expected(_TEN_MB)]

    assert answer.read() == "\n".join(["id,name,note", *lines]).encode()
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"


def test_nulls_are_stripped_from_a_long_answer(ask: Ask) -> None:
    stripped = "application/vnd.pgrst.array+json;nulls=stripped"
    answer = ask(f"/wide?order=id&limit={_TEN_MB}", Accept=stripped)

    kept = [{name: value for name, value in row.items() if value is not None} for row in expected(_TEN_MB)]
    assert json.loads(answer.read()) == kept


def test_one_long_object_arrives(ask: Ask) -> None:
    answer = ask("/large?id=eq.1", Accept="application/vnd.pgrst.object+json")

    assert json.loads(answer.read()) == {"id": 1, "note": "0123456789" * 300_000, "extra": None}


@pytest.mark.parametrize(
    ("path", "accept", "body"),
    [
        ("/rpc/long_text", "text/plain", b"0123456789" * 300_000),
        ("/rpc/long_bytes", "application/octet-stream", b"\x00\xff\x7f" * 1_000_000),
        ("/rpc/long_number", "application/json", b"1" * 600_000),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_long_value_of_a_function_arrives(
    ask: Ask, method: str, path: str, accept: str, body: bytes
) -> None:
    answer = ask(path, method, Accept=accept)

    assert answer.read() == body


def test_exact_and_estimated_counts_come_with_a_long_answer(ask: Ask) -> None:
    for count in ("exact", "planned", "estimated"):
        answer = ask(f"/wide?order=id&limit={_TEN_MB}", Prefer=f"count={count}")

        assert len(json.loads(answer.read())) == _TEN_MB
        assert answer.status == 206
        assert answer.headers["content-range"].startswith(f"0-{_TEN_MB - 1}/6")


def test_a_write_whose_rows_are_shown_is_whole_and_kept(ask: Ask, running_platform: Platform) -> None:
    answer = ask("/large?id=eq.2", "PATCH", b'{"extra": "new"}', Prefer="return=representation")

    shown = [{"id": 2, "note": "9876543210" * 300_000, "extra": "new"}]
    assert json.loads(answer.read()) == shown
    assert " new\n" in running_platform.psql("select extra from large where id = 2")


def test_head_has_no_body(ask: Ask, running_platform: Platform) -> None:
    answer = ask(f"/wide?limit={_TEN_MB}", "HEAD")

    assert answer.status == 200
    assert answer.body == b""
    assert_free(running_platform)


def test_a_refusal_after_the_answer_was_made_frees_the_connection(
    ask: Ask, running_platform: Platform
) -> None:
    answer = ask(f"/wide?limit={_TEN_MB}", Accept="application/vnd.pgrst.object+json")

    assert answer.status == 406
    assert json.loads(answer.read())["details"] == f"The result contains {_TEN_MB} rows"
    assert_free(running_platform)


@pytest.mark.parametrize(("word", "status"), [("no status", 500), ("204", 204)])
def test_a_status_without_a_place_for_the_body_frees_the_connection(
    ask: Ask, running_platform: Platform, word: str, status: int
) -> None:
    answer = ask(f"/rpc/long_with_status?word={word.replace(' ', '%20')}", Accept="text/plain")

    assert answer.status == status
    assert_free(running_platform)


def test_edge_and_worker_hold_little_of_a_long_answer(ask: Ask, running_platform: Platform) -> None:
    assert_free(running_platform)

    with watched(running_platform.pid) as memory:
        answer = ask("/wide")
        count = answer.skip()

    assert count == answer.size > 64_000_000
    assert memory.grown_mb("edge") < 32
    assert memory.grown_mb("worker") < 32


def test_a_client_that_leaves_amid_an_answer_frees_the_connection(
    ask: Ask, running_platform: Platform
) -> None:
    for size in (1, 5_000_000):
        answer = ask("/wide")
        answer.read(size)
        answer.close()

        assert_free(running_platform)


def test_clients_that_read_slowly_keep_no_connection(ask: Ask, running_platform: Platform) -> None:
    slow = [ask("/wide") for _ in range(3)]
    for answer in slow:
        answer.read(100_000)

    assert_free(running_platform)

    for answer in slow:
        assert len(answer.read()) == answer.size


def test_rows_that_are_being_sent_outlive_their_backend(ask: Ask, running_platform: Platform) -> None:
    answer = ask("/wide?order=id")
    answer.read(1_000_000)

    ended = running_platform.psql(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headwater'"
    )

    assert "t" in ended
    assert json.loads(answer.read()) == expected(65_000)


def test_an_error_of_a_late_row_is_an_answer_of_its_own(ask: Ask, running_platform: Platform) -> None:
    answer = ask("/rpc/wide_until?last=60000")

    assert answer.status == 400
    assert json.loads(answer.read())["code"] == "22012"
    assert_free(running_platform)


def test_a_long_write_whose_rows_are_shown_is_whole(ask: Ask, running_platform: Platform) -> None:
    shows = {"Prefer": "return=representation"}
    answer = ask(f"/wide?id=lte.{_TEN_MB}", "PATCH", b'{"nothing": null}', **shows)

    assert sorted(json.loads(answer.read()), key=lambda row: row["id"]) == expected(_TEN_MB)
    assert_free(running_platform)


def test_backends_hold_little_of_a_long_answer(ask: Ask, running_platform: Platform) -> None:
    """The server once made the 66 MB in one value, which took 270 MB in its process."""
    assert_free(running_platform)

    with watched(running_platform.pid, ("postgres",)) as memory:
        answer = ask("/wide")
        assert answer.skip() == answer.size > 64_000_000

    assert memory.grown_mb("postgres") < 64


def test_an_answer_whose_connection_breaks_is_broken_off(ask: Ask, running_platform: Platform) -> None:
    answer = ask("/rpc/longest_text", Accept="text/plain")
    answer.read(1_000_000)

    _end_of_the_sender(running_platform)

    body = answer.read()
    assert 1_000_000 <= len(body) < answer.size
    assert b"HTTP/1.1" not in body
    assert_free(running_platform)


def _end_of_the_sender(running_platform: Platform) -> None:
    """End the backend that is in the middle of its answer."""
    deadline = time.monotonic() + _PATIENCE_S
    while "t" not in running_platform.psql(
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'ClientWrite'"
    ):
        assert time.monotonic() < deadline, "nobody waits to send"


def test_short_requests_are_answered_between_long_ones(ask: Ask, running_platform: Platform) -> None:
    for _ in range(5):
        answer = ask(f"/wide?order=id&limit={_TEN_MB}")
        assert answer.skip() == answer.size
        assert_free(running_platform)
