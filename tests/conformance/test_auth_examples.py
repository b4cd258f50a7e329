"""The scripts of examples/auth do what they say, on a platform with all they need and on the default one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "auth"
SCRIPTS = sorted(
    path.name for path in EXAMPLES.glob("*.mjs") if path.name not in ("platform.mjs", "authenticator.mjs")
)
PLAIN = ("sign-up-and-confirm.mjs", "otp.mjs", "magic-link-pkce.mjs", "totp.mjs", "admin.mjs")
"""Those that need nothing of a platform, as their README says."""
LAST_WORDS = {
    "admin.mjs": "both deleted",
    "magic-link-pkce.mjs": "the client that asked is signed in as",
    "oauth.mjs": "unlinked; the ways in now: email",
    "otp.mjs": "signed in by text message as",
    "passkey.mjs": "the passkey is gone",
    "sign-up-and-confirm.mjs": "signed in with the password as Ada",
    "totp.mjs": "without the app again, the session is aal1",
}

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.fixture(scope="session")
def examples(node_modules: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the scripts, beside the clients of the tests."""
    folder = tmp_path_factory.mktemp("examples")
    for path in EXAMPLES.glob("*.mjs"):
        shutil.copy(path, folder)
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    return folder


def run(script: str, folder: Path, values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script with what `status` prints about a platform."""
    return subprocess.run(
        ["node", script],
        cwd=folder,
        env={**os.environ, **values},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_does_what_it_says(
    script: str, examples: Path, confirming_accounts: Platform, abroad: str
) -> None:
    done = run(script, examples, {**confirming_accounts.values, "PROVIDER_URL": abroad})

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(LAST_WORDS[script])


@pytest.mark.parametrize("script", PLAIN)
def test_a_script_runs_on_the_default_platform(
    script: str, examples: Path, client_platform: Platform
) -> None:
    done = run(script, examples, client_platform.values)

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_script_without_a_platform_says_what_is_missing(examples: Path) -> None:
    done = run("otp.mjs", examples, {"API_URL": ""})

    assert (done.returncode, done.stdout) == (2, "")
    assert "headwater status" in done.stderr
