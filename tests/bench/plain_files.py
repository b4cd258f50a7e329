"""The least that files over HTTP can cost: one thread a connection, sendfile to it, or recv, MD5, write and fsync from it.

No routing, no rules, no database: what a benchmark holds our ways against, on the same machine in the same minute.
"""

import hashlib
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

_PIECE = 256 * 1024
_MOST_SENT = 1 << 30


@contextmanager
def plain_server(folder: Path) -> Iterator[tuple[tuple[str, int], int]]:
    """Run the server in a process of its own; give its address and process id."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(folder, theirs), daemon=True)
    process.start()
    try:
        assert process.pid is not None
        yield ("127.0.0.1", ours.recv()), process.pid
    finally:
        process.kill()
        process.join()


def _serve(folder: Path, told: Connection) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        told.send(listener.getsockname()[1])
        while True:
            one, _ = listener.accept()
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_talk, args=(one, folder), daemon=True).start()


def _talk(one: socket.socket, folder: Path) -> None:
    with one:
        received = b""
        while True:
            while b"\r\n\r\n" not in received:
                piece = one.recv(_PIECE)
                if not piece:
                    return
                received += piece
            head, _, received = received.partition(b"\r\n\r\n")
            path = folder / head.split(b" ", 2)[1].decode().rpartition("/")[2]
            if head.startswith(b"GET"):
                _give(one, path)
            else:
                length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
                _take(one, path, received, length)
                received = b""


def _give(one: socket.socket, path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        size, at = os.fstat(file).st_size, 0
        one.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, socket.MSG_MORE)
        while at < size:
            at += os.sendfile(one.fileno(), file, at, min(_MOST_SENT, size - at))
    finally:
        os.close(file)


def _take(one: socket.socket, path: Path, first: bytes, length: int) -> None:
    hashed, buffer = hashlib.md5(first, usedforsecurity=False), memoryview(bytearray(4 * _PIECE))
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, first)
        left = length - len(first)
        while left:
            count = one.recv_into(buffer[:left])
            if not count:
                return
            hashed.update(buffer[:count])
            os.write(file, buffer[:count])
            left -= count
        os.fsync(file)
    finally:
        os.close(file)
    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
