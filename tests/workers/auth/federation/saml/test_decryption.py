"""Encrypted assertions: read with our keys, and one answer for all that cannot be."""

import base64
from typing import Any

import pytest
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from tests.workers.auth.federation.saml.idp import NS, Element, Idp, encrypted, rsa_pair
from tests.workers.auth.federation.saml.taking import ALL_SIGNS, KEY, NEXT, refused, says, take


@pytest.mark.parametrize("cipher", ["aes128-cbc", "aes256-cbc", "aes128-gcm", "aes256-gcm"])
@pytest.mark.parametrize("oaep", ["sha1", "sha256"])
@pytest.mark.parametrize("key", [KEY, NEXT])
@ALL_SIGNS
def test_an_encrypted_assertion_is_read_with_either_key(
    cipher: str, oaep: str, key: Any, signs: tuple[str, ...]
):
    idp = Idp(signs=signs)

    found = take(idp, idp.encrypted(says(idp), key.public_key(), cipher=cipher, oaep=oaep))

    assert found.name_id == "u-1"


def test_encrypted_assertions_are_refused_unless_they_are_allowed():
    idp = Idp()

    assert "not taken" in refused(idp, idp.encrypted(says(idp), KEY.public_key()), takes_encrypted=False)


ONE_ANSWER = "its encrypted assertion cannot be read"


@pytest.mark.parametrize("signs", [(), ("assertion",)])
@pytest.mark.parametrize("cipher", ["aes128-cbc", "aes256-gcm"])
def test_whatever_is_wrong_with_an_encrypted_assertion_reads_the_same(signs: tuple[str, ...], cipher: str):
    idp, foreign = Idp(signs=signs), Idp(key=rsa_pair("foreign"))
    foreign.entity_id = idp.entity_id
    wrong = [
        idp.encrypted(says(idp), rsa_pair("foreign").public_key(), cipher=cipher),
        idp.encrypted(says(idp), KEY.public_key(), cipher=cipher, scheme="pkcs1"),
        foreign.encrypted(says(idp), KEY.public_key(), cipher=cipher),
    ]
    for place in (0, 16, 20, -1, -17):
        root = idp.encrypted(says(idp), KEY.public_key(), cipher=cipher)
        wrong.append(_flipped(root, place))

    assert {refused(idp, each) for each in wrong} == {ONE_ANSWER}


def test_an_encrypted_assertion_holds_one_assertion():
    idp = Idp(signs=("response",))
    said = says(idp)
    two = said.assertion().replace(
        "</saml:Assertion>", f"<saml:Advice>{says(idp).assertion()}</saml:Advice></saml:Assertion>"
    )
    for content in (two, "<a/>", said.response("")):
        root = idp.sealed(etree.fromstring(said.response(encrypted(content.encode(), KEY.public_key()))))
        assert refused(idp, root) == ONE_ANSWER


def test_an_encrypted_assertion_beside_a_plain_one_is_refused():
    idp = Idp()
    root = idp.tree(says(idp))
    root.append(idp.encrypted(says(idp), KEY.public_key()).find("saml:EncryptedAssertion", NS))

    assert "one assertion" in refused(idp, root)


def _flipped(root: Element, place: int) -> Element:
    """Change a bit of what is encrypted."""
    value = root.findall(".//xenc:CipherValue", NS)[-1]
    data = bytearray(base64.b64decode(value.text))
    data[place] ^= 1
    value.text = base64.b64encode(bytes(data)).decode()
    return root
