"""`[remotes.NAME]`: which block applies, what it changes, and what is rejected."""

import pytest

from schemas.settings.reading import applied_remotes, load_settings
from schemas.settings.tree import Settings, SettingsError

STAGING = "abcdefghijklmnopqrst"
CONFIG = f"""
[api]
max_rows = 5
schemas = ["public", "internal"]
[db.seed]
enabled = true
sql_paths = ["./seed.sql"]
[local_smtp]
port = 1
[remotes.staging]
project_id = "{STAGING}"
[remotes.staging.api]
schemas = ["public"]
[remotes.staging.auth]
site_url = "https://env(STAGE).example.com"
[remotes.staging.local_smtp]
port = 2
[remotes.production]
project_id = "env(PRODUCTION)"
[remotes.production.api]
max_rows = 7
[remotes.production.db.seed]
enabled = true
sql_paths = ["./production.sql"]
""".encode()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (5, ["public", "internal"], "", True, ["./seed.sql"], 1)),
        (
            {"HEADWATER_REMOTE": "staging", "STAGE": "s"},
            (5, ["public"], "https://s.example.com", False, ["./seed.sql"], 2),
        ),
        (
            {"HEADWATER_MANAGEMENT_PROJECT_REF": STAGING, "STAGE": "s"},
            (5, ["public"], "https://s.example.com", False, ["./seed.sql"], 2),
        ),
        (
            {"HEADWATER_MANAGEMENT_PROJECT_REF": "p" * 20, "PRODUCTION": "p" * 20},
            (7, ["public", "internal"], "", True, ["./production.sql"], 1),
        ),
        (
            {"HEADWATER_REMOTE": "production", "HEADWATER_API_MAX_ROWS": "9"},
            (9, ["public", "internal"], "", True, ["./production.sql"], 1),
        ),
        ({"HEADWATER_MANAGEMENT_PROJECT_REF": "n" * 20}, (5, ["public", "internal"], "", True, ["./seed.sql"], 1)),
        (
            {"HEADWATER_REMOTE_OF_BRANCH": "other staging", "STAGE": "s"},
            (5, ["public"], "https://s.example.com", False, ["./seed.sql"], 2),
        ),
        (
            {"HEADWATER_REMOTE": "production", "HEADWATER_REMOTE_OF_BRANCH": "staging", "STAGE": "s"},
            (7, ["public"], "https://s.example.com", False, ["./production.sql"], 2),
        ),
    ],
)  # fmt: skip
def test_a_block_is_laid_over_the_file_and_the_environment_over_both(
    environment: dict[str, str], expected: tuple[object, ...]
) -> None:
    settings, warnings = load_settings(CONFIG, environment)

    seed, default = settings.db.seed, Settings().auth.site_url
    site = "" if settings.auth.site_url == default else settings.auth.site_url
    assert (
        settings.api.max_rows, list(settings.api.schemas), site, seed.enabled, list(seed.sql_paths), settings.inbucket.port,
    ) == expected  # fmt: skip
    assert warnings == []


def test_the_applied_blocks_are_named() -> None:
    environment = {"HEADWATER_MANAGEMENT_PROJECT_REF": STAGING, "HEADWATER_REMOTE_OF_BRANCH": "x production"}

    assert applied_remotes(CONFIG, environment) == ("staging", "production")
    assert applied_remotes(CONFIG, {}) == ("", "")


def test_a_project_ref_of_the_file_chooses_too() -> None:
    config = CONFIG + f'[management]\nproject_ref = "{STAGING}"\n'.encode()

    assert applied_remotes(config, {})[0] == "staging"


@pytest.mark.parametrize(
    ("config", "environment", "reason"),
    [
        (CONFIG, {"HEADWATER_REMOTE": "stagin"}, "no [remotes.stagin], which HEADWATER_REMOTE or --remote names: it has staging, production"),
        (b"[api]", {"HEADWATER_REMOTE": "staging"}, "it has no such block"),
        (b"remotes = 5", {}, "remotes must have tables"),
        (b"[remotes]\nstaging = 5", {}, "remotes must have tables"),
        (b"[remotes.a]\nproject_id = 5", {}, "remotes.a.project_id must be a text"),
        (b'[remotes.a]\nproject_id = "x"\n[remotes.b]\nproject_id = "x"', {}, "[remotes.b] and [remotes.a] have the same project_id"),
        (b'[remotes.a.api]\nmax_rows = "many"', {"HEADWATER_REMOTE": "a"}, "api.max_rows must be"),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_rejected(config: bytes, environment: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(config, environment)

    assert reason in str(caught.value)


def test_an_unknown_key_of_the_block_that_applies_is_reported() -> None:
    config = b"[remotes.a.api]\nmax_row = 5"

    assert "unknown key api.max_row" in load_settings(config, {"HEADWATER_REMOTE": "a"})[1][0]
    assert load_settings(config, {})[1] == []


def test_a_branch_takes_no_server_from_its_block() -> None:
    config = b"""
    [db]
    url = "postgresql://a@parent.example.com"
    [remotes.preview.db]
    url = "postgresql://a@other.example.com"
    [remotes.preview.broker]
    url = "nats://other.example.com"
    [remotes.preview.auth.email.smtp]
    host = "mail.example.com"
    admin_email = "a@example.com"
    """
    environment = {
        "HEADWATER_CLEARED_SETTINGS": "db.url,auth.email.smtp.**",
        "HEADWATER_REMOTE_OF_BRANCH": "preview",
    }

    settings, _ = load_settings(config, environment)

    assert (settings.db.url, settings.broker.url) == (None, None)
    assert settings.auth.email.smtp.host == "mail.example.com"
