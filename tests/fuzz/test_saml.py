"""SAML: a response whose signed content was altered in any way is never believed, and metadata is read or refused.

Cases are documents of an honest identity provider with elements moved, copied, wrapped, renamed or rewritten, then edited as
bytes. Whoever alters them may also encrypt, since the key for that is public. If a document is believed, then what is believed
must be, word for word, what the provider signed.

The keys are fixed files and the clock stands still, so that a case means the same in every run.
"""

import contextlib
import copy
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from random import Random

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from tests.fuzz import mutate
from tests.fuzz.core import Budget, Target, run
from tests.workers.auth.federation.saml import wrapping
from tests.workers.auth.federation.saml.idp import DS, NS, SAML, SAMLP, Element, Idp, Says, encrypted, packed
from workers.auth.federation.saml.assertion import BadResponse, ExpectedAssertion, SamlAssertion
from workers.auth.federation.saml.metadata import BadMetadata, read_metadata
from workers.auth.federation.saml.response import parse_response, verify_response
from workers.auth.federation.saml.service_provider import ServiceProvider


def _key(name: str) -> rsa.RSAPrivateKey:
    key = load_pem_private_key((Path(__file__).parent / "data" / f"{name}.pem").read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


_NOW = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
_AUDIENCE, _ACS, _REQUEST, _ISSUER = (
    "https://a.example/metadata",
    "https://a.example/acs",
    "id-1",
    "https://idp.example/metadata",
)
_US = _key("us")
_WORDS = [
    b"<saml:NameID>admin</saml:NameID>", b"<!-- -->", b"<?x y?>", b"<![CDATA[", b"]]>", b"&#97;", b' ID="a1"', b' xml:id="a1"', b"</saml:Issuer>", b"<saml:Assertion>",
    b"</saml:Assertion>", b"<ds:Signature>", b"</ds:Signature>", b"<ds:Object>", b"</ds:Object>", b"<samlp:Extensions>", b"</samlp:Extensions>", b"#a1", b"<!DOCTYPE a [",
    b"urn:oasis:names:tc:SAML:2.0:assertion", b"2030-01-01T00:00:00Z", b"admin", b'URI=""', b"http://www.w3.org/TR/1999/REC-xpath-19991116", b"\xef\xbb\xbf", b"<?xml version='1.0' encoding='utf-16'?>",
]  # fmt: skip
_TEXTS = (
    "admin",
    "",
    "2030-01-01T00:00:00Z",
    _ISSUER,
    _AUDIENCE,
    "#a1",
    "a1",
    "r1",
    "2.0",
    "é",
    "\u202e",
    "a" * 3000,
)


def _idp(*signs: str) -> Idp:
    return Idp(entity_id=_ISSUER, key=_key("idp"), signs=signs)


def _says() -> Says:
    return Says(_ISSUER, _AUDIENCE, _ACS, _REQUEST, _NOW, assertion_id="a1", response_id="r1")


_HONEST: list[Element] = [
    _idp(*signs).tree(_says()) for signs in (("assertion",), ("response",), ("assertion", "response"))
]
_IDP = read_metadata(_idp().metadata().encode())
_TREES = [etree.tostring(tree) for tree in _HONEST]
_METADATA = [
    _idp().metadata(head=' validUntil="2030-01-01T00:00:00Z" cacheDuration="PT1H"').encode(),
    f'<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">{_idp().metadata()}</md:EntitiesDescriptor>'.encode(),
]


def _take(document: bytes | str) -> SamlAssertion:
    us = ServiceProvider(_AUDIENCE, _ACS, (_US,), (), True)
    wanted = ExpectedAssertion(_ISSUER, _AUDIENCE, _ACS, _REQUEST, _NOW)
    return verify_response(parse_response(packed(document)), _IDP, us, wanted)


_TRUE = _take(_TREES[0])


def _check(case: bytes) -> None:
    try:
        found = _take(case)
    except BadResponse:
        return
    assert found == _TRUE, f"an altered document is believed: {found}"


def _check_metadata(case: bytes) -> None:
    try:
        idp = read_metadata(case)
    except BadMetadata:
        return
    assert idp.certificates
    assert all(
        url == "" or url.lower().startswith(("https://", "http://"))
        for url in (idp.redirect_url, idp.post_url)
    )


# --- Alterations of a tree --------------------------------------------------------------------------------------


def _some(random: Random, root: Element) -> Element:
    return random.choice([element for element in root.iter() if isinstance(element.tag, str)])


def _copy(random: Random, root: Element) -> Element:
    _some(random, root).insert(random.randrange(3), copy.deepcopy(_some(random, root)))
    return root


def _remove(random: Random, root: Element) -> Element:
    element = _some(random, root)
    if element.getparent() is not None:
        element.getparent().remove(element)
    return root


def _wrap(random: Random, root: Element) -> Element:
    element = _some(random, root)
    outer = etree.Element(
        random.choice(
            (
                f"{{{SAML}}}Assertion",
                f"{{{SAMLP}}}Response",
                f"{{{SAMLP}}}Extensions",
                f"{{{DS}}}Object",
                f"{{{SAML}}}Advice",
                "x",
            )
        )
    )
    if random.randrange(2):
        outer.set("ID", random.choice(("a1", "r1", "x")))
    parent = element.getparent()
    if parent is not None:
        parent.replace(element, outer)
    outer.append(element)
    return outer if parent is None else root


def _rename(random: Random, root: Element) -> Element:
    _some(random, root).tag = _some(random, root).tag
    return root


def _rewrite(random: Random, root: Element) -> Element:
    element = _some(random, root)
    names = [
        *element.attrib,
        "ID",
        "Id",
        "Version",
        "Destination",
        "{http://www.w3.org/XML/1998/namespace}id",
    ]
    if random.randrange(2):
        element.set(random.choice(names), random.choice(_TEXTS))
    else:
        element.text = random.choice(_TEXTS)
    return root


def _comment(random: Random, root: Element) -> Element:
    element = _some(random, root)
    node = random.choice((etree.Comment("x"), etree.ProcessingInstruction("x", "y")))
    node.tail = random.choice(("", "evil", element.text or ""))
    element.insert(0, node)
    return root


def _evil(random: Random, root: Element) -> Element:
    """Put an assertion that names another user in the place of the signed one, which is kept somewhere else."""
    found = root.find("saml:Assertion", NS)
    if found is None:
        return root
    made, kept = wrapping.evil(found, random.choice(("evil", "a1"))), copy.deepcopy(found)
    root.replace(found, made)
    random.choice(
        (made, root, made.find("saml:Subject", NS) if made.find("saml:Subject", NS) is not None else made)
    ).append(kept)
    return root


def _move(random: Random, root: Element) -> Element:
    """Take an element, most often a signature, out of its place and put it somewhere else."""
    signatures = root.findall(".//ds:Signature", NS)
    element = random.choice(signatures) if signatures and random.randrange(3) else _some(random, root)
    if element.getparent() is not None:
        element.getparent().remove(element)
        _some(random, root).insert(random.randrange(3), element)
    return root


def _named(random: Random, root: Element) -> Element:
    """Write another user into the assertion where it stands, and put its signature somewhere else."""
    for name in root.iter(f"{{{SAML}}}NameID"):
        name.text = wrapping.EVIL
    for signature in root.findall(".//ds:Signature", NS):
        signature.getparent().remove(signature)
        if random.randrange(4):
            _some(random, root).insert(random.randrange(3), signature)
    return root


def _wrapped(random: Random, root: Element) -> Element:
    with contextlib.suppress(
        AssertionError, AttributeError, ValueError, TypeError
    ):  # it is no signed response any more
        return random.choice((*wrapping.OF_RESPONSES, *wrapping.OF_ASSERTIONS))(copy.deepcopy(root))
    return root


def _sealed(random: Random, root: Element) -> Element:
    """Encrypt the assertion for us, whatever it is."""
    found = root.find("saml:Assertion", NS)
    if found is not None:
        sealed = encrypted(
            etree.tostring(found),
            _US.public_key(),
            cipher=random.choice(("aes256-gcm", "aes128-cbc")),
            oaep=random.choice(("sha1", "sha256")),
        )
        whole = sealed.replace("<saml:EncryptedAssertion", f'<saml:EncryptedAssertion xmlns:saml="{SAML}"', 1)
        root.replace(found, etree.fromstring(whole))
    return root


_CHANGES: tuple[Callable[[Random, Element], Element], ...] = (
    _copy,
    _copy,
    _remove,
    _wrap,
    _rename,
    _rewrite,
    _rewrite,
    _comment,
    _evil,
    _move,
    _named,
    _wrapped,
    _sealed,
)


def _generated(random: Random) -> bytes:
    root = copy.deepcopy(random.choice(_HONEST))
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3))):
        with contextlib.suppress(
            ValueError
        ):  # a text that XML cannot hold, an element that would hold itself
            root = random.choice(_CHANGES)(random, root)
    return bytes(etree.tostring(root))


def test_an_altered_response_is_never_believed(budget: Budget) -> None:
    run(
        Target("saml", _generated, _check, 1500, _WORDS, _TREES, guided_by=("workers/auth/saml",), share=7),
        budget,
    )


def test_any_metadata_is_read_or_refused(budget: Budget) -> None:
    def generated(random: Random) -> bytes:
        return mutate.edited(random, random.choice(_METADATA), _WORDS, _METADATA)

    run(
        Target(
            "saml_metadata",
            generated,
            _check_metadata,
            1500,
            _WORDS,
            _METADATA,
            guided_by=("workers/auth/saml",),
        ),
        budget,
    )
