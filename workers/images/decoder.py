"""A decoder: a process that renders one image after the other and can be ended at any time.

It decodes what strangers have uploaded. So it starts with an empty environment and a socket as its only link, opens
no file, and gives up memory, rights and precedence before the first job (`limits.confine`). Its end, by a bug in a
library or by the clock of who commands it, costs one render.

    python -P -m workers.images.decoder LIMITS      (JSON; the socket is its standard input)
"""

import mmap
import os
import socket
import sys

import msgspec

from workers.images import job as jobs
from workers.images.errors import ImageError, RenderFailed, SourceUnsupported
from workers.images.job import Job, Made, Refused
from workers.images.limits import Limits, confine
from workers.images.render import Picture, prepare, render

_REASON = 300


def main() -> int:
    """Answer jobs until the other side closes the socket."""
    limits = msgspec.json.decode(sys.argv[1], type=Limits)
    confine(limits)
    prepare()
    with socket.socket(fileno=os.dup(0)) as channel:
        _be_silent()
        jobs.send_answer(channel, jobs.Ready())
        while (taken := jobs.take_job(channel)) is not None:
            job, source, result = taken
            try:
                answer = _answer(job, source, result, limits)
            finally:
                os.close(source)
                os.close(result)
            jobs.send_answer(channel, answer)
    return 0


def _answer(job: Job, source: int, result: int, limits: Limits) -> Made | Refused:
    try:
        picture = _rendered(job, source, limits)
        return _made(picture, result)
    except ImageError as error:
        return Refused(type(error).__name__, str(error.__cause__ or error)[:_REASON])
    except Exception as error:  # the rim of a process: the next image may be sound
        return Refused(RenderFailed.__name__, repr(error)[:_REASON])


def _rendered(job: Job, source: int, limits: Limits) -> Picture:
    if os.fstat(source).st_size == 0:
        raise SourceUnsupported
    data = mmap.mmap(source, 0, access=mmap.ACCESS_READ)  # let go of with the last image that reads from it
    return render(data, job.transform, job.output, limits)


def _made(picture: Picture, result: int) -> Made:
    data = memoryview(picture.data or b"")
    written = 0
    while written < len(data):
        written += os.pwrite(result, data[written:], written)
    return Made(picture.content_type, len(data), picture.width, picture.height, picture.data is None)


def _be_silent() -> None:
    """Send what libraries say of images nowhere: the words would be the uploader's."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
