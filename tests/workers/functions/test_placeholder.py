import os
import subprocess
import sys
from pathlib import Path

from workers.functions.placeholder import has_function


def test_a_folder_has_a_function_when_it_has_an_entrypoint(tmp_path: Path) -> None:
    assert not has_function(str(tmp_path / "missing"))
    (tmp_path / "_shared").mkdir()
    (tmp_path / "_shared" / "index.ts").touch()
    (tmp_path / "a").mkdir()
    assert not has_function(str(tmp_path))

    (tmp_path / "a" / "index.ts").touch()

    assert has_function(str(tmp_path))


def test_it_is_ready_without_functions_and_exits_on_sigterm(tmp_path: Path) -> None:
    told, its = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "workers.functions.placeholder", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.getcwd(), "HEADWATER_READY_FD": str(its)},
        pass_fds=(its,),
    )
    os.close(its)
    try:
        assert os.read(told, 16) == b"ready\n"
        child.terminate()
        assert child.wait(20) == 0
    finally:
        os.close(told)
        child.kill()
        child.wait()


def test_it_is_not_ready_while_it_becomes_the_worker(tmp_path: Path) -> None:
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello" / "index.ts").touch()
    lines, its = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "workers.functions.placeholder", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.getcwd(), "HEADWATER_READY_FD": str(its)},
        pass_fds=(its,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(its)
    try:
        assert os.read(lines, 16) == b"loading\n"
        assert child.wait(60) != 0  # the worker lacks settings: it ends, and was never ready
        assert os.read(lines, 16) == b""
    finally:
        os.close(lines)
        child.kill()
        child.wait()
