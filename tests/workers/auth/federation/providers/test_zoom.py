"""What is Zoom's own: only who signs in with a password may not have confirmed the address."""

import pytest

from workers.auth.federation.providers.zoom import read_zoom


@pytest.mark.parametrize(
    ("told", "is_verified"),
    [
        ({"login_type": 100, "verified": 0}, False),
        ({"login_type": 100}, False),
        ({"login_type": 100, "verified": 1}, True),
        ({"login_type": 1, "verified": 0}, True),
        ({}, True),
    ],
)
def test_an_address_is_verified_unless_a_password_says_otherwise(told: dict[str, object], is_verified: bool):
    person = read_zoom({"id": "1", "email": "a@b.org", **told}, "i")

    assert [each.is_verified for each in person.emails] == [is_verified]
