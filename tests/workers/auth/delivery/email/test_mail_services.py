"""Where mails and messages go, by the settings."""

from pathlib import Path

import pytest

from schemas.settings.tree import Api, Auth, Inbucket, Settings
from workers.auth.delivery.email.mail_services import external_url, mail_catcher_of, template_folders


def test_the_inbox_is_the_platform_s_own_unless_it_is_off():
    found = mail_catcher_of(Settings(inbucket=Inbucket(smtp_port=2525)))

    assert found is not None
    assert (found.host, found.port) == ("127.0.0.1", 2525)
    assert mail_catcher_of(Settings(inbucket=Inbucket(enabled=False))) is None


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (Settings(), "http://127.0.0.1:54321/auth/v1"),
        (Settings(api=Api(port=1234)), "http://127.0.0.1:1234/auth/v1"),
        (Settings(api=Api(external_url="https://x.example/")), "https://x.example/auth/v1"),
        (Settings(auth=Auth(external_url="https://a.example/auth")), "https://a.example/auth"),
    ],
)
def test_links_lead_to_where_the_accounts_are_reached(settings: Settings, url: str):
    assert external_url(settings) == url


def test_templates_are_sought_in_the_project_then_beside_its_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("HEADWATER_CONFIG", str(tmp_path / "supabase" / "config.toml"))
    assert template_folders() == [tmp_path, tmp_path / "supabase"]

    monkeypatch.delenv("HEADWATER_CONFIG")
    assert template_folders() == [Path.cwd()]
