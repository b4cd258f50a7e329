"""scripts/fetch-uv: a file of the index is installed only with a checksum of constraints.txt; else pip has to do it."""

import http.server
import json
import re
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PINNED = subprocess.run(
    [sys.executable, ROOT / "scripts" / "pinned", "uv"], capture_output=True, text=True, check=True
).stdout
_VERSION = _PINNED.partition(" ")[0].partition("==")[2]
_KNOWN = re.findall(r"sha256:([0-9a-f]{64})", _PINNED)[0]
_TAGS = (
    "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "macosx_11_0_arm64",
)


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Python of an environment without uv."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    return tmp_path / "venv" / "bin" / "python"


@pytest.fixture
def index() -> Iterator[tuple[str, dict[str, bytes]]]:
    """An index whose answers the test fills in, by path."""
    answers: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple", answers
        server.shutdown()


@pytest.mark.parametrize(
    ("digest", "reason"),
    [(_KNOWN, "another checksum"), ("0" * 64, "no file for this system"), (None, "404")],
    ids=["forged", "unknown", "missing"],
)
def test_what_constraints_do_not_have_is_not_installed(
    python: Path, index: tuple[str, dict[str, bytes]], digest: str | None, reason: str
) -> None:
    address, answers = index
    if digest is not None:
        names = [f"uv-{_VERSION}-py3-none-{tag}.whl" for tag in _TAGS]
        files = [{"filename": name, "url": f"../../{name}", "hashes": {"sha256": digest}} for name in names]
        answers["/simple/uv/"] = json.dumps({"files": files}).encode()
        answers.update({f"/{name}": b"another file" for name in names})

    done = subprocess.run(
        [python, ROOT / "scripts" / "fetch-uv"], env={"UV_DEFAULT_INDEX": address}, capture_output=True, text=True, check=False
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert reason in done.stderr
    assert not (python.parent / "uv").exists()
