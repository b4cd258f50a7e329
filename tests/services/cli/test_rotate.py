"""`headwater keys rotate` on real files."""

import json
import os
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from schemas.caller import AnonymousCaller, RejectedCaller, UserCaller
from schemas.keys.key_rotation import RotationResult, RotationStep
from schemas.keys.secret import Secret
from schemas.keys.tokens import Verifier
from schemas.settings.auth import Auth
from schemas.settings.former_secret import former_secret_ends
from schemas.settings.reading import load_settings
from services.cli.rotation_process import rotate_file, summary
from services.cli.secret_rotation import FormerSecretValid, exchange_secret
from services.keys.platform_keys import PlatformKeys
from services.middleware.api_keys import GatewayKeys
from services.supervisor.api_keys import random_keys


def kids(path: Path) -> list[str]:
    return [entry["kid"] for entry in json.loads(path.read_text())]


@pytest.fixture
def file(project_folder):
    path = project_folder.root / "keys.json"
    path.write_text(project_folder.run("keys", "--signing").stdout)
    return path


def test_three_runs_exchange_the_key_and_say_what_comes_next(project_folder, file):
    [old] = kids(file)
    said = []
    for count in (2, 2, 1):
        done = project_folder.run("keys", "rotate", "--keys", file)
        assert done.returncode == 0, done.stderr
        assert len(kids(file)) == count
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        said.append(done.stdout)

    [new] = kids(file)
    assert new != old
    assert all("Next: " in each and old in each and new in each for each in said)
    assert "20 minutes" in said[0]
    assert "auth.jwt_expiry" in said[1]
    assert "complete" in said[2]
    assert [each.name for each in project_folder.root.iterdir()] == ["keys.json"]


def test_a_link_stays_one_and_its_file_is_replaced(project_folder, file):
    link = project_folder.root / "link.json"
    link.symlink_to(file)

    assert project_folder.run("keys", "rotate", "--keys", link).returncode == 0
    assert link.is_symlink()
    assert len(kids(file)) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_file_keeps_its_owner(project_folder, file):
    os.chown(file, 12345, 23456)

    assert project_folder.run("keys", "rotate", "--keys", file).returncode == 0
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"[]", b"\xff", b"{}", b'[{"kty":"EC"}]', b'{"keys":7}', b"x" * (1024 * 1024 + 1)],
)
def test_a_file_that_is_malformed_is_refused_in_words_and_stays_as_it_is(tmp_path, capsys, content):
    path = tmp_path / "keys.json"
    path.write_bytes(content)

    with pytest.raises(click.exceptions.Exit) as exited:
        rotate_file(path)

    error = capsys.readouterr().err
    assert exited.value.exit_code == 2
    assert "cannot be used: " in error
    assert "It is as it was" in error
    assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]
    assert path.read_bytes() == content


def test_a_file_that_is_not_there_is_refused_with_the_way_to_make_one(project_folder):
    done = project_folder.run("keys", "rotate", "--keys", "nowhere.json")

    assert done.returncode == 2
    assert "headwater keys --signing > nowhere.json" in done.stderr


def test_a_folder_is_refused(project_folder):
    assert "Is a directory" in project_folder.run("keys", "rotate", "--keys", project_folder.root).stderr


def test_help_tells_all_steps_and_how_long_to_wait(project_folder):
    help = project_folder.run("keys", "rotate", "--help").stdout

    for each in (
        "run 1",
        "run 2",
        "run 3",
        "20 minutes",
        "auth.jwt_expiry",
        "--keys FILE",
        "mode 600",
        "Exit codes",
    ):
        assert each in help
    assert "rotate" in project_folder.run("keys", "--help").stdout


def test_a_shared_secret_that_stops_signing_is_said_to_stay():
    said = summary(RotationResult(RotationStep.MOVED, "", "new (ES256)", ("legacy (HS256)",), is_last=True))

    assert "legacy (HS256) is a shared secret" in said
    assert "complete" in said


def settings_of(file: Path) -> Auth:
    """Return the settings that a file of variables makes."""
    lines = (line.partition("=") for line in file.read_text().splitlines() if "=" in line)
    return load_settings(b"", {name: value.strip('"') for name, _, value in lines})[0].auth


def test_one_run_exchanges_the_shared_secret_and_the_old_one_verifies_for_a_time(project_folder):
    old, file = random_keys(), project_folder.root / ".env"
    file.write_text(
        f'# keys\nHEADWATER_AUTH_JWT_SECRET="{old.jwt_secret}"\nHEADWATER_AUTH_ANON_KEY={old.anon_key}\n\nOTHER=as it was\n'
    )
    began = time.time()

    done = project_folder.run("keys", "rotate", "--jwt-secret", file, "--valid-for", "2h")
    auth = settings_of(file)
    verifier = Verifier(PlatformKeys(auth).keys)
    gateway = GatewayKeys((auth.anon_key.reveal() if auth.anon_key else "",), (), verifier)

    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith("# keys\nHEADWATER_AUTH_JWT_SECRET=")
    assert "\n\nOTHER=as it was\n" in file.read_text()
    assert auth.jwt_secret.reveal() != old.jwt_secret == (auth.former_jwt_secret or Secret("")).reveal()
    end = former_secret_ends(auth)
    assert began + 7200 - 1 <= end <= time.time() + 7200
    for token in (old.anon_key, old.service_role_key):
        assert isinstance(verifier.verify(token, began), UserCaller)
        assert isinstance(verifier.verify(token, end - 1), UserCaller)  # from the cache
        assert isinstance(verifier.verify(token, end), RejectedCaller)
    assert gateway.holder(old.anon_key, began) == AnonymousCaller()
    assert gateway.holder(old.anon_key, end) is None
    assert isinstance(verifier.verify(auth.anon_key.reveal() if auth.anon_key else "", end), UserCaller)
    assert old.jwt_secret not in done.stdout + done.stderr
    assert auth.jwt_secret.reveal() not in done.stdout + done.stderr


def test_a_file_without_the_secret_stays_as_it_was(project_folder):
    file = project_folder.root / ".env"
    file.write_text("HEADWATER_DB_PASSWORD=x\n")

    done = project_folder.run("keys", "rotate", "--jwt-secret", file)

    assert done.returncode == 2
    assert "does not set HEADWATER_AUTH_JWT_SECRET" in done.stderr
    assert file.read_text() == "HEADWATER_DB_PASSWORD=x\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_exchange_keeps_line_ends_and_the_time_of_the_former_secret(end: str) -> None:
    """A command that was repeated because its connection broke must not end the tokens of every client."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later = now + timedelta(hours=2)
    file = f"# keys\x0cof all{end}HEADWATER_AUTH_JWT_SECRET=first{end}"

    once = exchange_secret(file, "second", later, now)
    with pytest.raises(FormerSecretValid, match="until 2026-01-01T02:00:00Z"):
        exchange_secret(once, "third", later + timedelta(hours=2), now + timedelta(hours=1))
    leaked = exchange_secret(once, "third", now + timedelta(hours=1), now + timedelta(hours=1))
    twice = exchange_secret(once, "third", later + timedelta(hours=2), later)

    assert once.split(end) == [
        "# keys\x0cof all",
        "HEADWATER_AUTH_JWT_SECRET=second",
        "HEADWATER_AUTH_FORMER_JWT_SECRET=first",
        "HEADWATER_AUTH_FORMER_JWT_SECRET_UNTIL=2026-01-01T02:00:00Z",
        "",
    ]
    assert f"JWT_SECRET=third{end}" in leaked
    assert f"FORMER_JWT_SECRET=second{end}" in twice
