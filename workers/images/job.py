"""What passes between the process that commands the decoders and a decoder: one job at a time over a socket.

    commander --> Job, with two open files: the source, and an empty one for the result
    decoder   --> Ready once; then, for each job, Made or Refused

A decoder never opens a file, knows no name, no key and no address.
"""

import socket

import msgspec
from msgspec import Struct

from schemas.images.transform import Output, Transform

_LENGTH = 4
_MOST = 64 * 1024


class Job(Struct, frozen=True, array_like=True):
    """Render the first file into the second."""

    transform: Transform
    output: Output


class Ready(Struct, frozen=True, array_like=True, tag="ready"):
    """The decoder can work."""


class Made(Struct, frozen=True, array_like=True, tag="made"):
    """The result is in the second file. `is_source`: nothing is, for the source is the result."""

    content_type: str
    size: int
    width: int
    height: int
    is_source: bool = False


class Refused(Struct, frozen=True, array_like=True, tag="refused"):
    """The source is not rendered: the name of the class in `errors.py`, and the library's words for the log."""

    error: str
    reason: str


Answer = Ready | Made | Refused

_encode = msgspec.msgpack.encode
_decode_job = msgspec.msgpack.Decoder(Job).decode
_decode_answer: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def send_job(channel: socket.socket, job: Job, source: int, result: int) -> None:
    """Send a job with its files. Raises: OSError if the decoder is gone."""
    socket.send_fds(channel, [framed(_encode(job))], [source, result])


def take_job(channel: socket.socket) -> tuple[Job, int, int] | None:
    """Wait for a job and its files; None: there will be no more."""
    data, files, _, _ = socket.recv_fds(channel, _MOST, 2)
    if len(files) != 2:
        return None
    while len(data) < _LENGTH or len(data) < _LENGTH + int.from_bytes(data[:_LENGTH], "big"):
        piece = channel.recv(_MOST)
        if not piece:
            return None
        data += piece
    return _decode_job(data[_LENGTH:]), files[0], files[1]


def send_answer(channel: socket.socket, answer: Answer) -> None:
    """Send an answer."""
    channel.sendall(framed(_encode(answer)))


def answer_in(data: bytes) -> Answer | None:
    """Read an answer from what has arrived; None: it is not whole yet. Raises: msgspec.MsgspecError, ValueError."""
    if len(data) > _MOST:
        raise ValueError("too long for an answer")
    if len(data) < _LENGTH or len(data) < _LENGTH + int.from_bytes(data[:_LENGTH], "big"):
        return None
    return _decode_answer.decode(data[_LENGTH:])


def framed(data: bytes) -> bytes:
    """Put the length in front."""
    return len(data).to_bytes(_LENGTH, "big") + data
