"""[auth.email] and [auth.sms]: how messages reach people, and the rules of the codes they carry.

Source: reference page "auth", sections 18 and 25.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Count, Duration, Instant, Port

DEFAULT_SUBJECTS = {
    "invite": "You've been invited",
    "confirmation": "Confirm your email address",
    "recovery": "Reset your password",
    "magic_link": "Your sign-in link",
    "email_change": "Confirm your new email address",
    "reauthentication": "{{ .Token }} is your verification code",
}
"""Subjects of the mails that carry a link or a code, where the settings name no other."""


class Smtp(Struct, frozen=True):
    """[auth.email.smtp]: the mail server. Without a host, mails stay in the development inbox."""

    enabled: bool | None = None
    """Unset: on as soon as there is a host."""
    host: str = ""
    port: Port = 587
    """465 speaks TLS from the first byte, other ports by STARTTLS where the server offers it."""
    user: str = ""
    password: Secret | None = field(default=None, name="pass")
    admin_email: str = ""
    """Address of the sender."""
    sender_name: str = ""
    headers: dict[str, list[str]] = field(default_factory=dict)
    """Extra headers of each mail; `$messageType` in a value is the kind of the mail."""

    @property
    def is_used(self) -> bool:
        """Say whether mails go to this server."""
        return bool(self.host) if self.enabled is None else self.enabled


class Template(Struct, frozen=True):
    """[auth.email.template.<name>]: one kind of mail. What is empty is the built-in one."""

    subject: str = ""
    content_path: str = ""
    """File with the HTML body, relative to the project's folder."""
    content: str = ""
    """The HTML body itself."""
    url: str = ""
    """Where the body is fetched: a URL, or a path on the site URL. It is kept for ten minutes; while it cannot be had, the
    built-in one is used."""
    url_path: str = ""
    """Path of the link on the external URL. Empty: `/verify`."""


class Templates(Struct, frozen=True):
    """[auth.email.template]."""

    invite: Template = field(default_factory=Template)
    confirmation: Template = field(default_factory=Template)
    recovery: Template = field(default_factory=Template)
    magic_link: Template = field(default_factory=Template)
    email_change: Template = field(default_factory=Template)
    reauthentication: Template = field(default_factory=Template)


class Notification(Struct, frozen=True):
    """[auth.email.notification.<name>]: a mail that tells of a change. What is empty is the built-in one."""

    enabled: bool = False
    subject: str = ""
    content_path: str = ""
    """File with the HTML body, relative to the project's folder."""
    content: str = ""
    """The HTML body itself."""
    url: str = ""
    """Where the body is fetched: a URL, or a path on the site URL. It is kept for ten minutes; while it cannot be had, the
    built-in one is used."""


class Notifications(Struct, frozen=True):
    """[auth.email.notification]."""

    password_changed: Notification = field(default_factory=Notification)
    email_changed: Notification = field(default_factory=Notification)
    phone_changed: Notification = field(default_factory=Notification)
    identity_linked: Notification = field(default_factory=Notification)
    identity_unlinked: Notification = field(default_factory=Notification)
    mfa_factor_enrolled: Notification = field(default_factory=Notification)
    mfa_factor_unenrolled: Notification = field(default_factory=Notification)


class Email(Struct, frozen=True):
    """[auth.email]: accounts with an e-mail address."""

    enable_signup: bool = True
    """Accounts may be made and entered with an e-mail address."""
    enable_confirmations: bool = False
    """A new address must be confirmed before its user may sign in."""
    double_confirm_changes: bool = True
    """A change of address must be confirmed from the old and the new one."""
    secure_password_change: bool = False
    """A new password needs a code sent by mail, unless the session is younger than a day."""
    require_current_password: bool = False
    """A new password needs the old one."""
    allow_unverified_email_sign_ins: bool = False
    """Users may sign in before they confirm; not together with accounts that are confirmed at once."""
    magic_link_enabled: bool = True
    confirmation_page: bool = False
    """Links of mails show a button first, so that scanners which follow links use no code up."""
    max_frequency: Duration = Duration(1)
    """Least time between two mails of one kind to one user."""
    otp_length: int = 6
    """Digits of a code, 6 to 10."""
    otp_expiry: Count = 3600
    """Seconds a code or link is valid."""
    authorized_addresses: list[str] = field(default_factory=list)
    """Only these get mail; empty allows all."""
    external_hosts: list[str] = field(default_factory=list)
    """Hosts besides the external URL's that links may name."""
    validation_extended: bool = False
    """Refuse addresses of reserved hosts and of hosts that take no mail."""
    smtp: Smtp = field(default_factory=Smtp)
    template: Templates = field(default_factory=Templates)
    notification: Notifications = field(default_factory=Notifications)


class Twilio(Struct, frozen=True):
    """[auth.sms.twilio]."""

    enabled: bool = False
    account_sid: str = ""
    message_service_sid: str = ""
    """Messaging service, or the number that sends."""
    auth_token: Secret | None = None
    content_sid: str = ""
    """Template of WhatsApp messages."""


class TwilioVerify(Struct, frozen=True):
    """[auth.sms.twilio_verify]: codes are made and checked there."""

    enabled: bool = False
    account_sid: str = ""
    message_service_sid: str = ""
    auth_token: Secret | None = None


class Messagebird(Struct, frozen=True):
    """[auth.sms.messagebird]."""

    enabled: bool = False
    originator: str = ""
    access_key: Secret | None = None


class Textlocal(Struct, frozen=True):
    """[auth.sms.textlocal]."""

    enabled: bool = False
    sender: str = ""
    api_key: Secret | None = None


class Vonage(Struct, frozen=True):
    """[auth.sms.vonage]."""

    enabled: bool = False
    from_: str = field(default="", name="from")
    api_key: str = ""
    api_secret: Secret | None = None


class Sms(Struct, frozen=True):
    """[auth.sms]: accounts with a phone number. One sender at most is enabled; the send-SMS hook goes before it."""

    enable_signup: bool = False
    """Accounts may be made and entered with a phone number."""
    enable_confirmations: bool = False
    """A new number must be confirmed before its user may sign in."""
    template: str = "Your code is {{ .Code }}"
    max_frequency: Duration = Duration(5)
    """Least time between two messages to one user."""
    otp_length: int = 6
    """Digits of a code, 6 to 10."""
    otp_expiry: Count = 6000
    """Seconds a code is valid."""
    test_otp: dict[str, str] = field(default_factory=dict)
    """Numbers that get no message, with their fixed codes."""
    test_otp_valid_until: Instant | None = None
    """Unset: as long as they stand here."""
    twilio: Twilio = field(default_factory=Twilio)
    twilio_verify: TwilioVerify = field(default_factory=TwilioVerify)
    messagebird: Messagebird = field(default_factory=Messagebird)
    textlocal: Textlocal = field(default_factory=Textlocal)
    vonage: Vonage = field(default_factory=Vonage)

    @property
    def sender(self) -> str | None:
        """Name the sender that is enabled: the name of its section."""
        return next((name for name in SENDERS if getattr(self, name).enabled), None)


SENDERS: dict[str, tuple[str, ...]] = {
    "twilio": ("account_sid", "auth_token", "message_service_sid"),
    "twilio_verify": ("account_sid", "auth_token", "message_service_sid"),
    "messagebird": ("access_key", "originator"),
    "textlocal": ("api_key", "sender"),
    "vonage": ("api_key", "api_secret", "from"),
}
"""The senders of messages, with the keys that each needs."""
