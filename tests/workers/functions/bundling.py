"""Bundles for tests, written by hand, including invalid ones that the command line would not make."""

import gzip
import io
import tarfile
from collections.abc import Mapping

import msgspec

from schemas.functions.deployments import BundleManifest
from schemas.settings.functions import FunctionSettings

OPEN = FunctionSettings(verify_jwt=False)


def bundle(name: str, files: Mapping[str, str], settings: FunctionSettings = OPEN) -> bytes:
    """Make a bundle of a function."""
    manifest = msgspec.json.encode(BundleManifest(name, settings)).decode()
    return archive([(path, text.encode()) for path, text in {"manifest.json": manifest, **files}.items()])


def hello(name: str, text: str, settings: FunctionSettings = OPEN) -> bytes:
    """Make a bundle of a function that answers a text."""
    return bundle(
        name, {f"functions/{name}/index.ts": f"Deno.serve(() => new Response('{text}'));"}, settings
    )


def archive(members: list[tuple[str | tarfile.TarInfo, bytes]]) -> bytes:
    """Pack members without checks."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as made:
        for named, data in members:
            info = named if isinstance(named, tarfile.TarInfo) else tarfile.TarInfo(named)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return gzip.compress(packed.getvalue())


def with_sums(data: bytes) -> bytes:
    """Correct the checksum of every header of an archive, so that other errors in it are reached."""
    blocks = [data[at : at + 512] for at in range(0, len(data), 512)]
    for place, block in enumerate(blocks):
        if block[257:262] == b"ustar" and len(block) == 512:
            total = sum(block[:148] + b" " * 8 + block[156:])
            blocks[place] = block[:148] + b"%06o\0 " % total + block[156:]
    return b"".join(blocks)
