import os
from pathlib import Path

import pytest

from schemas.functions_settings import FunctionSettings
from workers.functions import places
from workers.functions.places import Places, SystemUser, forget, in_reach, leave, settle
from workers.functions.registry import Function


@pytest.fixture
def function(tmp_path: Path) -> Function:
    root = tmp_path / "supabase" / "functions"
    for path in ("a/index.ts", "a/lib/x.ts", "_shared/y.ts", ".env", "deno.json"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    return Function(
        "a", "v", root / "a/index.ts", None, root / "a", FunctionSettings(), {}, root, root / "deno.json",
        shared=(root / "_shared",),
    )  # fmt: skip


def test_sources_that_a_user_cannot_read_are_copied_without_secrets(
    tmp_path: Path, function: Function
) -> None:
    (tmp_path / "home" / "source").mkdir(parents=True)
    tmp_path.chmod(0o700)
    there = Places(SystemUser(65533, 65533), Path("/d"), tmp_path / "home", tmp_path / "run", Path("/p"))

    moved = in_reach(function, there)
    copied = sorted(str(path.relative_to(moved.root)) for path in moved.root.rglob("*") if path.is_file())

    assert moved.entrypoint == tmp_path / "home/source/a-v/functions/a/index.ts"
    assert copied == ["_shared/y.ts", "a/index.ts", "a/lib/x.ts", "deno.json"]
    assert moved.config == moved.root / "deno.json"
    assert moved.readable == (moved.root / "a", moved.root / "_shared")
    forget(function, there)
    assert not moved.root.exists()


def test_who_runs_as_we_do_reads_in_place(tmp_path: Path, function: Function) -> None:
    there = Places(None, Path("/d"), tmp_path, tmp_path, Path("/p"))

    assert in_reach(function, there) is function


def test_a_place_is_private_and_homes_of_folders_that_are_gone_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(places, "_program", lambda _: Path("/d"))
    orphan = tmp_path / "shared" / "functions" / "orphan"
    orphan.mkdir(parents=True)
    (orphan / "owner").write_text(str(tmp_path / "gone"))
    tmp_path.chmod(0o700)

    made = settle(tmp_path / "data")

    assert made.run.stat().st_mode & 0o777 == 0o700
    assert made.cache.stat().st_mode & 0o777 == 0o700
    assert made.preload.read_text().startswith("// Runs in a function's process")
    if os.geteuid() == 0:
        assert not orphan.exists()
    leave(made)
    assert not made.run.exists()
