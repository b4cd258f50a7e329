import shlex

import pytest

from schemas.settings.tree import Auth
from services.cli.output import Terminal, env_lines
from services.supervisor.api_keys import keys_of

KEYS = keys_of(Auth())


@pytest.mark.parametrize(
    "value", ["plain", "with space", "a$b`c", 'quo"te', "it's", "it's $5", "two\nlines", ""]
)
def test_a_shell_reads_back_every_value(value):
    assert shlex.split(env_lines({"A": value})) == [f"A={value}"]


def test_simple_values_look_as_the_official_tool_writes_them():
    assert env_lines({"API_URL": "http://127.0.0.1:54321"}) == 'API_URL="http://127.0.0.1:54321"'


def test_published_keys_are_shown_and_own_ones_hidden(capsys):
    values = {"API_URL": "http://x", "SECRET_KEY": KEYS.secret_key, "JWT_SECRET": KEYS.jwt_secret}
    values["S3_PROTOCOL_ACCESS_KEY_SECRET"] = "pair"
    Terminal(detached=True).ready(values, 1.0)
    shown = capsys.readouterr().out
    Terminal(detached=True).ready({**values, "JWT_SECRET": "mine"}, 1.0)
    hidden = capsys.readouterr().out

    assert KEYS.secret_key in shown
    assert KEYS.secret_key not in hidden
    assert "mine" not in hidden
    assert ("pair" in shown, "pair" in hidden) == (True, False)
    assert "http://x" in hidden
