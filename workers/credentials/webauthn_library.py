"""WebAuthn by its library: options for browsers, and verification of their responses. Pure. `webauthn_rules.py` loads it when it is needed.

Sources: docs/reference/auth.md, sections 9.2, 9.3 and 10; WebAuthn Level 3, sections 5.4, 5.5, 7.1 and 7.2.
"""

from uuid import UUID

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
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

from workers.credentials.plain_cbor import cbor_of_authenticator_data, require_plain
from workers.credentials.relying_party import RelyingParty, reject_foreign_page
from workers.credentials.webauthn_credentials import (
    CredentialOwner,
    JsonObject,
    KnownCredential,
    NewCredential,
    StoredCredential,
    Unverified,
    WebauthnAssertion,
)

_MAX_TEXT = 64 * 1024
_LEAST_RSA_BITS = 2048
_MAX_ID_BYTES, _MAX_KEY_BYTES = 1023, 2048
_ALGORITHMS = [
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
]
_TRANSPORTS = frozenset(transport.value for transport in AuthenticatorTransport)
_MALFORMED = (
    WebAuthnException, UnsupportedAlgorithm, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip
"""What the library raises: it does not check the types of members in hostile CBOR and JSON."""


def creation_options(
    party: RelyingParty,
    owner: CredentialOwner,
    challenge: bytes,
    existing: list[KnownCredential],
    lifetime_s: float,
    *,
    is_passkey: bool,
    needs_verification: bool = False,
) -> JsonObject:
    """Return the options to create a credential: a passkey, which the authenticator finds without a user name, or a factor.

    `needs_verification`: only authenticators that ask for a PIN or a finger are offered. Check the result's `is_user_verified`.
    """
    options = generate_registration_options(
        rp_id=party.id,
        rp_name=party.name,
        user_id=owner.handle,
        user_name=owner.name,
        user_display_name=owner.display_name,
        challenge=challenge,
        timeout=int(lifetime_s * 1000),
        attestation=AttestationConveyancePreference.NONE,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED
            if is_passkey
            else ResidentKeyRequirement.DISCOURAGED,
            require_resident_key=is_passkey,
            user_verification=_verification(needs=needs_verification),
        ),
        exclude_credentials=[_descriptor(credential) for credential in existing],
        supported_pub_key_algs=_ALGORITHMS,
    )
    return options_to_json_dict(options)


def request_options(
    party: RelyingParty,
    challenge: bytes,
    allowed: list[KnownCredential],
    lifetime_s: float,
    *,
    needs_verification: bool = False,
) -> JsonObject:
    """Return the options to use a credential; without allowed ones, the user chooses a passkey.

    `needs_verification`: as in `creation_options`.
    """
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=int(lifetime_s * 1000),
        allow_credentials=[_descriptor(credential) for credential in allowed],
        user_verification=_verification(needs=needs_verification),
    )
    return options_to_json_dict(options)


def verify_creation(party: RelyingParty, challenge: bytes, credential: JsonObject) -> NewCredential:
    """Verify a browser's response to creation options. Raises: Unverified."""
    try:
        response = _checked(party, credential)
        attestation = _without_attestation(_bytes(response, "attestationObject"))
        verified = verify_registration_response(
            credential=credential
            | {"response": {**response, "attestationObject": bytes_to_base64url(attestation)}},
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            supported_pub_key_algs=_ALGORITHMS,
        )
        _reject_weak(
            decoded_public_key_to_cryptography(decode_credential_public_key(verified.credential_public_key))
        )
        is_eligible = verified.credential_device_type is CredentialDeviceType.MULTI_DEVICE
        aaguid = UUID(verified.aaguid)
    except _MALFORMED as error:
        raise _unverified(error) from None
    if len(verified.credential_id) > _MAX_ID_BYTES or len(verified.credential_public_key) > _MAX_KEY_BYTES:
        raise Unverified("the credential is too long")
    if bytes_to_base64url(verified.credential_id) != credential["id"]:
        raise Unverified("the credential's id is not the one its authenticator signed")
    return NewCredential(
        verified.credential_id,
        verified.credential_public_key,
        verified.sign_count,
        aaguid,
        _transports(response),
        is_eligible,
        verified.credential_backed_up,
        verified.user_verified,
    )


