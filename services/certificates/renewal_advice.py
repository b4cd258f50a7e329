"""Asks the authority when a certificate should be renewed (ACME Renewal Information, RFC 9773).

The answer is a window, from which one moment is chosen at random, so that the clients of an authority do not all come at once. The
authority also says when to ask again; it brings the window forward for a certificate that it has to revoke.
"""

import random
import time
from email.utils import parsedate_to_datetime

import requests
from acme import errors, messages
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from schemas.numbers import clamp_whole_number
from services.certificates.authority import (
    AuthorityNetwork,
    certificate_identifier,
    connect,
    renewal_address,
    words_of,
)
from services.certificates.model import AdviceRequest, RenewalAdvice

_USUAL_S = 6 * 3600.0
"""Seconds until the next question where the authority names none, or cannot be asked. Source: RFC 9773, 4.3.3."""
_LEAST_S, _MOST_S = 60.0, 86400.0
"""Limits of what it names. Source: RFC 9773, 4.3.2."""


def ask_for_advice(request: AdviceRequest) -> RenewalAdvice:
    """Return the authority's advice; without `renew_at` if it gives none, with `fault` if it cannot be asked."""
    try:
        certificate = x509.load_pem_x509_certificate(request.chain.encode())
    except ValueError as error:
        return RenewalAdvice(fault=str(error), ask_again_at=time.time() + _USUAL_S, asked_at=time.time())
    about = certificate.fingerprint(SHA256()).hex()
    try:
        renew_at, wait = _ask(request)
    except (
        messages.Error,
        errors.Error,
        requests.RequestException,
        ValueError,
        AttributeError,  # the library's objects lack members that the answer lacks
    ) as error:
        return RenewalAdvice(about, None, time.time() + _USUAL_S, time.time(), words_of(error))
    return RenewalAdvice(about, renew_at, time.time() + wait, time.time())


def _ask(request: AdviceRequest) -> tuple[float | None, float]:
    """Return the chosen moment and the seconds until the next question."""
    network = AuthorityNetwork(None, request.ca_file)
    authority = connect(request.directory, network)
    address, identifier = renewal_address(authority), certificate_identifier(request.chain)
    if not (address and identifier):
        return None, _USUAL_S
    response = network.get(f"{address}/{identifier}", content_type="application/json")
    window = messages.RenewalInfo.from_json(response.json()).suggested_window
    starts, ends = window.start.timestamp(), window.end.timestamp()
    if ends <= starts:
        raise ValueError("the window that the authority names ends before it begins")
    return random.uniform(starts, ends), _wait_s(response)


def _wait_s(response: requests.Response) -> float:
    """Return the seconds of `Retry-After`, which is a number or a date. Source: RFC 9110, 10.2.3."""
    text = response.headers.get("Retry-After", "").strip()
    try:
        seconds = clamp_whole_number(text, most=round(_MOST_S))
        wait = _until(text) if seconds is None else seconds
    except ValueError:
        return _USUAL_S
    return min(max(wait, _LEAST_S), _MOST_S)


def _until(date: str) -> float:
    """Return the seconds until a date. Raises: ValueError."""
    return parsedate_to_datetime(date).timestamp() - time.time()
