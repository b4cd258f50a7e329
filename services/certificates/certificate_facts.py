"""Read a certificate in PEM: its names, its dates and its issuer."""

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from services.certificates.schedule import CertificateFacts


def read_facts(chain: bytes) -> CertificateFacts | None:
    """Return the facts of the first certificate of a chain; None if it cannot be read."""
    try:
        certificate = x509.load_pem_x509_certificate(chain)
    except ValueError:
        return None
    return CertificateFacts(
        _names(certificate),
        certificate.not_valid_before_utc.timestamp(),
        certificate.not_valid_after_utc.timestamp(),
        _issuer(certificate),
        certificate.fingerprint(SHA256()).hex(),
    )


def _issuer(certificate: x509.Certificate) -> str:
    """Return organization and common name of the issuer, as far as it has them."""
    kinds = (x509.NameOID.ORGANIZATION_NAME, x509.NameOID.COMMON_NAME)
    parts = [str(part.value) for kind in kinds for part in certificate.issuer.get_attributes_for_oid(kind)]
    return ", ".join(dict.fromkeys(parts))


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return frozenset()
    return frozenset(name.lower() for name in names.get_values_for_type(x509.DNSName))
