import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.settings.dotenv import parse_dotenv


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1", {"A": "1"}),
        ("A=1\nB=2\n", {"A": "1", "B": "2"}),
        ("export A=1", {"A": "1"}),
        ("  A = 1  ", {"A": "1"}),
        ("A=", {"A": ""}),
        ("A=\nB=2", {"A": "", "B": "2"}),
        ("# note\n\nA=1 # note", {"A": "1"}),
        ("A=a#b", {"A": "a#b"}),
        ("A=#b", {"A": ""}),
        ("A='$x # \\n'", {"A": "$x # \\n"}),
        ('A="a\\n\\"b\\" \\\\ \\$c" # note', {"A": 'a\n"b" \\ $c'}),
        ('A="one\ntwo"\nB=2', {"A": "one\ntwo", "B": "2"}),
        ("A=postgresql://u:p@h/d?x=y", {"A": "postgresql://u:p@h/d?x=y"}),
        ("\ufeffA=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("A=1\nA=2", {"A": "2"}),
    ],
)
def test_assignments_are_read(text, values):
    assert parse_dotenv(text) == (values, [])


def test_a_line_that_is_none_is_told_with_its_number_and_skipped():
    values, warnings = parse_dotenv('A=1\nwhat is this\nB="open\n', "x/.env")

    assert values == {"A": "1"}
    assert warnings == [
        "x/.env line 2 is not NAME=value and is ignored",
        "x/.env line 3 is not NAME=value and is ignored",
    ]


@given(st.text())
def test_any_text_is_read_without_failing(text):
    values, _ = parse_dotenv(text)

    assert all(isinstance(value, str) for value in values.values())
