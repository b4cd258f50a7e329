"""What a wallet signs, read strictly. Reference, section 14; EIP-4361."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.auth.federation.wallets.wallet import NOW, text
from workers.auth.federation.wallets.message import BadMessage, WalletMessage, parse_message

ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
SOLANA = "11111111111111111111111111111111"

EXAMPLE = """example.com wants you to sign in with your Ethereum account:
0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2

I accept the ExampleOrg Terms of Service: https://example.com/tos

URI: https://example.com/login
Version: 1
Chain ID: 1
Nonce: 32891756
Issued At: 2021-09-30T16:25:24Z
Resources:
- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/
- https://example.com/my-web2-claim.json"""
"""The example of EIP-4361."""

SUPABASE_SOLANA = f"""app.example wants you to sign in with your Solana account:
{SOLANA}

Version: 1
URI: https://app.example/
Issued At: 2026-11-21T01:30:00.000Z
Not Before: 2026-11-21T01:29:00Z
Expiration Time: 2026-11-21T01:40:00Z
Chain ID: solana:mainnet
Nonce: abcdefgh12
Request ID: 7
Resources
- https://app.example/a"""
"""As the JavaScript client writes it: another order, one empty line, no colon behind `Resources`."""


def bad(message: str, chain: str = "Ethereum") -> str:
    with pytest.raises(BadMessage) as caught:
        parse_message(message, chain)
    return str(caught.value)


def test_the_example_of_the_standard_is_read() -> None:
    assert parse_message(EXAMPLE, "Ethereum") == WalletMessage(
        scheme="",
        domain="example.com",
        address="0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
        statement="I accept the ExampleOrg Terms of Service: https://example.com/tos",
        uri="https://example.com/login",
        chain_id="1",
        nonce="32891756",
        issued_at=datetime(2021, 9, 30, 16, 25, 24, tzinfo=UTC),
        expires_at=None,
        not_before=None,
    )


def test_a_message_of_the_javascript_client_is_read() -> None:
    found = parse_message(SUPABASE_SOLANA, "Solana")

    assert (found.address, found.uri, found.statement) == (SOLANA, "https://app.example/", "")
    assert (found.chain_id, found.nonce) == ("solana:mainnet", "abcdefgh12")
    assert found.expires_at == NOW + timedelta(minutes=10)
    assert found.not_before == NOW - timedelta(minutes=1)


def test_the_statement_may_be_missing() -> None:
    found = parse_message(text(ADDRESS, statement=""), "Ethereum")

    assert (found.statement, found.uri) == ("", "https://app.example/")


def test_a_statement_that_looks_like_a_field_is_a_statement() -> None:
    found = parse_message(text(ADDRESS, statement="URI: https://evil.example/"), "Ethereum")

    assert (found.statement, found.uri) == ("URI: https://evil.example/", "https://app.example/")


def test_the_scheme_may_stand_before_the_domain() -> None:
    found = parse_message(text(ADDRESS, domain="https://app.example:8443"), "Ethereum")

    assert (found.scheme, found.domain) == ("https", "app.example:8443")


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-11-21T01:30:00Z", NOW),
        ("2026-11-21t01:30:00z", NOW),
        ("2026-11-21T01:30:00.123Z", NOW + timedelta(milliseconds=123)),
        ("2026-11-21T01:30:00.123456789Z", NOW + timedelta(microseconds=123456)),
        ("2026-11-21T03:00:00+01:30", NOW),
    ],
)
def test_times_are_those_of_the_rfc(written: str, moment: datetime) -> None:
    assert parse_message(text(ADDRESS, Not_Before=written), "Ethereum").not_before == moment


@pytest.mark.parametrize(
    "written",
    ["2026-11-21", "2026-11-21T01:30:00", "2026-11-21 01:30:00Z", "2026-13-21T01:30:00Z", "1763688600",
     "2026-11-21T25:30:00Z", "2026-11-21T01:30:00.Z", "0001-01-01T00:00:00+14:00", "٢٠٢٦-11-21T01:30:00Z"],
)  # fmt: skip
def test_other_times_are_refused(written: str) -> None:
    assert "Not Before" in bad(text(ADDRESS, Not_Before=written))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("app.example wants", "app.example/ wants"),
        ("app.example wants", "evil.example#app.example wants"),
        ("app.example wants", "user@app.example wants"),
        ("app.example wants", " wants"),
        ("app.example wants", "app.example  wants"),
        ("Ethereum account:", "Ethereum account"),
        ("Ethereum account:", "Solana account:"),
        ("\n\nI accept", "\nI accept"),
        ("the terms\n", "the terms\nand more\n"),
        ("the terms\n\n", "the terms\n"),
        ("URI: https://app.example/\n", ""),
        ("URI: https://app.example/\n", "URI: \n"),
        ("URI: https", "URI:https"),
        ("URI: https", "uri: https"),
        ("URI: https", "URI:  https"),
        ("Version: 1\n", ""),
        ("Version: 1\n", "Version: 2\n"),
        ("Version: 1\n", "Version: 1\nVersion: 1\n"),
        ("Version: 1\n", "Version: 1\nURI: https://evil.example/\n"),
        ("Version: 1\n", "Version: 1\n\n"),
        ("Version: 1\n", "Version: 1\nAnother: 1\n"),
        ("Version: 1\n", "Version: 1\r\n"),
        ("Nonce: 32891756", "Nonce: 3289175"),
        ("Nonce: 32891756", "Nonce: 3289-1756"),
        ("Issued At: 2026-11-21T01:30:00.000Z", "Request ID: 1"),
        ("Issued At: 2026-11-21T01:30:00.000Z", "Issued At: 2026-11-21T01:30:00.000Z\n"),
        ("Issued At: 2026-11-21T01:30:00.000Z", "Issued At: 2026-11-21T01:30:00.000Z\nResources:\nhttps://a"),
        ("terms", "terms\x00"),
        ("terms", "terms\u202e"),
        ("terms", "terms\ud800"),
    ],
)
def test_whatever_else_is_refused(old: str, new: str) -> None:
    whole = text(ADDRESS)
    assert old in whole

    bad(whole.replace(old, new, 1))


def test_a_message_has_64_bytes_to_20_kilobytes() -> None:
    assert "64" in bad("x" * 63)
    short = text(ADDRESS, statement="")
    parse_message(text(ADDRESS, statement="x" * (20480 - len(short) - 1)), "Ethereum")
    assert "20480" in bad(text(ADDRESS, statement="x" * (20480 - len(short))))
    assert "20480" in bad(text(ADDRESS, statement="ä" * 10240))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(given: str) -> None:
    for message in (given, text(ADDRESS) + given, text(ADDRESS, statement="x" + given)):
        try:
            parse_message(message, "Ethereum")
        except BadMessage:
            continue
