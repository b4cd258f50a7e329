"""Rules that look at the settings of auth. Pure."""

from typing import Any

from schemas.settings.tree import Settings
from workers.management.areas.advisors.model import AdvisorFinding, AdvisorLevel, FindingCategory

_LONGEST_OTP_S = 3600
_SHORTEST_OTP = 6


def configuration_findings(settings: Settings) -> list[AdvisorFinding]:
    """Return what the settings of auth lack, with the values for `settings.change`."""
    auth = settings.auth
    findings = []
    if not auth.password.hibp.enabled:
        findings.append(_finding(
            "auth_leaked_password_protection", "Leaked passwords are accepted",
            "Passwords that were found in breaches are tried first by attackers. The check sends the first five characters of a hash.",
            "Passwords are not compared with those of known breaches", {"auth.password.hibp.enabled": True},
        ))  # fmt: skip
    if not (
        auth.mfa.totp.verify_enabled or auth.mfa.phone.verify_enabled or auth.mfa.web_authn.verify_enabled
    ):
        findings.append(_finding(
            "auth_insufficient_mfa_options", "No second factor",
            "Users cannot protect their accounts by anything but the password.",
            "No kind of second factor is enabled",
            {"auth.mfa.totp.enroll_enabled": True, "auth.mfa.totp.verify_enabled": True},
        ))  # fmt: skip
    if auth.email.otp_expiry > _LONGEST_OTP_S:
        findings.append(_finding(
            "auth_otp_long_expiry", "Codes by email are valid for long",
            "The longer a code is valid, the more guesses and stolen mailboxes it meets.",
            f"Codes are valid for {auth.email.otp_expiry} seconds", {"auth.email.otp_expiry": _LONGEST_OTP_S},
        ))  # fmt: skip
    if auth.email.otp_length < _SHORTEST_OTP:
        findings.append(_finding(
            "auth_otp_short_length", "Codes by email are short",
            "Short codes can be guessed.",
            f"Codes have {auth.email.otp_length} digits", {"auth.email.otp_length": _SHORTEST_OTP},
        ))  # fmt: skip
    return findings


def _finding(
    name: str, title: str, explanation: str, detail: str, settings: dict[str, Any]
) -> AdvisorFinding:
    return AdvisorFinding(
        name,
        title,
        AdvisorLevel.WARN,
        FindingCategory.SECURITY,
        explanation,
        detail,
        "setting",
        name,
        settings=settings,
    )
