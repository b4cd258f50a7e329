"""Every kind of second factor that can be enrolled, one line each: `factor_type` -> its record.

To add a kind, write a module with a `KIND` (`second_factor.Kind`: settings, codes, and the functions enroll, challenge
and verify; `totp_factor.py` is the shortest example) and add its line. Nothing else asks for a factor's type: the
endpoints write the rows, check levels, limits and expiry, count wrong answers and raise the session. Recovery codes are
no line here: they have endpoints of their own (`endpoints/recovery_codes.py`).
Source: reference page "auth", section 9.
"""

from collections.abc import Mapping

from workers.auth.factors import phone_factor, totp_factor, webauthn_factor
from workers.auth.factors.second_factor import Kind

KINDS: Mapping[str, Kind] = {
    "totp": totp_factor.KIND,
    "phone": phone_factor.KIND,
    "webauthn": webauthn_factor.KIND,
}
