"""What is Apple's own: the name that comes once, and by the browser."""

import json

import pytest

from workers.auth.federation.providers.apple import names_of, read_apple


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ('{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"x"}', ("Ada", "Lovelace")),
        ('{"name":{"firstName":"Ada"}}', ("Ada", "")),
        ('{"name":null}', ("", "")),
        ('{"name":"Ada"}', ("", "")),
        ("[]", ("", "")),
        ("no json", ("", "")),
        ("", ("", "")),
        ("[" * 5000, ("", "")),
        ('{"name":{"firstName":{"$":1}}}', ("", "")),
    ],
)
def test_names_are_read_where_there_are_any(form: str, names: tuple[str, str]):
    assert names_of(form) == names


def test_nothing_but_the_name_is_believed_of_the_browser():
    forged = json.dumps({"name": {"firstName": "Ada"}, "email": "victim@example.com", "sub": "victim"})

    person = read_apple({"sub": "1", "email": "ada@example.com", "email_verified": True}, forged)

    assert (person.subject, [each.address for each in person.emails]) == ("1", ["ada@example.com"])
    assert person.claims["name"] == "Ada"


@pytest.mark.parametrize(
    ("told", "is_verified"), [("true", True), (True, True), ("false", False), (False, False)]
)
def test_an_address_is_as_verified_as_apple_says(told: object, is_verified: bool):
    person = read_apple({"sub": "1", "email": "ada@example.com", "email_verified": told})

    assert [each.is_verified for each in person.emails] == [is_verified]
