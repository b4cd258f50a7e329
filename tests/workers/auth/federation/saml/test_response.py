"""The answer of an identity provider: what is believed, and every way to lie that is known."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from tests.fuzz.mutate import near, near_text
from tests.workers.auth.federation.saml import wrapping
from tests.workers.auth.federation.saml.idp import NS, SAMLP, Idp, packed, rsa_pair
from tests.workers.auth.federation.saml.taking import ALL_SIGNS, ASKED, HOUR, NOW, refused, says, take
from workers.auth.federation.saml.assertion import SKEW, BadResponse

# What is believed


@ALL_SIGNS
def test_a_signed_response_is_believed(signs: tuple[str, ...]):
    idp = Idp(signs=signs)
    said = says(idp, session_ends_at=NOW + HOUR)

    found = take(idp, idp.tree(said))

    assert (found.id, found.name_id) == (said.assertion_id, "u-1")
    assert found.attributes[0].values == ("u1@corp.example.org",)
    assert found.session_ends_at == NOW + HOUR
    assert found.expires_at == NOW + dt.timedelta(seconds=300) + SKEW


def test_nobody_needs_to_have_asked():
    idp = Idp()

    assert take(idp, idp.tree(says(idp, in_response_to=None)), asked=None).name_id == "u-1"


def test_only_an_unsigned_response_needs_no_destination():
    plain, whole = Idp(), Idp(signs=("response",))

    assert take(plain, plain.tree(says(plain, destination=""))).name_id == "u-1"
    assert "destination" in refused(whole, whole.tree(says(whole, destination="")))


@pytest.mark.parametrize("moved", [-SKEW + dt.timedelta(seconds=1), SKEW - dt.timedelta(seconds=1)])
def test_clocks_may_differ_a_little(moved: dt.timedelta):
    idp = Idp()

    assert take(idp, idp.tree(says(idp, lasts_s=1)), now=NOW + moved).name_id == "u-1"


# Signatures


def test_what_nobody_signed_is_refused():
    idp = Idp(signs=())

    assert "signed" in refused(idp, idp.tree(says(idp)))


@ALL_SIGNS
def test_a_foreign_key_is_refused(signs: tuple[str, ...]):
    idp = Idp(signs=signs)
    foreign = Idp(entity_id=idp.entity_id, key=rsa_pair("foreign"), signs=signs)

    assert "no valid key" in refused(idp, foreign.tree(says(idp)))


@pytest.mark.parametrize(("good", "bad"), [("assertion", "response"), ("response", "assertion")])
def test_every_signature_that_is_there_must_hold(good: str, bad: str):
    idp = Idp(signs=(good,))
    foreign = Idp(entity_id=idp.entity_id, key=rsa_pair("foreign"), signs=(bad,))
    said = says(idp)
    assertion = etree.fromstring(said.assertion())
    inner = (idp if good == "assertion" else foreign).signed(assertion)
    outer = etree.fromstring(said.response(etree.tostring(inner).decode()))
    whole = (idp if good == "response" else foreign).signed(outer)

    assert "no valid key" in refused(idp, whole)


def test_a_signed_response_does_not_vouch_for_an_assertion_that_was_put_in_later():
    idp = Idp(signs=("response",))
    root = idp.tree(says(idp))
    root.replace(root.find("saml:Assertion", NS), etree.fromstring(says(idp, name_id="admin").assertion()))

    assert "no valid key" in refused(idp, root)


def test_a_signed_assertion_does_not_vouch_for_another():
    idp = Idp()
    root = idp.tree(says(idp))
    root.append(etree.fromstring(says(idp, name_id="admin").assertion()))

    assert "one assertion" in refused(idp, root)


def test_a_signature_of_the_status_alone_vouches_for_nothing():
    idp = Idp(signs=())
    root = idp.tree(says(idp))
    status = root.find("samlp:Status", NS)
    status.set("ID", "s1")
    status.append(etree.Element(f"{{{SAMLP}}}StatusMessage"))
    root.replace(status, idp.signed(status))

    assert "where none belongs" in refused(idp, root)


@pytest.mark.parametrize("wrap", wrapping.OF_RESPONSES)
@pytest.mark.parametrize("signs", [("response",), ("assertion", "response")])
def test_a_wrapped_signature_of_a_response_is_refused(wrap: Any, signs: tuple[str, ...]):
    idp = Idp(signs=signs)
    attacked = wrap(idp.tree(says(idp)))

    assert wrapping.EVIL.encode() in etree.tostring(attacked)
    assert refused(idp, attacked)


@pytest.mark.parametrize("wrap", wrapping.OF_ASSERTIONS)
def test_a_wrapped_signature_of_an_assertion_is_refused(wrap: Any):
    idp = Idp()
    attacked = wrap(idp.tree(says(idp)))

    assert wrapping.EVIL.encode() in etree.tostring(attacked)
    assert refused(idp, attacked)


@pytest.mark.parametrize("wrap", wrapping.OF_ASSERTIONS)
def test_wrapping_an_assertion_breaks_the_signature_of_its_response(wrap: Any):
    idp = Idp(signs=("assertion", "response"))

    assert refused(idp, wrap(idp.tree(says(idp))))


@pytest.mark.parametrize("name", ["ID", "Id", "id", "{http://www.w3.org/XML/1998/namespace}id"])
def test_an_id_stands_once(name: str):
    idp = Idp()
    root = idp.tree(says(idp))
    root.find("samlp:Status", NS).set(name, root.find("saml:Assertion", NS).get("ID"))

    assert "twice" in refused(idp, root)


@pytest.mark.parametrize(
    "name_id", ["admin<!-- x -->.evil", "admin<?x y?>.evil", "<![CDATA[admin]]>.evil", "admin<!---->.evil"]
)
@ALL_SIGNS
def test_a_name_is_never_cut_short(name_id: str, signs: tuple[str, ...]):
    idp = Idp(signs=signs)
    said = says(idp, name_id="admin.evil")
    text = etree.tostring(idp.tree(said)).decode()

    found = take(idp, packed(text.replace(">admin.evil<", f">{name_id}<")))

    assert found.name_id == "admin.evil"


def test_an_element_in_a_name_makes_it_none():
    idp = Idp()
    said = says(idp, name_id="admin<saml:x/>.evil")

    assert take(idp, idp.tree(said)).name_id == ""


# Documents that are no good


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "well-formed"),
        ("!", "base64"),
        ("é", "base64"),
        (packed("<a/>"), "no response"),
        (packed(f'<samlp:Response xmlns:samlp="{SAMLP}" Version="1.1"/>'), "no response"),
        (packed("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>"), "DOCTYPE"),
        (packed("<a>" * 1000 + "</a>" * 1000), "well-formed"),
        (packed("<a>" + " " * 600_000 + "</a>"), "longer"),
        (packed(f'<samlp:Response xmlns:samlp="{SAMLP}" Version="2.0"/>'), "did not sign the user in"),
    ],
)
def test_what_is_no_response_is_refused(text: str, told: str):
    assert told in refused(Idp(), text)


def test_a_doctype_before_a_signed_response_is_refused():
    idp = Idp()
    text = etree.tostring(idp.tree(says(idp))).decode()

    assert "DOCTYPE" in refused(idp, packed("<!DOCTYPE samlp:Response>" + text))


def test_a_refusal_of_the_identity_provider_is_told():
    idp = Idp(signs=())
    said = says(idp, status="urn:oasis:names:tc:SAML:2.0:status:Responder")

    assert "did not sign the user in" in refused(idp, etree.fromstring(said.response("")))


def test_a_success_without_an_assertion_is_refused():
    idp = Idp(signs=("response",))

    assert "one assertion" in refused(idp, idp.sealed(etree.fromstring(says(idp).response(""))))


@pytest.mark.parametrize(("asked", "said"), [(ASKED, "id-2"), (ASKED, None), (None, ASKED)])
def test_the_response_around_a_signed_assertion_answers_the_same_request(asked: str | None, said: str | None):
    idp = Idp()
    root = idp.tree(says(idp, in_response_to=asked))
    root.attrib.pop("InResponseTo", None)
    if said is not None:
        root.set("InResponseTo", said)

    assert "request" in refused(idp, root, asked=asked)


def test_an_assertion_anywhere_else_is_refused():
    idp = Idp()
    root = idp.tree(says(idp))
    extensions = etree.SubElement(root, f"{{{SAMLP}}}Extensions")
    extensions.append(root.find("saml:Assertion", NS))

    assert "one assertion" in refused(idp, root)


# Anything at all


HONEST = Idp(signs=("assertion",))
BYTES = etree.tostring(HONEST.tree(says(HONEST)))
TRUE = take(HONEST, packed(BYTES))


XML_WORDS = [b"<!-- -->", b"<?x y?>", b"<![CDATA[x]]>", b"&#97;", b"&amp;", b"<saml:NameID>admin</saml:NameID>", b' ID="x"', b"<!DOCTYPE a>",
             b"</saml:Issuer>", b"<ds:Signature/>", b'xmlns:saml="x"', b" ", b"xml:"]  # fmt: skip


@given(near([BYTES], XML_WORDS))
@settings(max_examples=400, deadline=None)
def test_a_changed_response_is_refused_or_says_the_same(changed: bytes):
    try:
        found = take(HONEST, packed(changed))
    except BadResponse:
        return

    assert found == TRUE


@given(near_text([packed(BYTES)], ["=", "PD", " ", "\n"]))
@settings(max_examples=300, deadline=None)
def test_any_field_of_a_form_is_a_response_or_refused(text: str):
    try:
        found = take(HONEST, text)
    except BadResponse:
        return

    assert found == TRUE
