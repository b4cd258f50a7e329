import os
from pathlib import Path

import pytest

from schemas.settings.functions import FunctionSettings
from workers.functions.catalog.registry import HostedFunction
from workers.functions.host import host
from workers.functions.host.host import (
    FunctionHost,
    close_host,
    make_function_folders,
    open_host,
)
from workers.functions.host.source_copies import make_readable, remove_copy
from workers.functions.sandbox.features import SandboxFeatures
from workers.functions.sandbox.users import FunctionUser, FunctionUsers

WALLS = SandboxFeatures(7, has_filter=True, is_gated=True, is_enough=True)


class Users(FunctionUsers):
    """Gives every function the same user."""

    def __init__(self, user: FunctionUser | None) -> None:
        self.user = user

    def user_of(self, function: str) -> FunctionUser | None:
        return self.user


@pytest.fixture
def function(tmp_path: Path) -> HostedFunction:
    root = tmp_path / "supabase" / "functions"
    for path in ("a/index.ts", "a/lib/x.ts", "_shared/y.ts", ".env", "deno.json"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    return HostedFunction(
        "a", "v", root / "a/index.ts", None, root / "a", FunctionSettings(), {}, root, root / "deno.json",
        shared=(root / "_shared",),
    )  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_sources_that_a_user_cannot_read_are_copied_without_secrets(
    tmp_path: Path, function: HostedFunction
) -> None:
    (tmp_path / "home" / "source").mkdir(parents=True)
    tmp_path.chmod(0o700)
    user = FunctionUser(65533, 65533)
    home = tmp_path / "home"
    there = FunctionHost(Users(user), WALLS, Path("/d"), home, tmp_path / "run", Path("/p"))

    moved = make_readable(function, there)
    copied = sorted(str(path.relative_to(moved.root)) for path in moved.root.rglob("*") if path.is_file())

    assert moved.entrypoint == tmp_path / "home/source/a-v/functions/a/index.ts"
    assert copied == ["_shared/y.ts", "a/index.ts", "a/lib/x.ts", "deno.json"]
    assert moved.entrypoint.stat().st_mode & 0o777 == 0o640
    assert moved.entrypoint.stat().st_gid == user.gid
    assert moved.config == moved.root / "deno.json"
    assert moved.readable == (moved.root / "a", moved.root / "_shared")
    remove_copy(function, there)
    assert not moved.root.exists()


def test_functions_of_the_same_user_read_sources_in_place(tmp_path: Path, function: HostedFunction) -> None:
    there = FunctionHost(Users(None), WALLS, Path("/d"), tmp_path, tmp_path, Path("/p"))

    assert make_readable(function, there) is function


def test_homes_are_private_and_homes_of_removed_data_folders_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(host, "_program", lambda **_: Path("/bin/sh"))
    orphan = tmp_path / "shared" / "functions" / "orphan"
    orphan.mkdir(parents=True)
    (orphan / "owner").write_text(str(tmp_path / "gone"))
    tmp_path.chmod(0o700)

    made = open_host(tmp_path / "data")

    assert made.run.stat().st_mode & 0o777 == 0o700
    make_function_folders(made, "a")
    make_function_folders(made, "b")
    assert made.cache("a").stat().st_mode & 0o777 == 0o700
    assert made.notes("a").stat().st_mode & 0o007 == 0
    assert made.preload.read_text().startswith("// Runs in a function's process")
    if os.geteuid() == 0:
        assert not orphan.exists()
        owners = {made.cache("a").stat().st_uid, made.cache("b").stat().st_uid, 0}
        assert len(owners) == 3
    close_host(made)
    assert not made.run.exists()