def verify_request(
    party: RelyingParty, challenge: bytes, credential: JsonObject, stored: StoredCredential
) -> WebauthnAssertion:
    """Verify a browser's response to request options with the stored credential. Raises: Unverified."""
    try:
        response = _checked(party, credential)
        require_plain(cbor_of_authenticator_data(_bytes(response, "authenticatorData")))
        verified = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            credential_public_key=stored.public_key,
            credential_current_sign_count=stored.sign_count,
        )
    except _MALFORMED as error:
        raise _unverified(error) from None
    is_eligible = verified.credential_device_type is CredentialDeviceType.MULTI_DEVICE
    if is_eligible is not stored.is_backup_eligible:
        raise Unverified("the credential says something else of backups than when it was made")
    return WebauthnAssertion(verified.new_sign_count, verified.credential_backed_up, verified.user_verified)


def credential_id(credential: JsonObject) -> bytes:
    """Return the id of the credential that a response is from. Raises: Unverified."""
    try:
        return _bytes(credential, "id")
    except _MALFORMED as error:
        raise _unverified(error) from None


def response_user_handle(credential: JsonObject) -> bytes:
    """Return the user handle of a response to request options; empty if absent. Raises: Unverified."""
    response = credential.get("response")
    if not isinstance(response, dict) or response.get("userHandle") is None:
        return b""
    try:
        return _bytes(response, "userHandle")
    except _MALFORMED as error:
        raise _unverified(error) from None


def _checked(party: RelyingParty, credential: JsonObject) -> JsonObject:
    """Return the response whose sizes and client data are valid; errors name the cause for the developer."""
    response = credential.get("response")
    if not isinstance(response, dict):
        raise ValueError("the response is missing")
    members: JsonObject = dict(response)
    if any(
        isinstance(value, str) and len(value) > _MAX_TEXT
        for value in (*credential.values(), *members.values())
    ):
        raise ValueError("the response is too long")
    reject_foreign_page(party, _bytes(members, "clientDataJSON"))
    return members


def _reject_weak(key: object) -> None:
    """Raise for an RSA key that can be factored: an authenticator that makes such keys protects nothing. Raises: ValueError."""
    if isinstance(key, RSAPublicKey) and key.key_size < _LEAST_RSA_BITS:
        raise ValueError("the key is too short")


def _without_attestation(attestation: bytes) -> bytes:
    """Return an attestation object without its statement: no attestation was requested, and no certificate is parsed."""
    require_plain(attestation)
    data = parse_cbor(attestation)["authData"]
    require_plain(cbor_of_authenticator_data(data))
    return encode_cbor({"fmt": "none", "authData": data, "attStmt": {}})


def _bytes(members: JsonObject, name: str) -> bytes:
    text = members.get(name)
    if not isinstance(text, str):
        raise ValueError(f"{name} is missing")
    return base64url_to_bytes(text)


def _transports(response: JsonObject) -> tuple[str, ...]:
    value = response.get("transports")
    listed = value if isinstance(value, list) else []
    return tuple(dict.fromkeys(name for name in listed if isinstance(name, str) and name in _TRANSPORTS))


def _descriptor(credential: KnownCredential) -> PublicKeyCredentialDescriptor:
    transports = [
        AuthenticatorTransport(transport) for transport in credential.transports if transport in _TRANSPORTS
    ]
    return PublicKeyCredentialDescriptor(id=credential.id, transports=transports or None)


def _verification(*, needs: bool) -> UserVerificationRequirement:
    return UserVerificationRequirement.REQUIRED if needs else UserVerificationRequirement.PREFERRED


def _unverified(error: BaseException) -> Unverified:
    message = str(error) if isinstance(error, WebAuthnException) else ""
    return Unverified("the response is malformed" if not message or "__cause__" in message else message[:200])
