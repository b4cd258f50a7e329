"""Source files of functions as a response."""

import msgspec

from schemas.functions.deployments import BundleManifest
from schemas.keys.secret import Secret
from schemas.settings.functions import FunctionSettings
from workers.functions.deployments import sources
from workers.functions.deployments.bundles import Bundle


def test_text_and_bytes_are_listed_without_the_variables() -> None:
    settings = FunctionSettings(env={"KEY": Secret("hidden")}, verify_jwt=False)
    bundle = Bundle(BundleManifest("hello", settings), {"b.ts": b"text", "a.bin": b"\xff"})

    listed = sources.bundle_sources("hello", 3, bundle)

    assert [(file.path, file.size, file.text, file.base64) for file in listed.files] == [
        ("a.bin", 1, None, "/w=="),
        ("b.ts", 4, "text", None),
    ]
    assert listed.settings.verify_jwt is False
    assert b"hidden" not in msgspec.json.encode(listed)


def test_files_beyond_the_bound_are_listed_without_contents() -> None:
    half = b"x" * (sources.MOST_BYTES // 2 + 1)
    bundle = Bundle(BundleManifest("hello"), {"a": half, "b": half, "c": b"small"})

    listed = sources.bundle_sources("hello", 1, bundle).files

    assert [(file.path, file.text is None) for file in listed] == [("a", False), ("b", True), ("c", False)]
    assert len(msgspec.json.encode(listed)) <= sources.MOST_BYTES + 1000
