"""Who is judged together."""

from services.realtime.changes.claims_groups import group_of


def test_the_end_of_a_token_and_the_order_of_claims_make_no_difference() -> None:
    first = group_of("authenticated", b'{"sub":"a","exp":1,"aal":"aal1"}')
    second = group_of("authenticated", b'{"aal":"aal1", "sub":"a", "exp":2}')

    assert first == second
    assert len({first, second}) == 1


def test_everything_else_makes_another_group() -> None:
    one = group_of("authenticated", b'{"sub":"a","session_id":"1"}')

    assert one != group_of("authenticated", b'{"sub":"a","session_id":"2"}')
    assert one != group_of("other", b'{"sub":"a","session_id":"1"}')


def test_claims_that_only_postgres_can_read_are_kept_as_they_are() -> None:
    group = group_of("anon", b'{"a":"\\u0000"}')

    assert group.claims is None
    assert group.raw == b'{"a":"\\u0000"}'
