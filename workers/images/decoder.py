"""The decoder process: renders one image after another and can be killed at any time.

It decodes untrusted uploads, and image libraries have bugs. So it starts with an empty environment, has a socket as its
only connection, opens no file, and drops memory, privileges and priority before its first job (`limits.confine`). If a
bug in a library or the time limit ends the process, one render fails and nothing else.

    python -P -m workers.images.decoder LIMITS      (JSON; the socket is its standard input)
"""

import mmap
import os
import socket
import sys

import msgspec

from workers.images import decoder_messages as jobs
from workers.images.decoder_messages import DecoderJob, RenderedImage, RenderRejected
from workers.images.errors import ImageError, RenderFailed, SourceUnsupported
from workers.images.limits import DecoderLimits, confine
from workers.images.render import Picture, prepare, render

_REASON = 300


def main() -> int:
    """Serve jobs until the other side closes the socket."""
    limits = msgspec.json.decode(sys.argv[1], type=DecoderLimits)
    confine(limits)
    prepare()
    with socket.socket(fileno=os.dup(0)) as channel:
        _be_silent()
        jobs.send_answer(channel, jobs.DecoderReady())
        while (received := jobs.receive_job(channel)) is not None:
            job, source, result = received
            try:
                answer = _answer(job, source, result, limits)
            finally:
                os.close(source)
                os.close(result)
            jobs.send_answer(channel, answer)
    return 0


def _answer(
    job: DecoderJob, source: int, result: int, limits: DecoderLimits
) -> RenderedImage | RenderRejected:
    try:
        picture = _rendered(job, source, limits)
        return _made(picture, result)
    except ImageError as error:
        return RenderRejected(type(error).__name__, str(error.__cause__ or error)[:_REASON])
    except Exception as error:  # the last resort of the process: the next image may be valid
        return RenderRejected(RenderFailed.__name__, repr(error)[:_REASON])


def _rendered(job: DecoderJob, source: int, limits: DecoderLimits) -> Picture:
    if os.fstat(source).st_size == 0:
        raise SourceUnsupported
    data = mmap.mmap(source, 0, access=mmap.ACCESS_READ)  # unmapped with the last image that reads from it
    return render(data, job.transform, job.output, limits)


def _made(picture: Picture, result: int) -> RenderedImage:
    data = memoryview(picture.data or b"")
    written = 0
    while written < len(data):
        written += os.pwrite(result, data[written:], written)
    return RenderedImage(picture.content_type, len(data), picture.width, picture.height, picture.data is None)


def _be_silent() -> None:
    """Redirect the output of libraries to /dev/null: its text would come from the uploaded image."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
