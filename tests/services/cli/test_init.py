from importlib import resources

from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings


def test_the_template_holds_known_keys_with_their_defaults():
    template = resources.files("services.cli").joinpath("config.toml").read_bytes()
    settings, warnings = load_settings(template.replace(b"PROJECT", b"headwater"), {})

    assert warnings == []
    assert settings == Settings()


def test_a_project_is_laid_and_starts_from_its_config(place):
    made = place.run("init")

    assert made.returncode == 0, made.stderr
    assert f'project_id = "{place.root.name}"' in (place.root / "supabase" / "config.toml").read_text()
    assert (place.root / "supabase" / "migrations").is_dir()
    assert (place.root / "supabase" / "seed.sql").is_file()
    assert ".headwater/" in (place.root / ".gitignore").read_text().splitlines()


def test_nothing_is_overwritten(place):
    place.run("init")
    config = place.root / "supabase" / "config.toml"
    config.write_text("# mine")
    again = place.run("init")

    assert again.returncode == 2
    assert "already there" in again.stderr
    assert config.read_text() == "# mine"


def test_a_present_gitignore_and_seed_are_kept(place):
    (place.root / ".gitignore").write_text("/.headwater\n*.pyc")
    (place.root / "supabase").mkdir()
    (place.root / "supabase" / "seed.sql").write_text("select 1")
    place.run("init")

    entries = (place.root / ".gitignore").read_text().splitlines()
    assert entries[:2] == ["/.headwater", "*.pyc"]
    assert ".headwater/" not in entries
    assert ".env" in entries
    assert (place.root / "supabase" / "seed.sql").read_text() == "select 1"
