"""WebAuthn without its rows: options for browsers, and their answers judged. Pure but for the random source.

Theory. The server draws a challenge and sends options; the browser asks an authenticator, which answers with what it
signed: the **client data** (challenge, origin of the page) and the **authenticator data** (hash of the party's id,
flags, counter; when a credential is made, its id and public key too). A registration (*create*) is believed for what it
says, for we ask for no attestation and look at none; an assertion (*request*) is verified with the key that was kept.

    options   challenge, party, user       -> JSON, bytes as base64url
    answers   JSON, the challenge sent     -> NewCredential or Assertion, else Unverified

The library's door is this module. Source: reference page "auth", 9.2, 9.3 and 10; WebAuthn Level 3, 5.4, 5.5, 7.1, 7.2.
"""

import secrets
from uuid import UUID

from cryptography.exceptions import UnsupportedAlgorithm
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
    encode_cbor,
    options_to_json_dict,
    parse_cbor,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AttestationConveyancePreference,
    AuthenticatorSelectionCriteria,
    AuthenticatorTransport,
    CredentialDeviceType,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from workers.auth.accounts.users.shown import Shown
from workers.auth.factors.plain_cbor import cbor_of_authenticator_data, refuse_unless_plain
from workers.auth.factors.relying_party import RelyingParty, refuse_foreign_page
from workers.auth.factors.webauthn_credentials import Assertion, Kept, Known, NewCredential, Unverified
from workers.auth.model.rows import User

_CHALLENGE_BYTES = 32
_MOST_TEXT = 64 * 1024
_MOST_NAME = 64
_MOST_ID_BYTES, _MOST_KEY_BYTES = 1023, 2048
_ALGORITHMS = [
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
]
_TRANSPORTS = frozenset(each.value for each in AuthenticatorTransport)
_MALFORMED = (
    WebAuthnException, UnsupportedAlgorithm, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip
"""What the library raises: it takes the members of hostile CBOR and JSON for what they should be."""


def new_challenge() -> bytes:
    """Draw a challenge."""
    return secrets.token_bytes(_CHALLENGE_BYTES)


def user_handle(id: UUID) -> bytes:
    """Give what an authenticator keeps of whose a credential is."""
    return str(id).encode()


def creation_options(
    party: RelyingParty, user: User, challenge: bytes, known: list[Known], lasts_s: float, *, is_passkey: bool
) -> Shown:
    """Give the options to make a credential: a passkey, which its authenticator finds without a name, or a factor."""
    name = user.email or user.phone or str(user.id)
    options = generate_registration_options(
        rp_id=party.id,
        rp_name=party.name,
        user_id=user_handle(user.id),
        user_name=name,
        user_display_name=_full_name(user) or name,
        challenge=challenge,
        timeout=int(lasts_s * 1000),
        attestation=AttestationConveyancePreference.NONE,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED
            if is_passkey
            else ResidentKeyRequirement.DISCOURAGED,
            require_resident_key=is_passkey,
            user_verification=UserVerificationRequirement.PREFERRED,
        ),
        exclude_credentials=[_descriptor(each) for each in known],
        supported_pub_key_algs=_ALGORITHMS,
    )
    return options_to_json_dict(options)


def request_options(party: RelyingParty, challenge: bytes, allowed: list[Known], lasts_s: float) -> Shown:
    """Give the options to use a credential; without allowed ones, the user chooses a passkey."""
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=int(lasts_s * 1000),
        allow_credentials=[_descriptor(each) for each in allowed],
        user_verification=UserVerificationRequirement.PREFERRED,
    )
    return options_to_json_dict(options)


