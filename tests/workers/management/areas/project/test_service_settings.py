"""Settings under their official names: complete, without secrets, and compared by what they mean."""

import json

import pytest

from schemas.keys.secret import Secret
from schemas.settings.reading import load_settings
from workers.management.areas.project.service_settings import READERS, auth_settings, differing, secret_names

_CONFIG = b"""
[auth]
site_url = "https://app.example.org"
additional_redirect_urls = ["https://a.example.org", "https://b.example.org"]
enable_signup = false
minimum_password_length = 9
[auth.email]
enable_confirmations = true
[auth.email.template.invite]
subject = "Come in"
content = "<p>{{ .Token }}</p>"
[auth.sessions]
timebox = "24h"
[auth.rate_limit]
email_sent = 7
[auth.external.github]
enabled = true
client_id = "client"
secret = "a secret of github"
[auth.sms.test_otp]
4152127777 = "123456"
[auth.sms.twilio]
enabled = true
account_sid = "sid"
auth_token = "a token of twilio"
message_service_sid = "service"
"""


def test_settings_have_their_official_names_and_units() -> None:
    values = auth_settings(load_settings(_CONFIG, {})[0])

    assert values["site_url"] == "https://app.example.org"
    assert values["uri_allow_list"] == "https://a.example.org,https://b.example.org"
    assert values["disable_signup"] is True
    assert values["mailer_autoconfirm"] is False
    assert values["password_min_length"] == 9
    assert values["sessions_timebox"] == 24
    assert values["rate_limit_email_sent"] == 7
    assert (values["external_github_enabled"], values["external_github_client_id"]) == (True, "client")
    assert values["sms_provider"] == "twilio"
    assert values["mailer_subjects_invite"] == "Come in"
    assert values["mailer_templates_invite_content"] == "<p>{{ .Token }}</p>"
    assert values["mailer_templates_password_changed_notification_content"] == ""
    assert values["refresh_token_rotation_enabled"] is True


def test_no_secret_is_among_them() -> None:
    settings = load_settings(_CONFIG, {})[0]

    text = json.dumps([reader(settings) for reader in READERS.values()])

    assert "a secret of github" not in text
    assert "a token of twilio" not in text
    assert settings.auth.jwt_secret.reveal() not in text
    assert secret_names(settings)["external_github_secret"] == "a secret of github"
    assert "123456" not in text
    assert secret_names(settings)["sms_test_otp"] == "4152127777=123456"
    assert str(Secret("x")) not in text


@pytest.mark.parametrize(
    ("current", "requested", "names"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": ""}, {"a": None}, []),
        ({}, {"a": ""}, []),
        ({"a": False}, {"a": None}, ["a"]),
        ({"a": 0}, {"a": None}, ["a"]),
        ({"a": "x,y"}, {"a": "y,x"}, []),
        ({"a": "x,y"}, {"a": "x"}, ["a"]),
        ({"db_schema": "x,y"}, {"db_schema": "y,x"}, ["db_schema"]),
        ({"db_extra_search_path": "x,y"}, {"db_extra_search_path": "y,x"}, ["db_extra_search_path"]),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 3}}}, ["a.b.c"]),
        ({"a": {"b": 1}}, {"a": 1}, ["a"]),
        ({"a": 1}, {"z": 1}, ["z"]),
    ],
)
def test_only_what_means_something_else_differs(
    current: dict[str, object], requested: dict[str, object], names: list[str]
) -> None:
    assert differing(current, requested) == names
