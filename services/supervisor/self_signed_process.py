"""Create the gateway's self-signed certificate: `python -P -m services.supervisor.self_signed_process CERTIFICATE KEY HOST...`.

Leaves files alone that are valid for another 30 days, belong together and name the same hosts. The key is ECDSA P-256. The certificate is no
authority (RFC 5280, 4.2.1.9), so its key cannot sign for other hosts where it is trusted.
"""

import datetime
import ipaddress
import sys
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from services.supervisor.data_folder.folder import write_private

_VALID = datetime.timedelta(days=365)
_RENEWED_BEFORE = datetime.timedelta(days=30)
_CLOCKS_DIFFER = datetime.timedelta(hours=1)
_PEM = serialization.Encoding.PEM


def ensure_certificate(
    certificate: Path, key: Path, hosts: Sequence[str], now: datetime.datetime | None = None
) -> bool:
    """Create both files unless they can be used as they are; return whether they were created. Raises: OSError."""
    now = now or datetime.datetime.now(datetime.UTC)
    if _is_usable(certificate, key, hosts, now):
        return False
    private = ec.generate_private_key(ec.SECP256R1())
    plain = serialization.NoEncryption()
    write_private(key, private.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, plain))
    write_private(certificate, signed(private, hosts, now).public_bytes(_PEM))
    return True


def signed(key: ec.EllipticCurvePrivateKey, hosts: Sequence[str], now: datetime.datetime) -> x509.Certificate:
    """Return a certificate of a key for these hosts, signed by the key itself."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Headwater, self-signed")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
        .sign(key, hashes.SHA256())
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode())


def _is_usable(certificate: Path, key: Path, hosts: Sequence[str], now: datetime.datetime) -> bool:
    try:
        present = x509.load_pem_x509_certificate(certificate.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        names = present.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, x509.ExtensionNotFound):
        return False
    return (
        private.public_key() == present.public_key()
        and present.not_valid_before_utc <= now  # else the clock was set back since
        and now + _RENEWED_BEFORE < present.not_valid_after_utc
        and list(names) == [_general_name(host) for host in hosts]
    )


if __name__ == "__main__":
    ensure_certificate(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
