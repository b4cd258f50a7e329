"""One order at an authority: `python -P -m services.certificates.order_process`, an `OrderRequest` on standard input.

It runs in a process of its own: the library (`acme` of certbot, with `requests`) blocks, and takes 25 MB that an edge needs once in two
months. It tries the kinds of challenges one after the other, each with a new order, because an authorization that failed cannot be used
again (RFC 8555, 7.1.6). Keys are ECDSA P-256.
"""

import datetime
import hashlib
import re
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import requests
from acme import client, errors, messages
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from josepy.b64 import b64encode
from josepy.json_util import JSONObjectWithFields
from josepy.jwa import ES256
from josepy.jwk import JWKEC

from schemas.settings.certificates import TLS_ALPN
from services.certificates.model import (
    ChallengeAnswer,
    ChallengesReady,
    OrderDone,
    OrderFailed,
    OrderMessage,
    OrderRequest,
)

_NETWORK_S = 30
_ACME_IDENTIFIER = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")
"""id-pe-acmeIdentifier. Source: RFC 8737, 6.1."""
_RATE_LIMITED_S = 3600.0
_NONCE_TRIES = 5
_UNTIL = re.compile(r"retry after (\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)")
_DER_OCTETS = b"\x04\x20"
"""Head of an OCTET STRING of 32 bytes."""
_CHALLENGE_DAYS = 7


class ValidationFailed(Exception):
    """The authority could not verify every domain: the reasons."""


class _EmptyResponse(JSONObjectWithFields):
    """The body of a request for validation: `{}`. Source: RFC 8555, 7.5.1."""

    def __bool__(self) -> bool:
        return True  # the library sends what is false as an empty body, which only reads the challenge


class _Network(client.ClientNetwork):
    """Repeats a request whose nonce was rejected; the library does so once, and an authority may reject nonces as it likes (RFC 8555, 6.5)."""

    def post(self, *args: Any, **kwargs: Any) -> requests.Response:
        for _ in range(_NONCE_TRIES):
            try:
                return super().post(*args, **kwargs)
            except messages.Error as error:
                if error.code != "badNonce":
                    raise
        return super().post(*args, **kwargs)


class AcmeOrder:
    """An account at an authority and what is ordered with it."""

    def __init__(self, request: OrderRequest) -> None:
        self.request = request
        self.key = _loaded(request.account_key) or ec.generate_private_key(ec.SECP256R1())
        self.account_url = ""
        self._jwk = JWKEC(key=self.key)

    def run(self) -> OrderMessage:
        """Return the certificate, or why there is none."""
        try:
            authority = self._register()
            return self._order_by_any_kind(authority)
        except (
            messages.Error,
            ValidationFailed,
            errors.Error,
            requests.RequestException,
            ValueError,
        ) as error:
            reason, wait = _words(error), _wait(error)
            return OrderFailed(reason, wait, _pem(self.key) if self.account_url else "", self.account_url)

    def _register(self) -> client.ClientV2:
        """Return a client with an account: the existing one of the key, or a new one."""
        request = self.request
        network = _Network(
            self._jwk, alg=ES256, user_agent="headwater", timeout=_NETWORK_S,
            verify_ssl=request.ca_file or True,  # type: ignore[arg-type]  # handed to `requests`, which takes a file too
        )  # fmt: skip
        directory = client.ClientV2.get_directory(request.directory, network)
        authority = client.ClientV2(directory, network)
        options: dict[str, Any] = {"terms_of_service_agreed": True}
        if request.contact:
            options["email"] = request.contact
        if request.eab_key_id:
            options["external_account_binding"] = messages.ExternalAccountBinding.from_data(
                self._jwk.public_key(), request.eab_key_id, request.eab_hmac_key, directory
            )
        try:
            account = authority.new_account(messages.NewRegistration.from_data(**options))
        except errors.ConflictError as conflict:
            account = messages.RegistrationResource(body=messages.Registration(), uri=conflict.location)
            network.account = account
        self.account_url = account.uri
        return authority

    def _order_by_any_kind(self, authority: client.ClientV2) -> OrderMessage:
        reasons = []
        for kind in self.request.kinds:
            try:
                return self._order(authority, kind)
            except ValidationFailed as failed:
                reasons.append(str(failed))
        raise ValidationFailed("; ".join(reasons))

    def _order(self, authority: client.ClientV2, kind: str) -> OrderDone:
        """Order by one kind of challenge. Raises: ValidationFailed."""
        key = ec.generate_private_key(ec.SECP256R1())
        order = authority.new_order(_signing_request(key, self.request.domains))
        pending = [item for item in order.authorizations if item.body.status != messages.STATUS_VALID]
        chosen = [(item.body.identifier.value, _challenge_of(item, kind)) for item in pending]
        if chosen:
            _send(ChallengesReady([self._answer(domain, body, kind) for domain, body in chosen]))
            sys.stdin.readline()
        for _, body in chosen:
            # not `answer_challenge`: it demands the link `up`, which not every authority sends (RFC 8555, 7.5.1)
            authority.net.post(body.uri, _EmptyResponse(), new_nonce_url=authority.directory["newNonce"])
        deadline = datetime.datetime.now() + datetime.timedelta(seconds=self.request.limit_s)
        try:
            done = authority.poll_and_finalize(order, deadline)
        except errors.ValidationError as error:
            raise ValidationFailed("; ".join(_validation_words(error, kind))) from None
        return OrderDone(done.fullchain_pem, _pem(key), _pem(self.key), self.account_url)

    def _answer(self, domain: str, body: messages.ChallengeBody, kind: str) -> ChallengeAnswer:
        token = str(body.to_partial_json()["token"])
        thumbprint = b64encode(self._jwk.thumbprint(hash_function=hashes.SHA256)).decode()
        authorization = f"{token}.{thumbprint}"
        if kind != TLS_ALPN:
            return ChallengeAnswer(domain, kind, token, authorization)
        return ChallengeAnswer(
            domain, kind, token, authorization, *challenge_certificate(domain, authorization)
        )


