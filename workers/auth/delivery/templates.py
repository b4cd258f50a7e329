"""Renders emails from templates: the built-in ones, and the project's. Values in, subject and bodies out.

A project sets a template by file or inline in its settings. All are parsed at start, and a template with an error stops the
start with a message. If the HTML is the project's, the plain text is made from that HTML.
Source: docs/reference/auth.md, section 18.3.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path

from schemas.settings.auth_delivery import Email, Notification, Template
from schemas.settings.tree import SettingsError
from workers.auth.delivery.gotext.nodes import Node, TemplateError
from workers.auth.delivery.gotext.parse import LONGEST, parse
from workers.auth.delivery.gotext.render import ResultTooLong, render
from workers.auth.delivery.plain_text import plain_text


class EmailKind(StrEnum):
    """The kinds of emails; the value is the name of the template, and the `$messageType` of a header."""

    INVITE = "invite"
    CONFIRMATION = "confirmation"
    RECOVERY = "recovery"
    MAGIC_LINK = "magic_link"
    EMAIL_CHANGE = "email_change"
    REAUTHENTICATION = "reauthentication"
    PASSWORD_CHANGED = "password_changed_notification"  # noqa: S105 - the name of a template
    EMAIL_CHANGED = "email_changed_notification"
    PHONE_CHANGED = "phone_changed_notification"
    IDENTITY_LINKED = "identity_linked_notification"
    IDENTITY_UNLINKED = "identity_unlinked_notification"
    FACTOR_ENROLLED = "mfa_factor_enrolled_notification"
    FACTOR_UNENROLLED = "mfa_factor_unenrolled_notification"


SUBJECTS = {
    EmailKind.INVITE: "You've been invited",
    EmailKind.CONFIRMATION: "Confirm your email address",
    EmailKind.RECOVERY: "Reset your password",
    EmailKind.MAGIC_LINK: "Your sign-in link",
    EmailKind.EMAIL_CHANGE: "Confirm your new email address",
    EmailKind.REAUTHENTICATION: "{{ .Token }} is your verification code",
    EmailKind.PASSWORD_CHANGED: "Your password was changed",
    EmailKind.EMAIL_CHANGED: "Your email address was changed",
    EmailKind.PHONE_CHANGED: "Your phone number was changed",
    EmailKind.IDENTITY_LINKED: "A sign-in method was added to your account",
    EmailKind.IDENTITY_UNLINKED: "A sign-in method was removed from your account",
    EmailKind.FACTOR_ENROLLED: "A second factor was added to your account",
    EmailKind.FACTOR_UNENROLLED: "A second factor was removed from your account",
}
"""The default subject of each kind."""

Html = tuple[Node, ...]
"""A parsed body."""

_NOTIFICATION = "_notification"
_FRAME_MARK = "<!-- email -->"


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A template of the project; empty fields keep the default. `content_path` is a file, `content` the HTML itself."""

    subject: str = ""
    content_path: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """The values of an email; each is a variable of the templates."""

    site_url: str = ""
    email: str = ""
    confirmation_url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    token_hash: str = field(default="", repr=False)
    redirect_to: str = ""
    new_email: str = ""
    old_email: str = ""
    sending_to: str = ""
    phone: str = ""
    old_phone: str = ""
    provider: str = ""
    factor_type: str = ""
    data: Mapping[str, object] = field(default_factory=dict, repr=False)
    """The user's metadata."""

    def variables(self) -> dict[str, object]:
        """Return the values by the names of the template variables."""
        return {
            "SiteURL": self.site_url,
            "Email": self.email,
            "ConfirmationURL": self.confirmation_url,
            "Token": self.token,
            "TokenHash": self.token_hash,
            "RedirectTo": self.redirect_to,
            "NewEmail": self.new_email,
            "OldEmail": self.old_email,
            "SendingTo": self.sending_to,
            "Phone": self.phone,
            "OldPhone": self.old_phone,
            "Provider": self.provider,
            "FactorType": self.factor_type,
            "Data": self.data,
        }


@dataclass(frozen=True, slots=True)
class RenderedEmail:
    """The rendered parts of an email. They hold codes and links, so none is part of its repr."""

    kind: EmailKind
    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Template:
    subject: tuple[Node, ...]
    html: Html
    text: tuple[Node, ...] | None
    """None: the plain text is made from the HTML."""


