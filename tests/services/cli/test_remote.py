"""Requests of commands to a platform that ends amid its answer; a socket stands for it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pytest

from services.cli.remote import Remote

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_LINE = json.dumps({"text": "one"}).encode() + b"\n"


@contextmanager
def _answering(answer: bytes) -> Iterator[Remote]:
    """Answer one request with these bytes, and close the connection."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield Remote(f"http://127.0.0.1:{listener.getsockname()[1]}", "key")
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + _LINE + _LINE[:5],
        _CHUNKED + b"%x\r\n%b\r\n%x\r\n%b" % (len(_LINE), _LINE, len(_LINE), _LINE[:5]),
    ],
)
def test_lines_that_break_off_are_a_lost_connection(answer: bytes) -> None:
    with _answering(answer) as remote:
        lines = remote.lines("GET", "/")
        assert next(lines) == {"text": "one"}
        with pytest.raises(OSError, match="lost"):
            next(lines)


def test_what_is_rejected_is_told_and_not_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    rejected = b'HTTP/1.1 401 Unauthorized\r\nContent-Length: 23\r\n\r\n{"message": "no rights"}'
    with _answering(rejected) as remote, pytest.raises(click.exceptions.Exit):
        next(remote.lines("POST", "/"))

    assert "no rights" in capsys.readouterr().err


def test_an_answer_that_breaks_off_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        _answering(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{") as remote,
        pytest.raises(click.exceptions.Exit),
    ):
        remote.ask("GET", "/")

    assert "does not answer" in capsys.readouterr().err
