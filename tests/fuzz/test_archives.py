"""Archives: whatever a client or a store sends is read whole or refused, with the memory and time of its own bytes.

Four targets. Bundles of functions (`.tar.gz`): blocks of headers of every type, with right sums, so that each is read. Archives that
administrators send (`.zip`). Forms with files, as the official command line sends them. Sealed files of a continuous backup, of which a store without the key may change anything.
"""

import base64
import gzip
import io
import tarfile
import zipfile
from random import Random

from broker.archive.sealing import FileOpener, FileSealer, SealBroken
from schemas.functions.deployments import MOST_UNPACKED
from tests.fuzz import mutate
from tests.fuzz.core import Budget, Target, run
from tests.workers.functions.bundling import with_sums
from workers.functions.deployments.bundles import BundleRejected, read_bundle
from workers.management.areas.project.function_bundles import read_zip
from workers.management.areas.project.multipart import parse_form
from workers.management.interface.errors import ManagementError

_BLOCK = 512
_MANIFEST = b'{"name":"a","settings":{"verify_jwt":false}}'
_NAMES = (
    "functions/a/index.ts",
    "manifest.json",
    "../x",
    "/etc/passwd",
    "functions/a",
    "functions/a/.env",
    "a\\b",
    "é",
    "",
    "d/" * 60,
)
_TYPES = b"0001\x0002233557xxxgLLKSNVZ"
_PAX = (
    b"path=%s",
    b"size=%s",
    b"GNU.sparse.realsize=99999999999",
    b"GNU.sparse.major=1",
    b"linkpath=/etc/passwd",
    b"comment=%s",
    b"hdrcharset=BINARY",
)
_WORDS = [
    b"ustar\x0000",
    b"ustar  \0",
    b"../",
    b"manifest.json",
    b"\x80\0\0\0\0\0\0\0\0\0\x10\0",
    b"\xff" * 12,
    b"77777777777\0",
    b"11 path=../x\n",
    bytes(_BLOCK),
]
_KEY, _NAME = bytes(range(32)), "archive/wal/1"
_CONTENT = b"what was stored " * 40


def _header(name: str, kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo(name[:99])
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")


def _member(random: Random, name: str, kind: bytes, content: bytes) -> bytes:
    size = random.choice((len(content), len(content), len(content), 1 << 33, 0))
    return _header(name, kind, size) + content + bytes(-len(content) % _BLOCK)


def _content(random: Random, kind: bytes) -> bytes:
    if kind in b"xg":
        line = random.choice(_PAX).replace(b"%s", random.choice(_NAMES).encode())
        record = b" %s\n" % line
        length = len(record) + 2 + (len(record) + 2 > 99)
        return (
            b"%d%s"
            % (random.choice((length, length, length, 1, 99999)), record)
            * random.choice((1, 1, 2, 50))
        )
    return random.choice((b"", b"x", b"text\n" * 200, random.choice(_NAMES).encode() + b"\0"))


def _bundle(random: Random) -> bytes:
    blocks = [_header("manifest.json", b"0", len(_MANIFEST)) + _MANIFEST + bytes(-len(_MANIFEST) % _BLOCK)]
    for _ in range(random.randrange(6)):
        kind = bytes([random.choice(_TYPES)])
        blocks.append(
            _member(random, random.choice(_NAMES), kind, _content(random, kind))
            * random.choice((1, 1, 1, 30))
        )
    return b"".join(blocks) + bytes(2 * _BLOCK)


def _check_bundle(case: bytes) -> None:
    try:
        bundle = read_bundle(gzip.compress(with_sums(case), 1), "a")
    except BundleRejected:
        return
    assert sum(map(len, bundle.files.values())) <= len(case), "it became longer than it is"
    for path in bundle.files:
        assert not path.startswith("/"), path
        assert not {"", ".", ".."} & set(path.split("/")), path


def _zipped(method: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as made:
        made.writestr("index.ts", b"x" * 5000)
        made.writestr("a/b.ts", b"y")
    return packed.getvalue()


_ZIPS = [
    _zipped(method)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
]


def _zip(random: Random) -> bytes:
    return mutate.edited(
        random, random.choice(_ZIPS), [b"PK\x01\x02", b"PK\x05\x06", b"\xff\xff\xff\xff"], _ZIPS
    )


def _check_zip(case: bytes) -> None:
    try:
        contents = read_zip(base64.b64encode(case).decode())
    except ManagementError:
        return
    assert sum(map(len, contents.values())) <= MOST_UNPACKED


_FORM = b'multipart/form-data; boundary="x y"\n' + (
    b'--x y\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}\r\n'
    b'--x y\r\nContent-Disposition: form-data; name="file"; filename="a.ts"\r\n\r\ntext\r\n--x y--\r\n'
)


def _form(random: Random) -> bytes:
    return mutate.edited(random, _FORM, [b"--x y", b"\r\n\r\n", b'; filename="', b"boundary=", b"%0D%0A"])


def _check_form(case: bytes) -> None:
    content_type, _, body = case.partition(b"\n")
    try:
        parts = parse_form(content_type.decode(errors="surrogateescape"), body)
    except ManagementError:
        return
    assert sum(len(part.content) for part in parts) <= len(body)


def _seal(random: Random) -> bytes:
    sealer = FileSealer(_NAME, _KEY)
    return sealer.feed(_CONTENT * random.randrange(3)) + sealer.finish()


def _check_sealed(case: bytes) -> None:
    opener, content = FileOpener(_NAME, [_KEY]), b""
    try:
        for at in range(0, len(case), 37):
            content += opener.feed(case[at : at + 37])
        opener.finish()
    except SealBroken:
        return
    assert content in (b"", _CONTENT, _CONTENT * 2), "what nobody stored is believed"


def test_any_bundle_is_read_or_rejected(budget: Budget) -> None:
    run(
        Target(
            "function_bundles",
            _bundle,
            _check_bundle,
            1500,
            _WORDS,
            guided_by=("schemas/functions/archive_reading.py",),
        ),
        budget,
    )


def test_any_zip_is_read_or_refused(budget: Budget) -> None:
    run(Target("function_zips", _zip, _check_zip, 1500, seeds=_ZIPS), budget)


def test_any_form_is_read_or_refused(budget: Budget) -> None:
    run(Target("function_forms", _form, _check_form, 1500, seeds=[_FORM]), budget)


def test_a_file_of_a_backup_is_what_was_stored_or_broken(budget: Budget) -> None:
    run(Target("sealed_files", _seal, _check_sealed, 1500, [b"HWARCH1\n", b"\x80\0\0\x10"]), budget)
