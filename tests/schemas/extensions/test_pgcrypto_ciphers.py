"""pgcrypto: encrypt and decrypt, against published vectors and an independent library."""

import random

import asyncpg
import pytest
from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.padding import PKCS7

from tests.schemas.extensions.conftest import one_row

PLAIN = "00112233445566778899aabbccddeeff"
COUNTED = bytes(range(32)).hex()

PUBLISHED = [
    # FIPS 197, appendix C
    ("aes-ecb/pad:none", COUNTED[:32], "", PLAIN, "69c4e0d86a7b0430d8cdb78070b4c55a"),
    ("aes-ecb/pad:none", COUNTED[:48], "", PLAIN, "dda97ca4864cdfe06eaf70a0ec0d7191"),
    ("aes-ecb/pad:none", COUNTED, "", PLAIN, "8ea2b7ca516745bfeafc49904b496089"),
    # SP 800-38A, F.2.1
    (
        "aes-cbc/pad:none",
        "2b7e151628aed2a6abf7158809cf4f3c",
        "000102030405060708090a0b0c0d0e0f",
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
        "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
    ),
    # Blowfish, the author's vector for the longest key
    (
        "bf-ecb/pad:none",
        "f0e1d2c3b4a5968778695a4b3c2d1e0f001122334455667704689104c2fd3b2f"
        "584023641aba61761f1f1f1f0e0e0e0effffffffffffffff",
        "",
        "fedcba9876543210",
        "c04504012e4e1f53",
    ),
]

FILLED_KEYS = [
    ("000102030405", "189a28932213f017b246678dbc28655f"),
    ("000102030405060708090a0b0c0d0e0f10111213", "3b02279162d15580e069d3a71407a556"),
    ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b", "4facb6a041d53e0a5a73289170901fe7"),
]


@pytest.mark.parametrize(("cipher", "key", "start", "plain", "secret"), PUBLISHED)
async def test_ciphers_give_the_published_values_both_ways(
    database: asyncpg.Connection, cipher: str, key: str, start: str, plain: str, secret: str
) -> None:
    arguments = [bytes.fromhex(each) for each in (plain, secret, key, start)]

    row = await one_row(
        database, "select encrypt_iv($1, $3, $4, $5), decrypt_iv($2, $3, $4, $5)", *arguments, cipher
    )

    assert [each.hex() for each in row] == [secret, plain]


@pytest.mark.parametrize(("key", "secret"), FILLED_KEYS)
async def test_a_short_aes_key_is_filled_with_zeros(
    database: asyncpg.Connection, key: str, secret: str
) -> None:
    found = await database.fetchval(r"select encrypt('\x0011223344', $1, 'aes-cbc')", bytes.fromhex(key))

    assert found.hex() == secret


@pytest.mark.parametrize(("cipher", "sizes"), [("aes", (16, 24, 32)), ("bf", (4, 5, 16, 31, 56))])
@pytest.mark.parametrize("mode", ["cbc", "ecb"])
async def test_ciphers_agree_with_an_independent_library(
    database: asyncpg.Connection, cipher: str, sizes: tuple[int, ...], mode: str
) -> None:
    source = random.Random(7)
    algorithm = AES if cipher == "aes" else Blowfish
    for size in sizes:
        for length in (0, 1, 7, 8, 9, 15, 16, 17, 100):
            key, start, data = source.randbytes(size), source.randbytes(16), source.randbytes(length)
            start = start[: algorithm.block_size // 8]
            padder = PKCS7(algorithm.block_size).padder()
            other = Cipher(algorithm(key), modes.CBC(start) if mode == "cbc" else modes.ECB()).encryptor()
            expected = other.update(padder.update(data) + padder.finalize()) + other.finalize()

            row = await one_row(
                database,
                "select encrypt_iv($1, $2, $3, $4), decrypt_iv(encrypt_iv($1, $2, $3, $4), $2, $3, $4)",
                data,
                key,
                start,
                f"{cipher}-{mode}",
            )

            assert row == (expected, data)


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("AES", "aes-cbc/pad:pkcs"),
        ("rijndael", "aes-cbc"),
        ("rijndael-ecb/pad:pkcs", "aes-ecb"),
        ("bf", "bf-cbc"),
        ("Blowfish", "bf-cbc"),
        ("blowfish-ecb", "bf-ecb"),
    ],
)
async def test_other_names_of_a_cipher_mean_the_same(
    database: asyncpg.Connection, name: str, full: str
) -> None:
    assert await database.fetchval(
        "select encrypt('some data', 'key', $1) = encrypt('some data', 'key', $2)", name, full
    )


async def test_without_a_start_value_zeros_are_taken(database: asyncpg.Connection) -> None:
    same = await database.fetchval(
        r"select encrypt('x', 'key', 'aes') = encrypt_iv('x', 'key', '\x00', 'aes')"
    )

    assert same


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("encrypt('x', 'k', 'rot13')", 'Cannot use "rot13": No such cipher algorithm'),
        ("encrypt('x', 'k', 'aes-xyz')", 'Cannot use "aes-xyz": No such cipher algorithm'),
        ("encrypt('x', 'k', 'aes/pad:zero')", 'Cannot use "aes/pad:zero": No such cipher algorithm'),
        ("encrypt('x', 'k', 'aes/mode:cbc')", 'Cannot use "aes/mode:cbc": Unknown option'),
        ("encrypt('x', 'k', 'aes/cbc')", 'Cannot use "aes/cbc": Badly formatted type'),
    ],
)
async def test_wrong_cipher_types_are_refused(database: asyncpg.Connection, call: str, message: str) -> None:
    with pytest.raises(asyncpg.InvalidParameterValueError) as refused:
        await database.fetchval(f"select {call}")

    assert refused.value.message == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("encrypt('x', 'k', 'aes/pad:none')", "encrypt error: Encryption failed"),
        ("encrypt_iv('x', 'k', 'i', 'aes/pad:none')", "encrypt_iv error: Encryption failed"),
        ("decrypt('x', 'k', 'bf')", "decrypt error: Data not a multiple of block size"),
        ("decrypt('', 'k', 'aes')", "decrypt error: Decryption failed"),
        (
            "decrypt_iv(encrypt('x', 'right', 'aes'), 'wrong', '', 'aes')",
            "decrypt_iv error: Decryption failed",
        ),
        ("encrypt('x', '', 'bf')", "Cipher cannot be initialized ?"),
    ],
)
async def test_data_that_does_not_fit_is_refused(
    database: asyncpg.Connection, call: str, message: str
) -> None:
    with pytest.raises(asyncpg.ExternalRoutineInvocationError) as refused:
        await database.fetchval(f"select {call}")

    assert refused.value.message == message


@pytest.mark.parametrize("cipher", ["3des", "des-ecb", "cast5", "aes-cfb", "blowfish-cfb"])
async def test_a_cipher_of_the_compiled_module_only_is_refused_with_advice(
    database: asyncpg.Connection, cipher: str
) -> None:
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="not supported") as refused:
        await database.fetchval("select encrypt('x', 'k', $1)", cipher)

    assert refused.value.hint is not None
    assert "compiled pgcrypto module" in refused.value.hint


async def test_a_large_value_of_a_table_is_encrypted_and_read_back(database: asyncpg.Connection) -> None:
    async with database.transaction():
        await database.execute("create temporary table letters (body bytea) on commit drop")
        await database.execute(
            "insert into letters values (convert_to(repeat('compressible ', 20000), 'UTF8'))"
        )

        same = await database.fetchval(
            "select decrypt(encrypt(body, 'key', 'aes'), 'key', 'aes') = body from letters"
        )

    assert same
