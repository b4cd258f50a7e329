"""An assertion -> who the user is."""

from datetime import UTC, datetime

import msgspec
import pytest

from tests.workers.auth.federation.saml.idp import EMAIL_FORM, PERSISTENT, TRANSIENT
from workers.auth.federation.saml.assertion import SamlAssertion, SamlAttribute
from workers.auth.federation.saml.attributes import AttributeMapping, email, mapped_claims, profile, user_id
from workers.auth.model.errors import AuthError

UNSPECIFIED = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"
SUBJECT_ID = "urn:oasis:names:tc:SAML:attribute:subject-id"
EMAILS = (
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "http://schemas.xmlsoap.org/claims/EmailAddress",
    "mail",
    "Mail",
    "email",
)


def assertion(name_id: str = "u1", form: str = PERSISTENT, **attributes: tuple[str, ...]) -> SamlAssertion:
    made = tuple(SamlAttribute(name, "", values) for name, values in attributes.items())
    return SamlAssertion("a1", name_id, form, made, datetime(2026, 8, 1, tzinfo=UTC))


def mapping(**keys: object) -> AttributeMapping:
    return msgspec.convert({"keys": keys}, AttributeMapping)


@pytest.mark.parametrize(
    ("name_id", "form", "attributes", "id"),
    [
        ("U1", PERSISTENT, {}, "U1"),
        ("U1", UNSPECIFIED, {}, "U1"),
        ("U1@Corp.Example", EMAIL_FORM, {}, "u1@corp.example"),
        ("U1", PERSISTENT, {SUBJECT_ID: ("id-of-u1@corp.example",)}, "id-of-u1@corp.example"),
        ("once", TRANSIENT, {SUBJECT_ID: ("id-of-u1",)}, "id-of-u1"),
        ("", PERSISTENT, {SUBJECT_ID: ("id-of-u1",)}, "id-of-u1"),
    ],
)
def test_a_user_is_named_for_good(name_id: str, form: str, attributes: dict[str, tuple[str, ...]], id: str):
    assert user_id(assertion(name_id, form, **attributes)) == id


@pytest.mark.parametrize(
    ("name_id", "form"), [("once", TRANSIENT), ("", PERSISTENT), ("", EMAIL_FORM), ("x" * 513, PERSISTENT)]
)
def test_a_user_without_a_lasting_name_is_refused(name_id: str, form: str):
    with pytest.raises(AuthError) as refused:
        user_id(assertion(name_id, form))

    assert (refused.value.status, refused.value.code) == (400, "saml_assertion_no_user_id")


@pytest.mark.parametrize("name", EMAILS)
def test_an_address_is_found_among_the_usual_attributes(name: str):
    assert email(assertion("u1", PERSISTENT, **{name: ("a@b.c", "d@e.f")}), {}) == "a@b.c"


def test_the_first_of_the_usual_attributes_counts():
    both = assertion(email=("second@b.c",), mail=("first@b.c",))

    assert email(both, {}) == "first@b.c"


def test_a_mapped_address_comes_first_and_the_name_last():
    told = assertion("name@b.c", EMAIL_FORM, mail=("mail@b.c",))

    assert email(told, {"email": "mapped@b.c"}) == "mapped@b.c"
    assert email(told, {"email": ["no", "text"]}) == "mail@b.c"
    assert email(assertion("name@b.c", EMAIL_FORM), {}) == "name@b.c"


@pytest.mark.parametrize("form", [PERSISTENT, TRANSIENT, UNSPECIFIED])
def test_a_name_of_another_form_is_no_address(form: str):
    with pytest.raises(AuthError) as refused:
        email(assertion("name@b.c", form), {})

    assert (refused.value.status, refused.value.code) == (400, "saml_assertion_no_email")


def test_a_mapping_makes_claims_of_attributes():
    told = assertion(one=("1",), two=("2", "3"), three=())
    wanted = mapping(
        a={"name": "one"},
        b={"names": ["missing", "two"]},
        c={"name": "two", "array": True},
        d={"name": "one", "names": ["two"], "array": True},
        e={"name": "missing", "default": {"x": 1}},
        f={"name": "three", "default": False},
        g={"name": "missing"},
        h={"default": "always"},
        i={"name": "one", "default": "never"},
    )

    assert mapped_claims(told, wanted) == {
        "a": "1", "b": "2", "c": ["2", "3"], "d": ["1", "2", "3"], "e": {"x": 1}, "f": False, "h": "always", "i": "1",
    }  # fmt: skip


def test_an_attribute_is_known_by_its_friendly_name_too():
    friendly = SamlAssertion(
        "a1", "u", PERSISTENT, (SamlAttribute("urn:oid:2.5.4.42", "givenName", ("Ada",)),), datetime.now(UTC)
    )

    assert mapped_claims(friendly, mapping(given_name={"name": "givenName"})) == {"given_name": "Ada"}


def test_an_attribute_without_a_name_is_not_the_one_that_is_not_named():
    nameless = SamlAssertion("a1", "u", PERSISTENT, (SamlAttribute("", "", ("x",)),), datetime.now(UTC))

    assert mapped_claims(nameless, mapping(a={"names": ["b"]})) == {}


def test_what_is_not_a_standard_claim_is_a_custom_one():
    claims = {"name": "Ada", "locale": "de", "groups": ["a"], "role": "boss"}

    assert profile(claims, issuer="https://i") == {
        "name": "Ada", "locale": "de", "custom_claims": {"groups": ["a"], "role": "boss"}, "iss": "https://i",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["sub", "iss", "email_verified", "phone_verified", "custom_claims", "provider_id"]
)
def test_what_is_known_from_elsewhere_is_not_mapped(name: str):
    assert profile({name: "forged"}, issuer="https://i") == {"iss": "https://i"}