def challenge_certificate(domain: str, key_authorization: str) -> tuple[str, str]:
    """Return the self-signed certificate of a TLS-ALPN-01 challenge and its key, in PEM. Source: RFC 8737, 3."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ACME challenge")])
    now = datetime.datetime.now(datetime.UTC)
    digest = hashlib.sha256(key_authorization.encode()).digest()
    proof = x509.UnrecognizedExtension(_ACME_IDENTIFIER, _DER_OCTETS + digest)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=_CHALLENGE_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(domain)]), critical=False)
        .add_extension(proof, critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), _pem(key)


def _challenge_of(authorization: messages.AuthorizationResource, kind: str) -> messages.ChallengeBody:
    for body in authorization.body.challenges:
        if body.to_partial_json().get("type") == kind:
            return body
    raise ValidationFailed(f"{authorization.body.identifier.value}: the authority does not offer {kind}")


def _signing_request(key: ec.EllipticCurvePrivateKey, domains: Sequence[str]) -> bytes:
    names = x509.SubjectAlternativeName([x509.DNSName(domain) for domain in domains])
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    request = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def _loaded(pem: str) -> ec.EllipticCurvePrivateKey | None:
    key = serialization.load_pem_private_key(pem.encode(), None) if pem else None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, pkcs8, plain).decode()


def _validation_words(error: errors.ValidationError, kind: str) -> list[str]:
    """Return what the authority says about each domain."""
    return [
        f"{item.body.identifier.value} by {kind}: {body.error.detail or body.error.typ}"
        for item in error.failed_authzrs
        for body in item.body.challenges
        if body.error is not None
    ]


def _words(error: Exception) -> str:
    match error:
        case messages.Error():
            problems = "; ".join(problem.detail or problem.typ for problem in error.subproblems or ())
            return f"the authority rejects it: {error.detail or error.typ}" + (
                f" ({problems})" if problems else ""
            )
        case ValidationFailed():
            return f"the authority could not verify {error}"
        case errors.TimeoutError():
            return "the authority did not finish in time"
        case requests.exceptions.SSLError():
            return "the authority's own certificate is not trusted; certificates.directory_ca names the one that signs it"
        case requests.RequestException():
            return f"the authority cannot be reached: {type(error).__name__}"
    return f"{type(error).__name__}: {error}"


def _wait(error: Exception) -> float:
    """Return the seconds that a rate limit of the authority demands; 0 for other errors."""
    if not (isinstance(error, messages.Error) and error.typ.endswith(":rateLimited")):
        return 0.0
    if (match := _UNTIL.search(error.detail or "")) is None:
        return _RATE_LIMITED_S
    until = datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.UTC)
    return max((until - datetime.datetime.now(datetime.UTC)).total_seconds(), _RATE_LIMITED_S)


def _send(message: OrderMessage) -> None:
    sys.stdout.write(msgspec.json.encode(message).decode() + "\n")
    sys.stdout.flush()


def main() -> None:
    """Carry out the order of standard input."""
    request = msgspec.json.decode(sys.stdin.readline(), type=OrderRequest)
    _send(AcmeOrder(request).run())


if __name__ == "__main__":
    main()
