from importlib import resources

from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings


def test_the_template_holds_known_keys_with_their_defaults():
    template = resources.files("services.cli").joinpath("config.toml").read_bytes()
    settings, warnings = load_settings(template.replace(b"PROJECT", b"headwater"), {})

    assert warnings == []
    assert settings == Settings()


def test_a_project_is_laid_and_starts_from_its_config(project_folder):
    made = project_folder.run("init")

    assert made.returncode == 0, made.stderr
    assert (
        f'project_id = "{project_folder.root.name}"'
        in (project_folder.root / "supabase" / "config.toml").read_text()
    )
    assert (project_folder.root / "supabase" / "migrations").is_dir()
    assert (project_folder.root / "supabase" / "seed.sql").is_file()
    assert ".headwater/" in (project_folder.root / ".gitignore").read_text().splitlines()


def test_nothing_is_overwritten(project_folder):
    project_folder.run("init")
    config = project_folder.root / "supabase" / "config.toml"
    config.write_text("# mine")
    again = project_folder.run("init")

    assert again.returncode == 2
    assert "already there" in again.stderr
    assert config.read_text() == "# mine"


def test_a_project_whose_creation_failed_can_be_created_again(project_folder):
    ignored = project_folder.root / ".gitignore"
    ignored.mkdir()
    failed = project_folder.run("init")
    ignored.rmdir()
    again = project_folder.run("init")

    assert (failed.returncode, again.returncode) == (2, 0)
    assert "Is a directory" in failed.stderr
    assert ".headwater/" in ignored.read_text()


def test_a_present_gitignore_and_seed_are_kept(project_folder):
    (project_folder.root / ".gitignore").write_bytes(b"/.headwater\r\n*.pyc\r\n# caf\xe9")
    (project_folder.root / "supabase").mkdir()
    (project_folder.root / "supabase" / "seed.sql").write_text("select 1")
    project_folder.run("init")

    content = (project_folder.root / ".gitignore").read_bytes()
    assert content.startswith(b"/.headwater\r\n*.pyc\r\n# caf\xe9\r\n.env\r\n")
    assert b".headwater/" not in content
    assert content.count(b"\n") == content.count(b"\r\n")
    assert (project_folder.root / "supabase" / "seed.sql").read_text() == "select 1"
