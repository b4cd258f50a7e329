"""What the file says, and on which line; the fragment to commit."""

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from workers.management.areas.settings.config_file import config_file, key_lines, read_config_file
from workers.management.areas.settings.toml_fragment import toml_fragment

TEXT = '''# a comment
project_id = "mine"

[auth]
site_url = "https://example.com"  # here
email.enable_confirmations = true

[ "auth" . external.github ]
enabled = true
client_id = "env(GITHUB_ID)"
secret = "env(GITHUB_SECRET)"

[auth.email.template.invite]
content = """
subject = "not a key"
[not.a.table]
"""
subject = "Hello"

[local_smtp]
port = 1234
'''


def test_the_line_of_each_key() -> None:
    assert key_lines(TEXT) == {
        "project_id": 2,
        "auth.site_url": 5,
        "auth.email.enable_confirmations": 6,
        "auth.external.github.enabled": 9,
        "auth.external.github.client_id": 10,
        "auth.external.github.secret": 11,
        "auth.email.template.invite.content": 14,
        "auth.email.template.invite.subject": 18,
        "inbucket.port": 21,
    }


def test_a_file_is_read_without_the_settings_of_the_environment() -> None:
    environment = {
        "GITHUB_ID": "id",
        "GITHUB_SECRET": "s",
        "HEADWATER_AUTH_SITE_URL": "https://other.example",
    }

    file = config_file("config.toml", TEXT.encode(), environment)

    assert file.settings.auth.site_url == "https://example.com"
    assert file.settings.auth.external.github.client_id == "id"
    assert "auth.external.github.client_id" in file.keys
    assert "api.max_rows" not in file.keys


def test_a_file_that_is_gone_or_broken_is_reported(tmp_path: Path) -> None:
    assert read_config_file({"HEADWATER_CONFIG": f"{tmp_path}/none.toml"}).fault.startswith(
        "it cannot be read"
    )
    (path := tmp_path / "config.toml").write_text("[auth]\nsite_url = 1")
    assert "auth.site_url must be a text" in read_config_file({"HEADWATER_CONFIG": str(path)}).fault
    assert read_config_file({}).keys == frozenset()


JSON = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["auth.site_url", "auth.sms.test_otp", "api.max_rows"]), JSON))
def test_the_fragment_is_toml_that_says_the_same(values: dict[str, object]) -> None:
    parsed = tomllib.loads(toml_fragment(values, frozenset()))

    for key, value in values.items():
        node: object = parsed
        for part in key.split("."):
            assert isinstance(node, dict)
            node = node[part]
        assert node == value


def test_secrets_are_not_in_the_fragment() -> None:
    text = toml_fragment({"auth.email.smtp.pass": "hunter2"}, frozenset({"auth.email.smtp.pass"}))

    assert "hunter2" not in text
    assert "HEADWATER_AUTH_EMAIL_SMTP_PASS" in text
