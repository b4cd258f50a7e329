"""Values as text."""

import pytest

from workers.auth.delivery.gotext.functions import text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (False, "false"),
        (0, "0"),
        (10**20, "100000000000000000000"),
        (1e21, "1e+21"),
        (0.1, "0.1"),
        (float("inf"), "inf"),
        ([], "[]"),
        ({"b": [1, None], "a": "x"}, "map[a:x b:[1 ]]"),
        (object(), ""),
    ],
)
def test_value_is_written_as_the_language_does(value: object, text: str) -> None:
    assert text_of(value) == text


def test_deep_values_are_cut() -> None:
    value: object = "x"
    for _ in range(5000):
        value = [value]

    assert text_of(value).startswith("[[")
