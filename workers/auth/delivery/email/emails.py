"""Emails as values: recipient, template and its values. `MailOutbox.send` sends them, or a hook of the project does. Pure.

An email with a code is made by `accounts/codes/code_messages.py`; a notice by `change_notice`.
Source: docs/reference/auth.md, sections 17, 18.2 and 18.3.
"""

from dataclasses import dataclass

from schemas.settings.auth import Auth
from workers.auth.delivery.links import VERIFY_TYPES, confirmation_url
from workers.auth.delivery.templates import EmailKind, TemplateValues
from workers.auth.model.codes import OneTimeCode
from workers.auth.model.rows import AuthUser


@dataclass(frozen=True, slots=True)
class EmailDraft:
    """One message: its recipient and the values of its template."""

    to: str
    values: TemplateValues


@dataclass(frozen=True, slots=True)
class OutgoingEmail:
    """One notification by email: one message, or two where a change of address is confirmed at both addresses.

    Of two, the first goes to the current address, the second to the new one. `user` and `client` (the IP address of the
    request) are for hooks.
    """

    kind: EmailKind
    drafts: tuple[EmailDraft, ...]
    user: AuthUser | None = None
    client: str = ""

    @property
    def action_type(self) -> str:
        """Return the `email_action_type` of hooks."""
        return VERIFY_TYPES.get(self.kind, self.kind.value)

    def email_data(self, external_url: str) -> dict[str, str]:
        """Return the `email_data` of hooks. Its `site_url` is the public URL of this service, for links to its `/verify`.

        With two messages `token` and `token_hash_new` belong to the current address, `token_new` and `token_hash` to the
        new one. They are crossed because hooks written for Supabase Auth expect that.
        """
        first, last = self.drafts[0].values, self.drafts[-1].values
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
    own: Auth,
    external_url: str,
    kind: EmailKind,
    user: AuthUser,
    to: str,
    code: OneTimeCode,
    redirect_to: str,
) -> EmailDraft:
    """Return the draft of a message with a code, and with a link if the kind has one."""
    values = TemplateValues(
        site_url=own.site_url,
        email=user.email or "",
        confirmation_url=_link(own, external_url, kind, code, redirect_to),
        token=code.code,
        token_hash=code.link,
        redirect_to=redirect_to,
        new_email=user.email_change or "" if kind is EmailKind.EMAIL_CHANGE else "",
        sending_to=to if kind is EmailKind.EMAIL_CHANGE else "",
        data=user.raw_user_meta_data or {},
    )
    return EmailDraft(to, values)


def change_notice(own: Auth, kind: EmailKind, user: AuthUser, to: str, **more: str) -> OutgoingEmail:
    """Return an email about a change; `more` are fields of `TemplateValues`, such as `old_email` or `provider`."""
    values = TemplateValues(
        site_url=own.site_url, email=user.email or "", data=user.raw_user_meta_data or {}, **more
    )
    return OutgoingEmail(kind, (EmailDraft(to, values),), user)


def _link(own: Auth, external_url: str, kind: EmailKind, code: OneTimeCode, redirect_to: str) -> str:
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
