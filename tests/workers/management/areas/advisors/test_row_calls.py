"""Calls in policies that run once a row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.management.areas.advisors.row_calls import wrap_row_calls


@pytest.mark.parametrize(
    ("expression", "wrapped"),
    [
        ("(owner = auth.uid())", "(owner = (select auth.uid()))"),
        ("(owner = ( SELECT auth.uid() AS uid))", None),
        ("((( SELECT (auth.jwt() -> 'a'::text)) ->> 'b'::text) = 'c'::text)", None),
        ("(a = current_setting('x.y'::text, true))", "(a = (select current_setting('x.y'::text, true)))"),
        ("(a = current_setting('it''s'::text))", "(a = (select current_setting('it''s'::text)))"),
        (
            "(EXISTS ( SELECT 1 FROM m WHERE (m.u = auth.uid())))",
            "(EXISTS ( SELECT 1 FROM m WHERE (m.u = (select auth.uid()))))",
        ),
        ("(a = 'auth.uid()'::text)", None),
        ("(my_auth.uid() = owner)", None),
        ("(a = ')'::text AND b = auth.role())", "(a = ')'::text AND b = (select auth.role()))"),
        ("(a = current_setting(setting_name))", None),
    ],
)
def test_calls_outside_of_subqueries_are_wrapped(expression: str, wrapped: str | None) -> None:
    assert wrap_row_calls(expression) == (expression if wrapped is None else wrapped)
    assert wrap_row_calls(wrap_row_calls(expression)) == wrap_row_calls(expression)


@given(st.text(alphabet="()'\" autheidselcrom.=", max_size=60))
def test_any_text_is_returned(expression: str) -> None:
    assert isinstance(wrap_row_calls(expression), str)
