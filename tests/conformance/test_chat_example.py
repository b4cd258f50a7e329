"""The chat of examples/chat: two people see each other, one loses the connection, nothing is lost; and its page is served."""

import os
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "chat"

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.fixture
def folder(node_modules: None, tmp_path: Path) -> Path:
    """A copy of the example, beside the clients of the tests."""
    whole = shutil.copytree(EXAMPLE, tmp_path / "chat", ignore=shutil.ignore_patterns("node_modules"))
    (whole / "node_modules").symlink_to(HERE / "node_modules")
    return whole


def test_two_people_chat_and_lose_nothing(folder: Path, client_platform: Platform) -> None:
    done = client_platform.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(folder / "schema.sql"))
    assert done.returncode == 0, done.stderr
    client_platform.wait_for_catalog("messages")

    done = subprocess.run(
        ["node", "two.mjs"],
        cwd=folder,
        env={**os.environ, **client_platform.values},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Bob sees what was said while the connection was away" in done.stdout
    assert done.stdout.splitlines()[-1] == "nothing lost, nothing twice"


def test_the_page_is_served_with_all_that_it_asks_for(folder: Path, client_platform: Platform) -> None:
    process = subprocess.Popen(
        ["node", "serve.mjs"],
        cwd=folder,
        env={**os.environ, **client_platform.values, "PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().rpartition(" ")[2].strip()
            names = ("", "page.mjs", "chat.mjs", "resuming.mjs", "config.json")
            bodies = [_get(f"{address}/{name}") for name in names]
            library = _get(f"{address}/node_modules/@supabase/supabase-js/dist/umd/supabase.js")
            with pytest.raises(urllib.error.HTTPError) as refused:
                _get(f"{address}/serve.mjs")
        finally:
            process.kill()

    refused.value.close()
    assert refused.value.code == 404
    assert b"page.mjs" in bodies[0]
    assert client_platform.values["ANON_KEY"].encode() in bodies[-1]
    assert b"createClient" in library


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as answer:
        body: bytes = answer.read()
        return body
