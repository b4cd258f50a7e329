"""What passes between the pool and a decoder, over a real socket."""

import os
import socket
import tempfile
import threading

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.images.transform import Transform
from workers.images.decoder_messages import (
    DecoderJob,
    DecoderReady,
    RenderedImage,
    RenderRejected,
    answer_in,
    framed,
    receive_job,
    send_answer,
    send_job,
)

JOB = DecoderJob(Transform(20, 10, "cover", "webp", 60, "fp", 0.5, 1.0), "webp")


def test_a_job_arrives_with_its_files() -> None:
    ours, its = socket.socketpair()
    with ours, its, tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as result:
        source.write(b"source")
        source.flush()
        send_job(ours, JOB, source.fileno(), result.fileno())

        taken = receive_job(its)
        assert taken is not None
        job, one, other = taken
        os.write(other, b"result")
        seen = os.pread(one, 10, 0)
        os.close(one)
        os.close(other)

        assert (job, seen, os.pread(result.fileno(), 10, 0)) == (JOB, b"source", b"result")


def test_a_job_in_pieces_is_put_together() -> None:
    ours, its = socket.socketpair()
    data = framed(msgspec.msgpack.encode(JOB))
    with ours, its, tempfile.TemporaryFile() as file:
        socket.send_fds(ours, [data[:3]], [file.fileno(), file.fileno()])
        rest = threading.Thread(target=lambda: ours.sendall(data[3:]))
        rest.start()
        taken = receive_job(its)
        rest.join()

        assert taken is not None
        assert taken[0] == JOB
        for descriptor in taken[1:]:
            os.close(descriptor)


def test_the_end_of_the_other_side_is_the_end_of_jobs() -> None:
    ours, its = socket.socketpair()
    with its:
        ours.close()

        assert receive_job(its) is None


@pytest.mark.parametrize(
    "answer",
    [
        DecoderReady(),
        RenderedImage("image/webp", 5, 2, 1),
        RenderedImage("image/svg+xml", 0, 2, 1, True),
        RenderRejected("X", "why"),
    ],
)
def test_an_answer_is_read_when_it_is_whole(answer: DecoderReady | RenderedImage | RenderRejected) -> None:
    ours, its = socket.socketpair()
    with ours, its:
        send_answer(its, answer)
        data = ours.recv(1000)

    assert answer_in(data) == answer
    assert all(answer_in(data[:size]) is None for size in range(len(data)))


@given(st.binary(max_size=50))
def test_nonsense_is_no_answer(data: bytes) -> None:
    for text in (data, framed(data)):
        try:
            answer = answer_in(text)
        except (msgspec.MsgspecError, ValueError):
            continue
        assert answer is None or isinstance(answer, DecoderReady | RenderedImage | RenderRejected)


def test_an_answer_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        answer_in(b"\xff" * 100_000)
