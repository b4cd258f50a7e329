"""Mails as values: what is told to whom. `Outbox.send` sends them, or a hook of the project does. Pure.

A mail with a code is made by `letters.py`; a notice needs only `Mail(kind, (Draft(to, facts),), user)`.
Source: reference page "auth", sections 17, 18.2 and 18.3.
"""

from dataclasses import dataclass

from schemas.settings.auth import Auth
from workers.auth.accounts.codes.codes import OneTimeCode
from workers.auth.delivery.links import VERIFY_TYPES, confirmation_url
from workers.auth.delivery.templates import Facts, Kind
from workers.auth.model.rows import User


@dataclass(frozen=True, slots=True)
class Draft:
    """One letter: an address, and what it may tell."""

    to: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Mail:
    """One thing that is told by mail: one letter, or two where a change of address is confirmed from both.

    Of two, the first goes to the current address, the second to the new one. `user` and `client` (the address the
    request came from) are for hooks. `is_counted`: the quota of all mails has been looked at.
    """

    kind: Kind
    drafts: tuple[Draft, ...]
    user: User | None = None
    client: str = ""
    is_counted: bool = False

    @property
    def action_type(self) -> str:
        """Give the `email_action_type` of hooks."""
        return VERIFY_TYPES.get(self.kind, self.kind.value)

    def email_data(self, external_url: str) -> dict[str, str]:
        """Give the `email_data` of hooks. Its `site_url` is where this service is reached, for links to its `/verify`.

        With two letters `token` and `token_hash_new` belong to the current address, `token_new` and `token_hash` to
        the new one: crossed, as services expect it that were written for other servers.
        """
        first, last = self.drafts[0].facts, self.drafts[-1].facts
        has_two = len(self.drafts) > 1
        return {
            "token": first.token,
            "token_hash": last.token_hash,
            "redirect_to": last.redirect_to,
            "email_action_type": self.action_type,
            "site_url": external_url,
            "token_new": last.token if has_two else "",
            "token_hash_new": first.token_hash if has_two else "",
            "old_email": last.old_email,
            "old_phone": last.old_phone,
            "provider": last.provider,
            "factor_type": last.factor_type,
        }


def code_draft(
    own: Auth, external_url: str, kind: Kind, user: User, to: str, code: OneTimeCode, redirect_to: str
) -> Draft:
    """Draft the letter that carries a code, and its link where the kind has one."""
    facts = Facts(
        site_url=own.site_url,
        email=user.email or "",
        confirmation_url=_link(own, external_url, kind, code, redirect_to),
        token=code.code,
        token_hash=code.link,
        redirect_to=redirect_to,
        new_email=user.email_change or "" if kind is Kind.EMAIL_CHANGE else "",
        sending_to=to if kind is Kind.EMAIL_CHANGE else "",
        data=user.raw_user_meta_data or {},
    )
    return Draft(to, facts)


def notice(own: Auth, kind: Kind, user: User, to: str, **more: str) -> Mail:
    """Make a mail that tells of a change; `more` are fields of `Facts`, such as `old_email` or `provider`."""
    facts = Facts(site_url=own.site_url, email=user.email or "", data=user.raw_user_meta_data or {}, **more)
    return Mail(kind, (Draft(to, facts),), user)


def _link(own: Auth, external_url: str, kind: Kind, code: OneTimeCode, redirect_to: str) -> str:
    if kind not in VERIFY_TYPES:
        return ""
    path = getattr(own.email.template, kind.value).url_path or "/verify"
    return confirmation_url(
        external_url,
        token_hash=code.link,
        verify_type=VERIFY_TYPES[kind],
        redirect_to=redirect_to,
        path=path,
    )
