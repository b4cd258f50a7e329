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


def test_a_present_gitignore_and_seed_are_kept(project_folder):
    (project_folder.root / ".gitignore").write_text("/.headwater\n*.pyc")
    (project_folder.root / "supabase").mkdir()
    (project_folder.root / "supabase" / "seed.sql").write_text("select 1")
    project_folder.run("init")

    entries = (project_folder.root / ".gitignore").read_text().splitlines()
    assert entries[:2] == ["/.headwater", "*.pyc"]
    assert ".headwater/" not in entries
    assert ".env" in entries
    assert (project_folder.root / "supabase" / "seed.sql").read_text() == "select 1"
