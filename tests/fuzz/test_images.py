"""Image files: a real decoder process renders or refuses each, in bounded time and memory, and never dies.

A case is one byte that chooses what is asked, then the file. Files are small ones of every format with parts changed. PNG
checks sums over its chunks, so these are put right after an edit, and pixels are edited below their compression: or a case
would end at the first sum.
"""

import asyncio
import contextlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from schemas.images.transform import Output, Transform
from tests.fuzz import mutate
from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from tests.workers.images.from_fork import from_fork
from tests.workers.images.rendering import rendered
from tests.workers.images.samples import moving, opened, png, quarters, turned, written
from workers.images.decoder_processes import DecoderProcesses
from workers.images.errors import ImageError, RenderFailed, RenderTimedOut
from workers.images.limits import DecoderLimits

_MIB = 1024 * 1024
_LIMITS = DecoderLimits(source_bytes=_MIB, source_pixels=2_000_000, frames=8, memory=512 * _MIB, timeout=8.0)
_MOST_MEMORY = 400 * _MIB
_ASKED: tuple[tuple[Transform, Output], ...] = (
    (Transform(20, 20), "png"),
    (Transform(30, 0, "contain"), "webp"),
    (Transform(0, 30, "fill", quality=20), "jpeg"),
    (Transform(10, 60, gravity="sm"), "auto"),
    (Transform(10, 10, gravity="fp", x_offset=0.9, y_offset=0.1), "origin"),
    (Transform(2000, 2000), "webp"),
    (Transform(1, 1), "avif"),
)
_SVG = Grammar(
    r"""
start: <?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" «size»>«shape»«shape»</svg>
size: width="«number»" height="«number»" | viewBox="0 0 «number» «number»" | width="«number»«unit»" height="10" | preserveAspectRatio="none" width="40" height="20" |
unit: px | % | em | mm | in |
number: 0 | 1 | 40 | -5 | 1e9 | 0.0001 | 99999999999 | NaN
shape: <rect width="«number»" height="«number»" fill="red"/> | <g transform="scale(«number») rotate(«number»)">«shape»«shape»</g> | <path d="M0 0 L«number» «number» A1 1 0 0 1 5 5 C1 2 3 4 5 «number» Z" stroke-width="«number»" stroke-dasharray="«number»,«number»"/> | <text x="1" y="9" font-size="«number»">a</text> | <image width="9" height="9" xlink:href="«link»"/> | <use xlink:href="«link»"/> | <g id="a">«shape»</g> | <filter id="f"><feGaussianBlur stdDeviation="«number»"/></filter><rect width="9" height="9" filter="url(#f)"/> | <pattern id="p" width="«number»" height="«number»">«shape»</pattern><rect fill="url(#p)" width="40" height="20"/> | <mask id="m">«shape»</mask> | <style>@import url("«link»"); rect { fill: url(#p) }</style> | <circle r="«number»"/> | <linearGradient id="l" xlink:href="«link»"/> | <foreignObject width="9" height="9"/>
link: #a | #l | #p | file:///etc/passwd | data:image/png;base64,iVBORw0KGgo= | http://127.0.0.1:1/x | data:image/svg+xml,%3Csvg/%3E |
"""
)


def _samples() -> list[bytes]:
    still = quarters(24, 16)
    kinds = [written(still, kind) for kind in ("jpg", "png", "webp", "gif", "avif", "tif")]
    return [
        *kinds,
        written(turned(6), "jpg"),
        written(moving(3, 12, 8), "gif"),
        written(moving(3, 12, 8), "webp"),
        png(9, 9, depth=16, colour=6),
    ]


_SAMPLES = from_fork(_samples)
_WORDS = [b"IHDR", b"IDAT", b"PLTE", b"tRNS", b"acTL", b"fdAT", b"iCCP", b"eXIf", b"\xff\xd8", b"\xff\xd9", b"\xff\xda", b"\xff\xc0", b"\xff\xc2", b"\xff\xc4", b"\xff\xdb", b"\xff\xe1",
          b"Exif\0\0", b"II*\0", b"MM\0*", b"RIFF", b"WEBP", b"VP8X", b"VP8L", b"ANIM", b"ANMF", b"ALPH", b"GIF89a", b"\x21\xf9\x04", b"\x2c", b"NETSCAPE2.0", b"ftypavif",
          b"meta", b"iloc", b"ispe", b"av1C", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0"]  # fmt: skip


def _edited(random: Random, case: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    head, data = case[:1], case[1:]
    if data.startswith(b"\x89PNG"):
        return head + _with_sums(random, mutate.edited(random, data, words, [other[1:] for other in others]))
    return head + mutate.edited(random, data, words, [other[1:] for other in others])


def _with_sums(random: Random, data: bytes) -> bytes:
    """Walk the chunks of a PNG and put their sums right; now and then edit the pixels below the compression."""
    at, out = 8, data[:8]
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if at + 12 + size > len(data):
            return out + data[at:]
        if kind == b"IDAT" and random.randrange(3) == 0:
            with contextlib.suppress(zlib.error):
                content = zlib.compress(mutate.edited(random, zlib.decompress(content)))
        out += (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )
        at += 12 + size
    return out + data[at:]


def _generated(random: Random) -> bytes:
    head = bytes([random.randrange(len(_ASKED))])
    if random.randrange(4) == 0:
        return head + _SVG.make(random).encode()
    return _edited(random, head + random.choice(_SAMPLES), _WORDS, [b"\0" + sample for sample in _SAMPLES])


class _Renderer:
    """Decoders in an event loop of their own, for a check that is no coroutine."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._decoders = self._runner.run(self._started())

    async def _started(self) -> DecoderProcesses:
        return DecoderProcesses(_LIMITS, processes=1, idle_timeout=60)

    def check(self, case: bytes) -> None:
        """Render a case. Raises: AssertionError if a decoder died, took too long or too much, or says what is not so."""
        transform, output = _ASKED[(case[0] if case else 0) % len(_ASKED)]
        try:
            made, data = self._runner.run(rendered(self._decoders, case[1:], transform, output))
        except (RenderFailed, RenderTimedOut) as error:
            raise AssertionError(
                f"{type(error).__name__} of a file that starts with {case[1:9]!r}"
            ) from error
        except ImageError:
            return
        assert self._peak() < _MOST_MEMORY, "the decoder took too much memory"
        assert made.is_source or len(data) == made.size
        if not made.is_source:
            image = opened(data)
            height = image.get("page-height") if image.get_typeof("page-height") else image.height
            assert (image.width, height) == (made.width, made.height), (
                "the picture has not the size that is said"
            )

    def close(self) -> None:
        """End the decoders."""
        self._runner.run(self._decoders.close())
        self._runner.close()

    def _peak(self) -> int:
        paths = [
            Path(f"/proc/{pid}/status") for pid in self._decoders.pids
        ]  # none after the last job of a decoder
        texts = [path.read_text() for path in paths if path.exists()]
        return max((int(text.partition("VmHWM:")[2].split()[0]) * 1024 for text in texts), default=0)


@pytest.fixture
def renderer() -> Iterator[_Renderer]:
    """A decoder with small limits."""
    one = _Renderer()
    yield one
    one.close()


def test_any_file_is_rendered_or_refused_and_no_decoder_dies(budget: Budget, renderer: _Renderer) -> None:
    seeds = [bytes([number % len(_ASKED)]) + sample for number, sample in enumerate(_SAMPLES)]
    run(Target("images", _generated, renderer.check, 500, _WORDS, seeds, edit=_edited), budget)
