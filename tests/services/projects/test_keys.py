"""Every project gets keys of its own, whatever its folder has already."""

from pathlib import Path

import pytest

from schemas.keys.secret import Secret
from services.projects.keys import ensure_keys, read_project
from services.projects.platform_process import platform_environment
from services.projects.platform_start import overrides_of
from services.supervisor.errors import StartRefused
from services.supervisor.exposure import development_secrets
from services.supervisor.project.settings import load_project


def test_a_new_project_gets_random_keys_once(tmp_path: Path) -> None:
    made = ensure_keys(tmp_path)
    auth = read_project(tmp_path).settings.auth

    assert {"HEADWATER_AUTH_JWT_SECRET", "HEADWATER_DB_PASSWORD"} <= set(made)
    assert development_secrets(read_project(tmp_path).settings) == []
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert ensure_keys(tmp_path) == []
    assert read_project(tmp_path).settings.auth.jwt_secret.matches(auth.jwt_secret.reveal())


def test_settings_of_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MINE=1\nHEADWATER_DB_PASSWORD=chosen-by-the-user")

    made = ensure_keys(tmp_path)

    lines = (tmp_path / ".env").read_text().splitlines()
    assert "HEADWATER_DB_PASSWORD" not in made
    assert lines[:2] == ["MINE=1", "HEADWATER_DB_PASSWORD=chosen-by-the-user"]


def test_published_keys_that_win_over_the_new_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".env.local").write_text("HEADWATER_DB_PASSWORD=postgres\n")

    with pytest.raises(StartRefused, match="HEADWATER_DB_PASSWORD"):
        ensure_keys(tmp_path)


def test_projects_take_no_setting_of_the_servers_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADWATER_AUTH_JWT_SECRET", "one secret for all of them, which must not be")
    monkeypatch.setenv("GOTRUE_SITE_URL", "https://all.example.org")

    environment = platform_environment(
        {"PATH": "/bin", "HEADWATER_BRANCH": "x", "GOTRUE_SITE_URL": "y", "LANG": "C"}
    )

    assert environment == {"PATH": "/bin", "LANG": "C"}
    assert "HEADWATER_AUTH_JWT_SECRET" in ensure_keys(tmp_path)


def test_the_address_and_the_trust_of_the_front_gateway_win_over_the_projects_files(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "HEADWATER_GATEWAY_HOST=0.0.0.0\nHEADWATER_GATEWAY_TRUSTED_PROXIES=0.0.0.0/0\nHEADWATER_API_TLS_ENABLED=true\n"
        "HEADWATER_API_PORT=443\nHEADWATER_CERTIFICATES_DOMAINS=a.example.org\nHEADWATER_CERTIFICATES_ACCEPT_TERMS=true\n"
    )

    settings = load_project(
        tmp_path,
        None,
        tmp_path / ".headwater",
        overrides_of("http://shop.localhost:54330", "a key", "shown-by-the-front"),
        {},
    ).settings

    assert settings.gateway.host == "127.0.0.1"
    assert list(settings.gateway.trusted_proxies) == []
    assert settings.gateway.proxy_secret == Secret("shown-by-the-front")
    assert not settings.api.tls.enabled
    assert not settings.certificates.domains
    assert (settings.api.port, settings.api.external_url) == (0, "http://shop.localhost:54330")
