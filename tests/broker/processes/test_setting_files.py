from pathlib import Path

from broker.processes.setting_files import find_file, setting_folders


def test_an_absolute_path_is_itself(tmp_path: Path) -> None:
    assert find_file("/etc/keys.json", [tmp_path]) == Path("/etc/keys.json")


def test_a_relative_path_is_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    first, second = tmp_path / "supabase", tmp_path
    first.mkdir()
    (second / "keys.json").touch()
    assert find_file("./keys.json", [first, second]) == second / "keys.json"

    (first / "keys.json").touch()
    assert find_file("./keys.json", [first, second]) == first / "keys.json"


def test_a_path_that_is_nowhere_belongs_to_the_first_folder(tmp_path: Path) -> None:
    assert find_file("keys.json", [tmp_path / "a", tmp_path]) == tmp_path / "a" / "keys.json"


def test_files_are_sought_beside_the_config_and_in_the_project() -> None:
    assert setting_folders({"HEADWATER_CONFIG": "/p/supabase/config.toml"}) == [
        Path("/p/supabase"),
        Path("/p"),
    ]
    assert setting_folders({}) == [Path.cwd()]
