"""Letters from templates: the defaults of every kind, and those of the project. Values in, subject and bodies out.

A project names a template by file or writes it into its settings; all are read at the start, and what cannot be understood
is refused there in words. A kind whose HTML is the project's own has its plain text made from that HTML.
Source: docs/reference/auth.md, 18.3.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path

from schemas.settings.auth_delivery import Email, Notification, Template
from schemas.settings.tree import SettingsError
from workers.auth.delivery.gotext.nodes import Node, TemplateRefused
from workers.auth.delivery.gotext.parse import LONGEST, parse
from workers.auth.delivery.gotext.render import LetterTooLong, render
from workers.auth.delivery.plain import plain_text


class Kind(StrEnum):
    """The letters of the service; the value is the name of the template, and the `$messageType` of a header."""

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
    Kind.INVITE: "You've been invited",
    Kind.CONFIRMATION: "Confirm your email address",
    Kind.RECOVERY: "Reset your password",
    Kind.MAGIC_LINK: "Your sign-in link",
    Kind.EMAIL_CHANGE: "Confirm your new email address",
    Kind.REAUTHENTICATION: "{{ .Token }} is your verification code",
    Kind.PASSWORD_CHANGED: "Your password was changed",
    Kind.EMAIL_CHANGED: "Your email address was changed",
    Kind.PHONE_CHANGED: "Your phone number was changed",
    Kind.IDENTITY_LINKED: "A sign-in method was added to your account",
    Kind.IDENTITY_UNLINKED: "A sign-in method was removed from your account",
    Kind.FACTOR_ENROLLED: "A second factor was added to your account",
    Kind.FACTOR_UNENROLLED: "A second factor was removed from your account",
}
"""The subject of each kind when the project has none."""

Html = tuple[Node, ...]
"""A body, read and ready."""

_NOTIFICATION = "_notification"
_FRAME_MARK = "<!-- letter -->"


@dataclass(frozen=True, slots=True)
class Source:
    """A template of the project; what is empty stays the default. `content_path` is a file, `content` the HTML itself."""

    subject: str = ""
    content_path: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a letter may tell; each is a variable of its templates."""

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
        """Give the values under the names that templates use."""
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
class Letter:
    """What is written to somebody. Its parts hold codes and links, so none is shown."""

    kind: Kind
    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Template:
    subject: tuple[Node, ...]
    html: Html
    text: tuple[Node, ...] | None
    """None: the text is made from the HTML."""


class Templates:
    """The templates of all kinds, read and ready."""

    def __init__(self, chosen: Mapping[Kind, _Template], defaults: Mapping[Kind, _Template]) -> None:
        self._chosen = chosen
        self._defaults = defaults

    def write(self, kind: Kind, facts: Facts, html: Html | None = None) -> Letter:
        """Write a letter. One that the project's template would make endless is written with the default.

        `html` takes the place of the kind's own: a template that was fetched (`remote_templates.py`).
        """
        values, chosen = facts.variables(), self._chosen[kind]
        if html is not None:
            chosen = _Template(chosen.subject, html, None)
        try:
            return _written(kind, chosen, values)
        except LetterTooLong:
            return _written(kind, self._defaults[kind], {**values, "Data": {}})


def read_templates(sources: Mapping[str, Source], folders: Sequence[Path]) -> Templates:
    """Read the templates of a project, by the names of their kinds; a relative path is sought in each folder in turn.

    Raises: SettingsError, naming the template and what is wrong with it.
    """
    for name in sources:
        if name not in {*Kind}:
            raise SettingsError(f"auth.email.template.{name}: there is no such letter")
    defaults = {kind: _default(kind) for kind in Kind}
    chosen = {kind: _chosen(kind, sources.get(kind), defaults[kind], folders) for kind in Kind}
    return Templates(chosen, defaults)


def sources_of(email: Email) -> dict[str, Source]:
    """Give the templates that the settings name, by kind."""
    return {kind: Source(one.subject, one.content_path, one.content) for kind, one in sections_of(email)}


def sections_of(email: Email) -> Iterator[tuple[Kind, Template | Notification]]:
    """Give what the settings say of every kind."""
    for kind in Kind:
        name = kind.removesuffix(_NOTIFICATION)
        yield kind, getattr(email.template if name == kind else email.notification, name)


def default_html(kind: Kind) -> str:
    """Give the default template of a kind: what a project starts its own from."""
    return _resource("frame.html").replace(_FRAME_MARK, _resource(f"{kind}.html").rstrip())


@cache
def _default(kind: Kind) -> _Template:
    return _Template(parse(SUBJECTS[kind]), parse(default_html(kind)), parse(_resource(f"{kind}.txt")))


def _chosen(kind: Kind, source: Source | None, default: _Template, folders: Sequence[Path]) -> _Template:
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
    except TemplateRefused as error:
        raise SettingsError(f"{key}: {error}") from None


def _file(path: str, folders: Sequence[Path], key: str) -> str:
    found = next((each for folder in folders if (each := folder / path).is_file()), None)
    if found is None:
        raise SettingsError(f"{key}: there is no file {path}")
    try:
        if found.stat().st_size > 4 * LONGEST:
            raise SettingsError(f"{key}: {path} is too long for a letter")
        return found.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{key}: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{key}: {path} is not UTF-8 text") from None


def _written(kind: Kind, template: _Template, values: Mapping[str, object]) -> Letter:
    html = render(template.html, values, is_html=True)
    text = plain_text(html) if template.text is None else render(template.text, values, is_html=False)
    return Letter(kind, render(template.subject, values, is_html=False), text, html)


def _resource(name: str) -> str:
    return (resources.files("workers.auth.delivery") / "templates" / name).read_text(encoding="utf-8")
