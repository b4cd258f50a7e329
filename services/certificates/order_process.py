"""One task at an authority: `python -P -m services.certificates.order_process`, an `OrderRequest` or an `AdviceRequest` on standard input.

It runs in a process of its own: the library (`acme` of certbot, with `requests`) blocks, and takes 25 MB that an edge needs once in two
months. It tries the kinds of challenges one after the other, each with a new order, because an authorization that failed cannot be used
again (RFC 8555, 7.1.6). A wildcard is proved by DNS-01 always, the only kind that authorities offer for it. Keys are ECDSA P-256.
"""

import datetime
import hashlib
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import msgspec
import requests
from acme import client, errors, messages
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from josepy.b64 import b64encode
from josepy.json_util import JSONObjectWithFields
from josepy.jwk import JWKEC

from schemas.settings.certificates import DNS, TLS_ALPN
from services.certificates.authority import (
    AuthorityNetwork,
    ValidationFailed,
    certificate_identifier,
    connect,
    demanded_wait_s,
    renewal_address,
    words_of,
)
from services.certificates.dns_records import DnsFailed, presented
from services.certificates.model import (
    AdviceRequest,
    AuthorityTask,
    ChallengeAnswer,
    ChallengesReady,
    OrderDone,
    OrderFailed,
    OrderMessage,
    OrderRequest,
)
from services.certificates.renewal_advice import ask_for_advice

_ACME_IDENTIFIER = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")
"""id-pe-acmeIdentifier. Source: RFC 8737, 6.1."""
_DER_OCTETS = b"\x04\x20"
"""Head of an OCTET STRING of 32 bytes."""
_CHALLENGE_DAYS = 7


class _EmptyResponse(JSONObjectWithFields):
    """The body of a request for validation: `{}`. Source: RFC 8555, 7.5.1."""

    def __bool__(self) -> bool:
        return True  # the library sends what is false as an empty body, which only reads the challenge


class AcmeOrder:
    """An account at an authority and what is ordered with it."""

    def __init__(self, request: OrderRequest) -> None:
        self.request = request
        self.key = _loaded(request.account_key) or ec.generate_private_key(ec.SECP256R1())
        self.account_url = ""
        self._jwk = JWKEC(key=self.key)
        self._network = AuthorityNetwork(self._jwk, request.ca_file)

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
            reason, wait = words_of(error), demanded_wait_s(error)
            return OrderFailed(reason, wait, _pem(self.key) if self.account_url else "", self.account_url)

    def _register(self) -> client.ClientV2:
        """Return a client with an account: the existing one of the key, or a new one."""
        request = self.request
        network = self._network
        authority = connect(request.directory, network)
        if request.replaces and renewal_address(authority):
            network.replaces = certificate_identifier(request.replaces)
        options: dict[str, Any] = {"terms_of_service_agreed": True}
        if request.contact:
            options["email"] = request.contact
        if request.eab_key_id:
            options["external_account_binding"] = messages.ExternalAccountBinding.from_data(
                self._jwk.public_key(), request.eab_key_id, request.eab_hmac_key, authority.directory
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
        order = self._new_order(authority, _signing_request(key, self.request.domains))
        pending = [item for item in order.authorizations if item.body.status != messages.STATUS_VALID]
        chosen = [_challenge_of(item, DNS if item.body.wildcard else kind) for item in pending]
        answers = [self._answer(item, body) for item, body in zip(pending, chosen, strict=True)]
        if served := [answer for answer in answers if answer.kind != DNS]:
            _send(ChallengesReady(served))
            sys.stdin.readline()
        try:
            with presented(self.request.dns, [answer for answer in answers if answer.kind == DNS]):
                done = self._finish(authority, order, chosen)
        except DnsFailed as failed:
            raise ValidationFailed(str(failed)) from None
        except errors.ValidationError as error:
            raise ValidationFailed("; ".join(_validation_words(error))) from None
        return OrderDone(done.fullchain_pem, _pem(key), _pem(self.key), self.account_url)

    def _new_order(self, authority: client.ClientV2, signing_request: bytes) -> messages.OrderResource:
        """Order. An authority that does not accept which certificate is replaced gets the order without it (RFC 9773, 5)."""
        try:
            return authority.new_order(signing_request)
        except messages.Error:
            if not self._network.replaces:
                raise
            self._network.replaces = ""
            return authority.new_order(signing_request)

    def _finish(
        self,
        authority: client.ClientV2,
        order: messages.OrderResource,
        chosen: Sequence[messages.ChallengeBody],
    ) -> messages.OrderResource:
        """Have the challenges verified, and return the order with its certificate."""
        for body in chosen:
            # not `answer_challenge`: it demands the link `up`, which not every authority sends (RFC 8555, 7.5.1)
            authority.net.post(body.uri, _EmptyResponse(), new_nonce_url=authority.directory["newNonce"])
        deadline = datetime.datetime.now() + datetime.timedelta(seconds=self.request.limit_s)
        return authority.poll_and_finalize(order, deadline)

    def _answer(
        self, authorization: messages.AuthorizationResource, body: messages.ChallengeBody
    ) -> ChallengeAnswer:
        domain, kind = authorization.body.identifier.value, str(body.to_partial_json()["type"])
        token = str(body.to_partial_json()["token"])
        thumbprint = b64encode(self._jwk.thumbprint(hash_function=hashes.SHA256)).decode()
        proof = f"{token}.{thumbprint}"
        if kind != TLS_ALPN:
            return ChallengeAnswer(domain, kind, token, proof)
        return ChallengeAnswer(domain, kind, token, proof, *challenge_certificate(domain, proof))


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


def _validation_words(error: errors.ValidationError) -> list[str]:
    """Return what the authority says about each domain."""
    return [
        f"{item.body.identifier.value} by {body.to_partial_json()['type']}: {body.error.detail or body.error.typ}"
        for item in error.failed_authzrs
        for body in item.body.challenges
        if body.error is not None
    ]


def _send(message: OrderMessage) -> None:
    sys.stdout.write(msgspec.json.encode(message).decode() + "\n")
    sys.stdout.flush()


def _leave(number: int, frame: FrameType | None) -> None:
    """End by an exception, so that records in DNS are removed."""
    del number, frame
    raise SystemExit(1)


def main() -> None:
    """Carry out the task of standard input."""
    signal.signal(signal.SIGTERM, _leave)
    match msgspec.json.decode(sys.stdin.readline(), type=AuthorityTask):
        case OrderRequest() as request:
            _send(AcmeOrder(request).run())
        case AdviceRequest() as request:
            _send(ask_for_advice(request))


if __name__ == "__main__":
    main()