def verify_creation(party: RelyingParty, challenge: bytes, credential: Shown) -> NewCredential:
    """Judge a browser's answer to creation options. Raises: Unverified."""
    try:
        response = _checked(party, credential)
        attestation = _without_attestation(_bytes(response, "attestationObject"))
        found = verify_registration_response(
            credential=credential
            | {"response": {**response, "attestationObject": bytes_to_base64url(attestation)}},
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            supported_pub_key_algs=_ALGORITHMS,
        )
        decoded_public_key_to_cryptography(decode_credential_public_key(found.credential_public_key))
        is_eligible = found.credential_device_type is CredentialDeviceType.MULTI_DEVICE
        aaguid = UUID(found.aaguid)
    except _MALFORMED as error:
        raise _unverified(error) from None
    if len(found.credential_id) > _MOST_ID_BYTES or len(found.credential_public_key) > _MOST_KEY_BYTES:
        raise Unverified("the credential is too long")
    if bytes_to_base64url(found.credential_id) != credential["id"]:
        raise Unverified("the credential's id is not the one its authenticator signed")
    return NewCredential(
        found.credential_id,
        found.credential_public_key,
        found.sign_count,
        aaguid,
        _transports(response),
        is_eligible,
        found.credential_backed_up,
        found.user_verified,
    )


def verify_request(party: RelyingParty, challenge: bytes, credential: Shown, kept: Kept) -> Assertion:
    """Judge a browser's answer to request options, by what was kept of the credential. Raises: Unverified."""
    try:
        response = _checked(party, credential)
        refuse_unless_plain(cbor_of_authenticator_data(_bytes(response, "authenticatorData")))
        found = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            credential_public_key=kept.public_key,
            credential_current_sign_count=kept.sign_count,
        )
    except _MALFORMED as error:
        raise _unverified(error) from None
    is_eligible = found.credential_device_type is CredentialDeviceType.MULTI_DEVICE
    if is_eligible is not kept.is_backup_eligible:
        raise Unverified("the credential says something else of backups than when it was made")
    return Assertion(found.new_sign_count, found.credential_backed_up, found.user_verified)


def credential_id(credential: Shown) -> bytes:
    """Give the id of the credential that an answer is from. Raises: Unverified."""
    try:
        return _bytes(credential, "id")
    except _MALFORMED as error:
        raise _unverified(error) from None


def told_user_handle(credential: Shown) -> bytes:
    """Give the user handle of an answer to request options; empty without one. Raises: Unverified."""
    response = credential.get("response")
    if not isinstance(response, dict) or response.get("userHandle") is None:
        return b""
    try:
        return _bytes(response, "userHandle")
    except _MALFORMED as error:
        raise _unverified(error) from None


def _checked(party: RelyingParty, credential: Shown) -> Shown:
    """Give the response in an answer whose sizes and client data are in order, in words that help to mend it."""
    response = credential.get("response")
    if not isinstance(response, dict):
        raise ValueError("the response is missing")
    told: Shown = dict(response)
    if any(
        isinstance(each, str) and len(each) > _MOST_TEXT for each in (*credential.values(), *told.values())
    ):
        raise ValueError("the response is too long")
    refuse_foreign_page(party, _bytes(told, "clientDataJSON"))
    return told


def _without_attestation(given: bytes) -> bytes:
    """Give an attestation object without its statement, which nobody asked for: no certificate is read."""
    refuse_unless_plain(given)
    data = parse_cbor(given)["authData"]
    refuse_unless_plain(cbor_of_authenticator_data(data))
    return encode_cbor({"fmt": "none", "authData": data, "attStmt": {}})


def _bytes(members: Shown, name: str) -> bytes:
    text = members.get(name)
    if not isinstance(text, str):
        raise ValueError(f"{name} is missing")
    return base64url_to_bytes(text)


def _transports(response: Shown) -> tuple[str, ...]:
    given = response.get("transports")
    listed = given if isinstance(given, list) else []
    return tuple(dict.fromkeys(each for each in listed if isinstance(each, str) and each in _TRANSPORTS))


def _descriptor(known: Known) -> PublicKeyCredentialDescriptor:
    transports = [AuthenticatorTransport(each) for each in known.transports if each in _TRANSPORTS]
    return PublicKeyCredentialDescriptor(id=known.id, transports=transports or None)


def _full_name(user: User) -> str:
    metadata = user.raw_user_meta_data or {}
    for name in ("full_name", "name"):
        value = metadata.get(name)
        if isinstance(value, str) and value:
            return value[:_MOST_NAME]
    return ""


def _unverified(error: BaseException) -> Unverified:
    told = str(error) if isinstance(error, WebAuthnException) else ""
    return Unverified("the response is malformed" if not told or "__cause__" in told else told[:200])
