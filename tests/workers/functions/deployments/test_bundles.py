import gzip
import hashlib
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.functions.deployments import MOST_FILES, MOST_UNPACKED
from schemas.settings.functions import FunctionSettings
from tests.fuzz.mutate import near
from tests.workers.functions.bundling import archive, bundle, hello, with_sums
from workers.functions.deployments.bundles import BundleRejected, read_bundle, unpack

MANIFEST = ("manifest.json", b'{"name": "a"}')


def link(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("functions/a/link")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


def header(kind: bytes, name: str, size: int = 0, more: bytes = b"") -> bytes:
    """Return a header block of any kind; `more` are the bytes from position 345 on."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[345 : 345 + len(more)] = more
    return with_sums(bytes(block))


def extended(records: bytes, kind: bytes = b"x") -> bytes:
    return header(kind, "x", len(records)) + records + bytes(-len(records) % 512)


def after_manifest(members: bytes) -> bytes:
    """Return a bundle whose manifest is followed by these blocks."""
    whole = gzip.decompress(archive([MANIFEST]))
    return gzip.compress(whole[:1024] + members + bytes(1024))


GIBIBYTE_OF_ZEROS = bytes(41) + b"00000000000\0" + b"00000000001\0" + bytes(72) + b"\0" + b"10000000000\0"
NAMED = header(b"0", "functions/a/x")

HOSTILE = {
    "a sparse file": after_manifest(
        header(b"S", "functions/a/x", 1, GIBIBYTE_OF_ZEROS) + b"a".ljust(512, b"\0")
    ),
    "a sparse file of an extended header": after_manifest(
        extended(b"22 GNU.sparse.major=1\n" + b"34 GNU.sparse.realsize=1073741824\n") + NAMED
    ),
    "a size of an extended header": after_manifest(extended(b"16 size=9999999\n") + NAMED),
    "a path of an extended header": after_manifest(extended(b"17 path=../../xy\n") + NAMED),
    "a path for all": after_manifest(extended(b"11 path=ab\n", b"g") + NAMED),
    "records that are none": after_manifest(extended(b"1" * 60_000) + NAMED),
    "a long extended header": after_manifest(extended(b"70000 comment=".ljust(69_999) + b"\n") + NAMED),
    "a size below nothing": after_manifest(with_sums(NAMED[:124] + b"\xff" * 12 + NAMED[136:])),
    "a continued file": after_manifest(header(b"7", "functions/a/x")),
    "no archive": b"nonsense",
    "cut": hello("a", "x")[:-20],
    "no manifest": archive([("functions/a/index.ts", b"")]),
    "of another function": hello("b", "x"),
    "absolute": archive([MANIFEST, ("/etc/passwd", b"")]),
    "outside": archive([MANIFEST, ("functions/../../x", b"")]),
    "backslash": archive([MANIFEST, ("functions\\..\\x", b"")]),
    "new line": archive([MANIFEST, ("functions/a\n/x", b"")]),
    "secrets": archive([MANIFEST, ("functions/a/.env", b"A=1")]),
    "local secrets": archive([MANIFEST, ("functions/.env.local", b"A=1")]),
    "twice": archive([MANIFEST, ("functions/a/x", b"1"), ("functions/a/x", b"2")]),
    "symbolic link": archive([MANIFEST, (link(tarfile.SYMTYPE), b"")]),
    "hard link": archive([MANIFEST, (link(tarfile.LNKTYPE), b"")]),
    "device": archive([MANIFEST, (link(tarfile.CHRTYPE), b"")]),
    "bomb": gzip.compress(bytes(MOST_UNPACKED + 1)),
    "too many": archive([MANIFEST, *((f"functions/a/{n}", b"") for n in range(MOST_FILES))]),
    "entrypoint outside": bundle("a", {}, FunctionSettings(entrypoint="../../x.ts")),
    "static outside": bundle("a", {}, FunctionSettings(static_files=["/etc/*"])),
    "map outside": bundle("a", {}, FunctionSettings(import_map="functions/../../x.json")),
    "settings of another kind": archive(
        [("manifest.json", b'{"name": "a", "settings": {"cpu_ms": "many"}}')]
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_bundle_is_rejected(case: str) -> None:
    with pytest.raises(BundleRejected):
        read_bundle(HOSTILE[case], "a")


PACKED = bundle("a", {"functions/a/index.ts": "1", "functions/_shared/deep/er.ts": "2", "assets/x.html": "3"})
PLAIN = gzip.decompress(PACKED)
TAR_WORDS = [
    b"manifest.json",
    b"functions/a/",
    b"../",
    b"/etc/passwd",
    b"ustar\x0000",
    b"ustar  \0",
    b"0000644\0",
    b"7777777\0",
    b"\0" * 512,
]


@given(near([PLAIN], TAR_WORDS).map(with_sums).map(gzip.compress) | near([PACKED]) | st.binary())
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    try:
        found = read_bundle(data, "a")
    except BundleRejected:
        return

    assert found.manifest.name == "a"
    assert not any(path.startswith("/") or ".." in path.split("/") for path in found.files)


def test_a_bundle_is_unpacked_completely_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    data = bundle(
        "a", {"functions/a/index.ts": "1", "functions/_shared/deep/er.ts": "2", "assets/x.html": "3"}
    )

    manifest = unpack(data, hashlib.sha256(data).hexdigest(), "a", tmp_path / "one")

    assert not manifest.settings.verify_jwt
    assert (tmp_path / "one" / "functions" / "_shared" / "deep" / "er.ts").read_text() == "2"
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "one" / "assets" / "x.html").stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["one"]


def test_names_of_any_length_and_kind_come_back() -> None:
    names = [f"functions/a/{'d/' * n}\u00fc{n}" for n in (0, 40, 80, 200)]
    files = {name: name for name in names}

    assert read_bundle(bundle("a", files), "a").files == {name: name.encode() for name in names}


def test_many_headers_of_one_file_are_read_one_after_the_other() -> None:
    """The library reads each of them within the one before."""
    chain = (header(b"L", "l", 2) + b"x".ljust(512, b"\0")) * 5_000

    assert read_bundle(after_manifest(chain + NAMED), "a").files == {"x": b""}


def test_a_bundle_with_another_digest_is_not_unpacked(tmp_path: Path) -> None:
    with pytest.raises(BundleRejected, match="digest"):
        unpack(hello("a", "changed"), hashlib.sha256(hello("a", "sent")).hexdigest(), "a", tmp_path / "one")

    assert list(tmp_path.iterdir()) == []


def test_a_rejected_bundle_leaves_no_files(tmp_path: Path) -> None:
    data = archive([MANIFEST, ("functions/a/x", b""), ("functions/a/x/y", b"")])

    with pytest.raises((BundleRejected, OSError)):
        unpack(data, hashlib.sha256(data).hexdigest(), "a", tmp_path / "one")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "paths", [("functions/a/x", "functions/a/x/y"), ("functions/a/x/y", "functions/a/x")]
)
def test_a_path_that_is_a_file_and_a_folder_is_rejected(paths: tuple[str, str]) -> None:
    with pytest.raises(BundleRejected, match="a file and a folder"):
        read_bundle(bundle("a", dict.fromkeys(paths, "1")), "a")


def test_a_manifest_that_is_no_utf_8_is_rejected() -> None:
    whole = gzip.decompress(PACKED)
    at = whole.index(b'"a"')

    with pytest.raises(BundleRejected):
        read_bundle(gzip.compress(whole[:at] + b'"\x80"' + whole[at + 3 :]), "a")