class EmailTemplates:
    """The parsed templates of all kinds."""

    def __init__(
        self, chosen: Mapping[EmailKind, _Template], defaults: Mapping[EmailKind, _Template]
    ) -> None:
        self._chosen = chosen
        self._defaults = defaults

    def write(self, kind: EmailKind, values: TemplateValues, html: Html | None = None) -> RenderedEmail:
        """Render an email. If the project's template makes it too long, it is rendered with the default one.

        `html` replaces the body of the kind: a template that was fetched (`remote_templates.py`).
        """
        variables, chosen = values.variables(), self._chosen[kind]
        if html is not None:
            chosen = _Template(chosen.subject, html, None)
        try:
            return _rendered(kind, chosen, variables)
        except ResultTooLong:
            return _rendered(kind, self._defaults[kind], {**variables, "Data": {}})


def read_templates(sources: Mapping[str, TemplateSource], folders: Sequence[Path]) -> EmailTemplates:
    """Read the templates of a project, by the names of their kinds; a relative path is looked up in each folder in turn.

    Raises: SettingsError, naming the template and what is wrong with it.
    """
    for name in sources:
        if name not in {*EmailKind}:
            raise SettingsError(f"auth.email.template.{name}: there is no such email")
    defaults = {kind: _default(kind) for kind in EmailKind}
    chosen = {kind: _chosen(kind, sources.get(kind), defaults[kind], folders) for kind in EmailKind}
    return EmailTemplates(chosen, defaults)


def sources_of(email: Email) -> dict[str, TemplateSource]:
    """Return the templates of the settings by kind."""
    return {
        kind: TemplateSource(one.subject, one.content_path, one.content) for kind, one in sections_of(email)
    }


def sections_of(email: Email) -> Iterator[tuple[EmailKind, Template | Notification]]:
    """Yield the settings of every kind."""
    for kind in EmailKind:
        name = kind.removesuffix(_NOTIFICATION)
        yield kind, getattr(email.template if name == kind else email.notification, name)


def default_html(kind: EmailKind) -> str:
    """Return the default template of a kind, as a start for a project's own."""
    return _resource("frame.html").replace(_FRAME_MARK, _resource(f"{kind}.html").rstrip())


@cache
def _default(kind: EmailKind) -> _Template:
    return _Template(parse(SUBJECTS[kind]), parse(default_html(kind)), parse(_resource(f"{kind}.txt")))


def _chosen(
    kind: EmailKind, source: TemplateSource | None, default: _Template, folders: Sequence[Path]
) -> _Template:
    if source is None:
        return default
    name = kind.removesuffix(_NOTIFICATION)
    key = f"auth.email.{'template' if name == kind else 'notification'}.{name}"
    subject = _parsed(source.subject, f"{key}.subject") if source.subject else default.subject
    if source.content_path:
        key = f"{key}.content_path"
        html = _parsed(_file(source.content_path, folders, key), f"{key}: {source.content_path}")
    elif source.content:
        html = _parsed(source.content, f"{key}.content")
    else:
        return _Template(subject, default.html, default.text)
    return _Template(subject, html, None)


def _parsed(template: str, key: str) -> tuple[Node, ...]:
    try:
        return parse(template)
    except TemplateError as error:
        raise SettingsError(f"{key}: {error}") from None


def _file(path: str, folders: Sequence[Path], key: str) -> str:
    file = next((candidate for folder in folders if (candidate := folder / path).is_file()), None)
    if file is None:
        raise SettingsError(f"{key}: there is no file {path}")
    try:
        if file.stat().st_size > 4 * LONGEST:
            raise SettingsError(f"{key}: {path} is too long for an email")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{key}: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{key}: {path} is not UTF-8 text") from None


def _rendered(kind: EmailKind, template: _Template, values: Mapping[str, object]) -> RenderedEmail:
    html = render(template.html, values, is_html=True)
    text = plain_text(html) if template.text is None else render(template.text, values, is_html=False)
    return RenderedEmail(kind, render(template.subject, values, is_html=False), text, html)


def _resource(name: str) -> str:
    return (resources.files("workers.auth.delivery") / "templates" / name).read_text(encoding="utf-8")
