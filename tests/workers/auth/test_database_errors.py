"""What the log is told of an error of the database: names, never values."""

import pytest

from workers.auth.database_errors import change_rejected, function_of
from workers.database.errors import DatabaseError

STACK = (
    'SQL statement "insert into public.people values (new.email)"\n'
    "PL/pgSQL function public.handle_new_user() line 3 at SQL statement\n"
    "PL/pgSQL function public.outer() line 1 at PERFORM"
)


@pytest.mark.parametrize(
    ("sqlstate", "is_told"),
    [("42P01", True), ("23505", True), ("53100", True), ("22P02", False), ("P0001", False), ("PT403", False)],
)
def test_messages_are_told_where_they_hold_names_only(sqlstate: str, is_told: bool):
    seen = change_rejected(
        DatabaseError(sqlstate, "a message", hint="a hint", details="Key (email)=(x)"), "req-7"
    )

    assert (seen.request, seen.sqlstate) == ("req-7", sqlstate)
    assert (seen.reason, seen.hint) == (("a message", "a hint") if is_told else ("", ""))
    assert "Key" not in repr(seen)


@pytest.mark.parametrize(
    ("context", "function"),
    [
        (STACK, "PL/pgSQL function public.handle_new_user() line 3 at SQL statement"),
        ('SQL function "fill" statement 1', 'SQL function "fill" statement 1'),
        ("COPY people, line 1", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_function_is_the_innermost(context: str | None, function: str):
    assert function_of(context) == function


def test_a_long_signature_is_cut():
    assert len(function_of("PL/pgSQL function f(" + "integer," * 100 + ") line 1")) == 200
