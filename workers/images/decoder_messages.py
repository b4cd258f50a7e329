"""Messages between the images worker and a decoder process: one job at a time over a socket.

    worker  --> DecoderJob, with two open file descriptors (SCM_RIGHTS): the source, and an empty file for the result
    decoder --> DecoderReady once; then, for each job, RenderedImage or RenderRejected

The decoder opens no file and receives no name, key or address. A message is its length in 4 bytes, then msgpack.
"""

import socket

import msgspec
from msgspec import Struct

from schemas.images.transform import Output, Transform

_LENGTH = 4
_MOST = 64 * 1024


class DecoderJob(Struct, frozen=True, array_like=True):
    """Render the first file into the second."""

    transform: Transform
    output: Output


class DecoderReady(Struct, frozen=True, array_like=True, tag="ready"):
    """The decoder can take jobs."""


class RenderedImage(Struct, frozen=True, array_like=True, tag="made"):
    """The result is in the second file; with `is_source` the file is empty, because the source is the result."""

    content_type: str
    size: int
    width: int
    height: int
    is_source: bool = False


class RenderRejected(Struct, frozen=True, array_like=True, tag="refused"):
    """The source was not rendered: the name of a class in `errors.py`, and the library's message for the log."""

    error: str
    reason: str


DecoderAnswer = DecoderReady | RenderedImage | RenderRejected

_encode = msgspec.msgpack.encode
_decode_job = msgspec.msgpack.Decoder(DecoderJob).decode
_decode_answer: msgspec.msgpack.Decoder[DecoderAnswer] = msgspec.msgpack.Decoder(DecoderAnswer)


def send_job(channel: socket.socket, job: DecoderJob, source: int, result: int) -> None:
    """Send a job with its files. Raises: OSError if the decoder is gone."""
    socket.send_fds(channel, [framed(_encode(job))], [source, result])


def receive_job(channel: socket.socket) -> tuple[DecoderJob, int, int] | None:
    """Wait for a job and its files; None at the end of the stream."""
    data, files, _, _ = socket.recv_fds(channel, _MOST, 2)
    if len(files) != 2:
        return None
    while len(data) < _LENGTH or len(data) < _LENGTH + int.from_bytes(data[:_LENGTH], "big"):
        piece = channel.recv(_MOST)
        if not piece:
            return None
        data += piece
    return _decode_job(data[_LENGTH:]), files[0], files[1]


def send_answer(channel: socket.socket, answer: DecoderAnswer) -> None:
    """Send an answer."""
    channel.sendall(framed(_encode(answer)))


def answer_in(data: bytes) -> DecoderAnswer | None:
    """Decode an answer from received bytes; None if it is incomplete. Raises: msgspec.MsgspecError, ValueError."""
    if len(data) > _MOST:
        raise ValueError("too long for an answer")
    if len(data) < _LENGTH or len(data) < _LENGTH + int.from_bytes(data[:_LENGTH], "big"):
        return None
    return _decode_answer.decode(data[_LENGTH:])


def framed(data: bytes) -> bytes:
    """Return data with its length in front."""
    return len(data).to_bytes(_LENGTH, "big") + data
