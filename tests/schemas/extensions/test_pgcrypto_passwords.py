"""pgcrypto: crypt and gen_salt, against vectors of crypt_blowfish, the SHA-crypt specification and the system's libcrypt."""

import re

import asyncpg
import pytest

from tests.schemas.extensions.conftest import one_row

LONG = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789chars after 72 are ignored"

BCRYPT = [
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    ("U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
    ("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
    ("", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"),
    (LONG, "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"),
    ("foox", "$2a$06$RQiOJ.3ELirrXwxIZY8q0OR3CVJrAfda1z26CCHPnB6mmVZD8p0/C"),
    ("pässwörd", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.VbkrrNItU.9NIb/IkEA2mwWrOjK5F3G"),
    ("pässwörd", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.VbkrrNItU.9NIb/IkEA2mwWrOjK5F3G"),
    ("pässwörd", "$2x$05$CCCCCCCCCCCCCCCCCCCCC.LX7AalDIyFoDUhbqpL//tu7B9PBXYpK"),
]

DES = [
    ("", "NBPx/38Y48kHg"),
    ("foox", "NB53EGGqrrb5E"),
    ("longer than eight", "NBNWBpjeUBtrU"),
    ("pässwörd", "./vYBXr45rAoM"),
    ("", "_J9..j2zzR/nIRDK3pPc"),
    ("foox", "_J9..j2zzAYKMvO2BYRY"),
    ("longer than eight signs", "_J9..j2zzU52.AldX9Zg"),
    ("x" * 40, "_/...abcd8KdGbrUc2lU"),
]

MD5 = [
    ("", "$1$deadbeef$/mnyJuKq4u1H3AURZkwqo0"),
    ("pässwörd with more than sixteen", "$1$deadbeef$HYN7I8/oju4jpPs34t92S."),
    ("a", "$1$$Ij31LCAysPM23KuPlm1wA/"),
]

SHA = [
    ("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
    ("", "$5$Szzz0yzz$cA.ZFZKqblRYjdsbrWtVTYa/qSwPQnt2uh0LBtyYAAD"),
    ("x" * 65, "$5$rounds=1000$ab$rBVoLgeXYVpjIGWQ4NuzLAPDePvA9tmEEeF24Sif3P1"),
    (
        "Hello world!",
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
    ),
    (
        "x" * 65,
        "$6$rounds=1000$ab$5ZSAh47ksYbACad5BLikdJ2vh6IF1RZ7Vnu/VxlLKYFyx6YargSohRWbA/JyH8rCl07RNzJkLU6gOCfJXChcS.",
    ),
]


@pytest.mark.parametrize(("password", "hash_"), BCRYPT + DES + MD5 + SHA)
async def test_crypt_gives_the_known_hash_back(
    database: asyncpg.Connection, password: str, hash_: str
) -> None:
    assert await database.fetchval("select crypt($1, $2)", password, hash_) == hash_


@pytest.mark.parametrize(
    ("salt", "password", "expected"),
    [
        (b"\xa3", "$2a$05$/OK.fbVrR/bpIqNJ5ianF.", "Sa7shbm4.OzKpvFnX1pQLmQW96oUlCq"),
        (b"\xa3", "$2x$05$/OK.fbVrR/bpIqNJ5ianF.", "CE5elHaaO4EbggVDjb8P19RukzXSM3e"),
    ],
)
async def test_bcrypt_of_a_single_high_byte_is_that_of_crypt_blowfish(
    database: asyncpg.Connection, salt: bytes, password: str, expected: str
) -> None:
    found = await database.fetchval("select pgcrypto_bcrypt($1, $2)", salt, password)

    assert found == password + expected


@pytest.mark.parametrize(
    ("password", "salt", "expected"),
    [
        # The last sign of a bcrypt salt has four bits too many; the hash begins with the salt as it counts.
        (
            "U*U",
            "$2a$05$CCCCCCCCCCCCCCCCCCCCCA",
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
        ),
        ("foo", "$1$abcdefghijk", "$1$abcdefgh$XxzGe9Muun7wTYbZO4sdr0"),
        (
            "Hello world!",
            "$5$rounds=10000$saltstringsaltstring",
            "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
        ),
        (
            "the minimum number is still observed",
            "$5$rounds=10$roundstoolow",
            "$5$rounds=1000$roundstoolow$yfvwcWrQ8l/K0DAWyuPMDNHpIVlTQebY9l/gL972bIC",
        ),
    ],
)
async def test_crypt_of_an_uncommon_salt_gives_the_known_hash(
    database: asyncpg.Connection, password: str, salt: str, expected: str
) -> None:
    assert await database.fetchval("select crypt($1, $2)", password, salt) == expected


@pytest.mark.parametrize("kind", ["bf", "md5", "des", "xdes", "sha256crypt", "sha512crypt"])
async def test_a_stored_hash_verifies_its_password_and_no_other(
    database: asyncpg.Connection, kind: str
) -> None:
    stored = await database.fetchval("select crypt('correct horse', gen_salt($1))", kind)

    row = await one_row(
        database, "select crypt('correct horse', $1) = $1, crypt('Correct horse', $1) = $1", stored
    )
    assert row == (True, False)


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("gen_salt('bf')", r"\$2a\$06\$[./A-Za-z0-9]{21}[.Oeu]"),
        ("gen_salt('BF', 0)", r"\$2a\$06\$[./A-Za-z0-9]{21}[.Oeu]"),
        ("gen_salt('bf', 4)", r"\$2a\$04\$[./A-Za-z0-9]{21}[.Oeu]"),
        ("gen_salt('bf', 31)", r"\$2a\$31\$[./A-Za-z0-9]{21}[.Oeu]"),
        ("gen_salt('md5')", r"\$1\$[./A-Za-z0-9]{8}"),
        ("gen_salt('md5', 1000)", r"\$1\$[./A-Za-z0-9]{8}"),
        ("gen_salt('des')", r"[./A-Za-z0-9]{2}"),
        ("gen_salt('des', 25)", r"[./A-Za-z0-9]{2}"),
        ("gen_salt('xdes')", r"_J9\.\.[./A-Za-z0-9]{4}"),
        ("gen_salt('xdes', 1)", r"_/\.\.\.[./A-Za-z0-9]{4}"),
        ("gen_salt('xdes', 16777215)", r"_zzzz[./A-Za-z0-9]{4}"),
        ("gen_salt('sha256crypt')", r"\$5\$rounds=5000\$[./A-Za-z0-9]{16}"),
        ("gen_salt('sha512crypt', 1000)", r"\$6\$rounds=1000\$[./A-Za-z0-9]{16}"),
    ],
)
async def test_salts_have_the_shape_of_the_original(
    database: asyncpg.Connection, call: str, shape: str
) -> None:
    first, second = await one_row(database, f"select {call} as a, {call} as b")

    assert re.fullmatch(shape, first)
    assert first != second or call.startswith("gen_salt('des'")


@pytest.mark.parametrize(
    ("kind", "rounds"),
    [
        ("bf", 3),
        ("bf", 32),
        ("bf", -1),
        ("md5", 5),
        ("des", 5),
        ("xdes", 2),
        ("xdes", 16777217),
        ("sha256crypt", 999),
        ("sha512crypt", 1_000_000_000),
    ],
)
async def test_salts_with_wrong_rounds_are_refused(
    database: asyncpg.Connection, kind: str, rounds: int
) -> None:
    with pytest.raises(asyncpg.InvalidParameterValueError, match=r"^gen_salt: Incorrect number of rounds$"):
        await database.fetchval("select gen_salt($1, $2)", kind, rounds)


async def test_a_salt_of_an_unknown_kind_is_refused(database: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.InvalidParameterValueError, match=r"^gen_salt: Unknown salt algorithm$"):
        await database.fetchval("select gen_salt('argon2')")


@pytest.mark.parametrize(
    "salt",
    [
        "", "a", "_short", "_....abcd", "$2$05$CCCCCCCCCCCCCCCCCCCCC.", "$2a$05$CCC", "$2a$03$CCCCCCCCCCCCCCCCCCCCC.",
        "$2a$32$CCCCCCCCCCCCCCCCCCCCC.", "$2a$05$CCCCCCCC-CCCCCCCCCCCC.",
    ],
)  # fmt: skip
async def test_a_wrong_salt_is_refused(database: asyncpg.Connection, salt: str) -> None:
    with pytest.raises(asyncpg.InvalidParameterValueError) as refused:
        await database.fetchval("select crypt('x', $1)", salt)

    assert refused.value.message == "invalid salt"


async def test_a_wrong_sign_in_a_sha_salt_is_named(database: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.InvalidParameterValueError, match=r'^invalid character in salt string: "ß"$'):
        await database.fetchval("select crypt('x', '$5$saß')")


async def test_sha_rounds_that_are_no_number_are_refused(database: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.PostgresSyntaxError, match=r"^could not parse salt options$"):
        await database.fetchval("select crypt('x', '$6$rounds=many$salt')")


async def test_a_hash_of_a_foreign_kind_never_verifies(database: asyncpg.Connection) -> None:
    foreign = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo"

    assert await database.fetchval("select crypt('x', $1) = $1", foreign) is False
