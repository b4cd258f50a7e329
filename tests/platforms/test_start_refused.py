"""What cannot be started says why in a sentence, ends with an exit code, and leaves everything as it was."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.platform import headwater


@pytest.fixture
def root(tmp_path):
    (tmp_path / "supabase").mkdir()
    yield tmp_path
    headwater("stop", "--project", str(tmp_path))


def start(root, *words):
    return headwater("start", "--detach", "--port", "0", "--project", str(root), *words)


def files(folder):
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_second_start_in_one_data_folder_is_refused_and_the_first_goes_on(running_platform):
    done = headwater("start", "--detach", "--port", "0", "--data", str(running_platform.data))

    assert done.returncode == 2
    assert (
        f"The data folder {running_platform.data} is locked: a platform runs in it (process {running_platform.pid})"
        in done.stderr
    )
    assert running_platform.get("/health/ready")[0] == 200


def test_a_folder_with_other_files_is_no_data_folder_and_is_left_alone(root):
    other = root / "letters"
    other.mkdir(mode=0o755)
    (other / "aunt.txt").write_text("Dear aunt")

    done = start(root, "--data", str(other))

    assert done.returncode == 2
    assert f"The folder {other} is no data folder: it holds other files (aunt.txt)" in done.stderr
    assert files(other) == {str(other / "aunt.txt"): b"Dear aunt"}
    assert other.stat().st_mode & 0o777 == 0o755


def test_a_data_folder_that_is_a_file_is_refused(root):
    (root / "data").write_text("")

    done = start(root, "--data", str(root / "data"))

    assert done.returncode == 2
    assert f"Directory '{root / 'data'}' is a file" in done.stderr


def test_a_database_of_another_major_version_is_refused_and_left_alone(root):
    data = root / ".headwater" / "postgres" / "data"
    data.mkdir(parents=True)
    for folder in (root, *root.parents):
        if folder.stat().st_uid == root.stat().st_uid and folder != Path(folder.anchor):
            folder.chmod(folder.stat().st_mode | 0o011)
    (data / "PG_VERSION").write_text("15\n")

    done = start(root)

    assert done.returncode == 2
    assert (
        "was made by Postgres 15, and this is Postgres 18. Bring it to this version with `headwater upgrade-postgres --from DIR`"
        in done.stderr
    )
    assert files(data) == {str(data / "PG_VERSION"): b"15\n"}


@pytest.fixture
def small_disk(root):
    """A disk of a few MB."""
    place = root / "disk"
    place.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m,mode=755", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_told_before_anything_is_made(root, small_disk):
    done = start(root, "--data", str(small_disk / "data"))

    assert done.returncode == 2
    assert (
        f"The disk of the data folder {small_disk / 'data'} is full: 20 MB are free, and a start needs 128 MB"
        in done.stderr
    )
    assert files(small_disk) == {}


def test_a_disk_that_is_full_later_is_told_too(root, small_disk):
    data = small_disk / "data"
    (data / "postgres" / "data").mkdir(parents=True)
    (data / "lock").write_text("")

    done = start(root, "--data", str(data))

    assert done.returncode == 2
    assert "is full: 20 MB are free, and a start needs 32 MB. Free some" in done.stderr


@pytest.mark.parametrize(("config", "told"), [
    ("[api\nport = 1", "supabase/config.toml is not valid TOML: Expected ']' at the end of a table declaration (at line 1, column 5). Correct it and start again."),
    ("[db]\npool_size = 'many'", "supabase/config.toml: db.pool_size must be a whole number above 0. Correct it and start again."),
    ("[api]\nmax_rows = 'env(NOT_SET_ANYWHERE)'", "supabase/config.toml asks for env(NOT_SET_ANYWHERE), but NOT_SET_ANYWHERE is not set. Correct it and start again."),
    ("[storage.buckets.images]\nfile_size_limit = 'big'", "supabase/config.toml: storage.buckets.images.file_size_limit must be a size such as 50MiB"),
    ("[db.settings]\n'no name' = 1", "[db.settings] has 'no name', which is no name of a server setting. Remove it."),
])  # fmt: skip
def test_a_config_that_cannot_be_used_is_told_with_its_place(root, config, told):
    (root / "supabase" / "config.toml").write_text(config)

    done = start(root)

    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
