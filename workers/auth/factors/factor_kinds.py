"""Every kind of second factor that can be enrolled, one line each: `factor_type` -> its record.

To add a kind, write a module with a `KIND` (`second_factor.FactorKind`: settings, codes, and the functions enroll, challenge
and verify; `totp_factor.py` is the shortest example) and add its line. No other code depends on a factor's type: the endpoints
write the rows, check levels, limits and expiry, count wrong answers and raise the session. Recovery codes have endpoints of
their own (`endpoints/recovery_codes.py`). Source: docs/reference/auth.md, section 9.
"""

from collections.abc import Mapping

from workers.auth.factors import phone_factor, totp_factor, webauthn_factor
from workers.auth.factors.second_factor import FactorKind

KINDS: Mapping[str, FactorKind] = {
    "totp": totp_factor.KIND,
    "phone": phone_factor.KIND,
    "webauthn": webauthn_factor.KIND,
}
