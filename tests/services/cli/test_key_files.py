"""Tests of `headwater keys files`."""

from pathlib import Path
from urllib.parse import urlsplit

from click.testing import CliRunner

from services.cli.main import main
from services.supervisor.deployment import SINGLE
from tests.full_disk import full_disk


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
    assert first["db_password"] not in first["db_url"]
    assert len({text for name, text in first.items() if name.endswith("_password")}) == 7


def test_servers_that_are_named_are_those_of_the_addresses(tmp_path: Path) -> None:
    code, _ = _run(tmp_path / "s", "--database", "pg.example:6432", "--nats", "one", "--nats", "two")

    assert code == 0
    assert "@pg.example:6432/postgres" in (tmp_path / "s" / "db_url").read_text()
    assert "@one:4222,nats://pool:" in (tmp_path / "s" / "pool_broker_url").read_text()
    assert "@two:6222" in (tmp_path / "s" / "nats_secrets.conf").read_text()


def test_part_of_the_secrets_is_refused(tmp_path: Path) -> None:
    _run(tmp_path / "s")
    (tmp_path / "s" / "db_url").unlink()

    code, said = _run(tmp_path / "s")

    assert code == 2
    assert "db_url would not fit" in said


def test_a_run_on_a_full_disk_can_be_repeated(tmp_path: Path) -> None:
    with full_disk():
        code, said = _run(tmp_path / "s")

    assert code == 2
    assert "cannot be written" in said
    assert list((tmp_path / "s").iterdir()) == []
    assert _run(tmp_path / "s")[0] == 0


def test_a_folder_of_a_version_before_gets_the_passwords_that_it_lacks(tmp_path: Path) -> None:
    _run(tmp_path / "s")
    for name in SINGLE:
        (tmp_path / "s" / name).unlink()
    shared = urlsplit((tmp_path / "s" / "db_url").read_text()).password or ""
    (tmp_path / "s" / "db_password").write_text(shared)

    code, said = _run(tmp_path / "s")

    assert code == 0
    assert f"Made {len(SINGLE) - 1}, kept" in said
    assert "holds the password of role postgres" in said.replace("\n", " ")

    (tmp_path / "s" / "db_password").unlink()

    assert "holds the password" not in _run(tmp_path / "s")[1]
    assert (tmp_path / "s" / "db_password").read_text() != shared
