"""Rows of second factors as values."""

from datetime import UTC, datetime
from uuid import uuid4

from workers.auth.factors.second_factor import ChallengeRow, FactorAnswer, FactorRow, NewChallenge, NewFactor

NOW = datetime.now(UTC)


def test_what_is_secret_in_a_factor_shows_in_no_text():
    values = (
        FactorRow(
            uuid4(), uuid4(), "totp", "verified", NOW, secret="SECRET", web_authn_credential={"k": "SECRET"}
        ),
        ChallengeRow(uuid4(), uuid4(), NOW, True, otp_code="SECRET", web_authn_session_data={"c": "SECRET"}),
        NewFactor({"totp": "SECRET"}, secret="SECRET"),
        NewChallenge({"a": "SECRET"}, otp_code="SECRET", web_authn_session_data=b"SECRET"),
        FactorAnswer("SECRET", {"a": "SECRET"}),
    )

    assert "SECRET" not in repr(values)
    assert "SECRET" not in "".join(str(each) for each in values)
