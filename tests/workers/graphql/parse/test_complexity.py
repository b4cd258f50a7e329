import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.graphql.parse.complexity import bracket_depth


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0),
        ("{ a }", 1),
        ("{ a(x: [{}]) }", 4),
        ('{ a(x: "{{{") }', 2),
        ("{ # {{{\n }", 1),
        ('{ a(x: """{{ " {{""") }', 2),
        ('{ a(x: """\\\\""" """, b: [[[[1]]]], c: """x""") }', 6),
        ('{ a(x: "\\"{{{', 2),
        ('{ a(x: """\\"""{{{', 2),
    ],
)
def test_only_brackets_outside_of_texts_count(text: str, depth: int) -> None:
    assert bracket_depth(text) == depth


@given(st.text(alphabet='{}[]()"\\#\n a', max_size=200))
def test_any_text_has_a_depth(text: str) -> None:
    assert 0 <= bracket_depth(text) <= len(text)
