from pathlib import Path

import pytest

from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import (
    LAST_START,
    OPTION,
    find_data,
    find_data_above,
    find_root,
    load_project,
)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "supabase").mkdir()
    return tmp_path


def load(root, overrides=None, environment=None, config=None, earlier=None):
    return load_project(root, config, None, overrides or {}, environment or {}, earlier=earlier)


def test_a_folder_without_anything_has_the_defaults(root):
    project = load(root)

    assert project.config is None
    assert project.settings.api.port == 54321
    assert project.data == root / ".headwater"
    assert project.warnings == ()


def test_later_sources_win(root):
    (root / "supabase" / "config.toml").write_text(
        "[api]\nmax_rows = 1\nport = 1\n[db]\nport = 1\npool_size = 1"
    )
    (root / ".env").write_text("HEADWATER_API_PORT=2\nHEADWATER_DB_PORT=2\nHEADWATER_DB_POOL_SIZE=2")
    (root / "supabase" / ".env.local").write_text("HEADWATER_API_PORT=3\nHEADWATER_DB_PORT=3")
    project = load(root, {"HEADWATER_API_PORT": "5"}, {"HEADWATER_DB_PORT": "4", "HEADWATER_API_PORT": "4"})

    assert project.settings.api.max_rows == 1
    assert project.settings.db.pool_size == 2
    assert project.settings.db.port == 4
    assert project.settings.api.port == 5


def test_ports_of_the_last_start_win_over_the_config_and_not_over_the_environment(root):
    (root / "supabase" / "config.toml").write_text("[api]\nport = 1\n[db]\nport = 1")
    (root / ".env").write_text("HEADWATER_INBUCKET_PORT=2")
    earlier = {
        "HEADWATER_API_PORT": "7",
        "HEADWATER_DB_PORT": "7",
        "HEADWATER_INBUCKET_PORT": "7",
        "HEADWATER_BROKER_PORT": "7",
    }
    project = load(root, {"HEADWATER_BROKER_PORT": "5"}, {"HEADWATER_DB_PORT": "4"}, earlier=earlier)

    settings = project.settings
    assert (settings.api.port, settings.db.port, settings.inbucket.port, settings.broker.port) == (7, 4, 2, 5)
    assert project.named_ports == {"api", "db", "mail", "nats"}
    assert {name: source for name, source in project.sources.items() if name in earlier} == {
        "HEADWATER_API_PORT": LAST_START,
        "HEADWATER_INBUCKET_PORT": str(root / ".env"),
        "HEADWATER_BROKER_PORT": OPTION,
    }


def test_names_in_the_config_are_replaced_from_env_files(root):
    (root / "supabase" / "config.toml").write_text('[auth]\nsite_url = "env(SITE)"')
    (root / "supabase" / ".env").write_text("SITE=https://example.org\nOTHER=1")
    project = load(root)

    assert project.settings.auth.site_url == "https://example.org"
    assert "SITE" in project.environment
    assert "OTHER" not in project.environment


def test_names_of_the_official_auth_server_are_read_from_env_files(root):
    (root / ".env").write_text(
        "GOTRUE_JWT_SECRET=0123456789abcdef\nAPI_EXTERNAL_URL=https://a.example/auth/v1\nGOTRUE_SITE_URI=x\nSITE_URL=x"
    )
    project = load(root)

    assert project.settings.auth.jwt_secret.reveal() == "0123456789abcdef"
    assert project.settings.auth.external_url == "https://a.example/auth/v1"
    assert project.warnings == (
        "unknown environment variable GOTRUE_SITE_URI is ignored; did you mean GOTRUE_SITE_URL?",
    )
    assert "SITE_URL" not in project.environment


def test_the_database_url_of_an_application_is_not_ours(root):
    (root / ".env").write_text("DATABASE_URL=postgresql://app@h/d")

    assert load(root).settings.db.url is None
    assert load(root, environment={"DATABASE_URL": "postgresql://o@h/d"}).settings.db.url is None


def test_an_env_file_made_of_a_report_sets_no_key_pair(root):
    report = (
        "STORAGE_S3_URL=http://h/storage/v1/s3\nS3_PROTOCOL_ACCESS_KEY_ID=i\nS3_PROTOCOL_ACCESS_KEY_SECRET=s"
    )
    (root / ".env").write_text(report)

    assert load(root).settings.storage.s3_protocol.access_key_id is None


def test_ports_are_named_by_option_or_environment(root):
    (root / "supabase" / "config.toml").write_text("[db]\nport = 1")

    assert load(root, {"HEADWATER_API_PORT": "5"}, {"HEADWATER_BROKER_PORT": "6"}).named_ports == {
        "api",
        "nats",
    }


@pytest.mark.parametrize("config", ["none.toml", "supabase"])
def test_a_config_that_is_no_file_is_refused(root, config):
    with pytest.raises(StartRefused, match="no config file"):
        load(root, config=root / config)


@pytest.mark.parametrize("wrong", ["a folder", "a link to nothing", "a file instead of the folder"])
def test_a_config_in_its_place_that_cannot_be_read_is_refused(root, wrong):
    config = root / "supabase" / "config.toml"
    if wrong == "a folder":
        config.mkdir()
    elif wrong == "a link to nothing":
        config.symlink_to("nowhere")
    else:
        config.parent.rmdir()
        config.parent.write_text("x")

    with pytest.raises(StartRefused, match=r"supabase.*the project's settings cannot be read"):
        load(root)


def test_a_setting_that_cannot_be_used_is_refused_with_its_place(root):
    (root / "supabase" / "config.toml").write_text("[api]\nmax_rows = 'many'")

    with pytest.raises(StartRefused, match=r"config\.toml.*api\.max_rows"):
        load(root)


def test_the_environment_does_not_show_itself(root):
    assert "hidden" not in repr(load(root, environment={"HEADWATER_DB_PASSWORD": "hidden"}))


def test_the_data_folder_is_the_named_one_else_below_the_project(root, monkeypatch):
    monkeypatch.chdir(root)

    assert find_data(Path("x"), Path("y")) == root / "x"
    assert find_data(None, Path("y")) == root / "y" / ".headwater"
    assert find_data(None, None) == root / ".headwater"


def test_the_folder_of_a_project_is_the_nearest_with_a_config_or_a_platform(root, monkeypatch):
    (root / "supabase" / "config.toml").write_text("")
    below = root / "web" / "src"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)

    assert find_root(None) == root
    assert find_root(Path()) == below
    (root / "web" / ".headwater").mkdir()
    assert find_root(None) == root
    (root / "web" / ".headwater" / "ports.json").write_text("{}")
    assert find_root(None) == root / "web"
    assert find_data_above(None, None) == root / "web" / ".headwater"
    assert find_data_above(None, Path()) == below / ".headwater"


def test_a_block_of_a_file_that_is_not_there_is_refused(root):
    with pytest.raises(StartRefused, match=r"no supabase/config.toml with \[remotes.staging\]"):
        load(root, environment={"HEADWATER_REMOTE": "staging"})
