"""Tests of `headwater keys files`."""

from pathlib import Path

from click.testing import CliRunner

from services.cli.main import main


def _run(folder: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["keys", "files", str(folder), *more])
    return done.exit_code, done.output


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"

    assert _run(folder)[0] == 0
    first = {path.name: path.read_text() for path in folder.iterdir()}
    assert _run(folder)[0] == 0

    assert {path.name: path.read_text() for path in folder.iterdir()} == first
    assert folder.stat().st_mode & 0o777 == 0o700
    assert first["db_password"] in first["db_url"]


def test_servers_that_are_named_are_those_of_the_addresses(tmp_path: Path) -> None:
    code, _ = _run(tmp_path / "s", "--database", "pg.example:6432", "--nats", "one", "--nats", "two")

    assert code == 0
    assert "@pg.example:6432/postgres" in (tmp_path / "s" / "db_url").read_text()
    assert "@one:4222,nats://pool:" in (tmp_path / "s" / "pool_broker_url").read_text()
    assert "@two:6222" in (tmp_path / "s" / "nats_secrets.conf").read_text()


def test_part_of_the_secrets_is_refused(tmp_path: Path) -> None:
    _run(tmp_path / "s")
    (tmp_path / "s" / "db_password").unlink()

    code, said = _run(tmp_path / "s")

    assert code == 2
    assert "db_password would not fit" in said
