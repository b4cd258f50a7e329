"""What is Kakao's own: an address counts if it is in use and was confirmed."""

import pytest

from workers.auth.federation.providers.kakao import read_kakao, read_kakao_token


@pytest.mark.parametrize("is_valid", [True, False])
@pytest.mark.parametrize("is_verified", [True, False])
def test_an_address_counts_if_it_is_in_use_and_confirmed(is_valid: bool, is_verified: bool):
    told = {"email": "a@b.org", "is_email_valid": is_valid, "is_email_verified": is_verified}

    person = read_kakao({"id": 1, "kakao_account": told}, "i")

    assert [each.is_verified for each in person.emails] == [is_valid and is_verified]


def test_an_id_token_is_read():
    person = read_kakao_token(
        {"iss": "i", "sub": "1", "nickname": "Ada", "picture": "https://p", "email": "a@b.org"}
    )

    assert (person.subject, person.claims["name"], person.claims["iss"]) == ("1", "Ada", "i")
    assert [each.is_verified for each in person.emails] == [True]
