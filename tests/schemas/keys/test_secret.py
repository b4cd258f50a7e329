import copy
import logging
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.keys.secret import Secret


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, "%s".__mod__, lambda one: f"{one}"])
def test_a_secret_shows_three_stars_however_it_is_formatted(show: object) -> None:
    assert callable(show)
    assert show(Secret("a password")) == "***"


def test_a_secret_in_other_values_and_log_lines_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret("a password")

    with caplog.at_level(logging.INFO):
        logging.getLogger("test").info("connected with %s as %r", secret, {"key": [secret]})

    assert caplog.messages == ["connected with *** as {'key': [***]}"]


def test_only_reveal_gives_the_text() -> None:
    secret = Secret("a password")

    assert secret.reveal() == "a password"
    assert not hasattr(secret, "__dict__")
    with pytest.raises(TypeError):
        msgspec.json.encode(secret)
    with pytest.raises(TypeError):
        msgspec.msgpack.encode(secret)


def test_a_copy_is_a_secret_too() -> None:
    secret = Secret("a password")

    for other in (copy.copy(secret), copy.deepcopy(secret), pickle.loads(pickle.dumps(secret))):
        assert other == secret
        assert repr(other) == "***"


@pytest.mark.parametrize(("text", "is_true"), [("", False), (" ", True), ("0", True)])
def test_a_secret_is_true_when_it_has_a_text(text: str, is_true: bool) -> None:
    assert bool(Secret(text)) is is_true


def test_a_secret_is_no_text() -> None:
    assert Secret("x") != "x"
    assert Secret("x") is not None


@given(st.text(), st.text(st.characters()))
def test_a_secret_matches_its_own_text_and_no_other(text: str, other: str) -> None:
    secret = Secret(text)

    assert secret.matches(text)
    assert secret.matches(other) is (text == other)
    assert (secret == Secret(other)) is (text == other)
    assert hash(secret) == hash(Secret(text))


def test_bytes_of_a_header_that_are_no_text_match_nothing() -> None:
    assert not Secret("ÿ").matches(b"\xff".decode("utf-8", "surrogateescape"))
