"""[auth.email] and [auth.sms]: how messages reach users, and the rules of the codes they contain.

Source: docs/reference/auth.md, sections 18 and 25.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Count, Duration, Instant, Port


class Smtp(Struct, frozen=True):
    """[auth.email.smtp]: the mail server. Without a host, emails stay in the development inbox."""

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
    """Extra headers of each email; `$messageType` in a value is the kind of the email."""

    @property
    def is_used(self) -> bool:
        """Whether emails go to this server."""
        return bool(self.host) if self.enabled is None else self.enabled


class Template(Struct, frozen=True):
    """[auth.email.template.<name>]: one kind of email. What is empty is the built-in one."""

    subject: str = ""
    content_path: str = ""
    """File with the HTML body, relative to the project's folder."""
    content: str = ""
    """The HTML body itself."""
    url: str = ""
    """URL of the body, or a path on the site URL. It is cached for ten minutes; while it cannot be fetched, the
    built-in one is used.
    """
    url_path: str = ""
    """Path of the link on the external URL. Empty: `/verify`."""


class EmailTemplateSettings(Struct, frozen=True):
    """[auth.email.template]."""

    invite: Template = field(default_factory=Template)
    confirmation: Template = field(default_factory=Template)
    recovery: Template = field(default_factory=Template)
    magic_link: Template = field(default_factory=Template)
    email_change: Template = field(default_factory=Template)
    reauthentication: Template = field(default_factory=Template)


class Notification(Struct, frozen=True):
    """[auth.email.notification.<name>]: an email about a change. What is empty is the built-in one."""

    enabled: bool = False
    subject: str = ""
    content_path: str = ""
    """File with the HTML body, relative to the project's folder."""
    content: str = ""
    """The HTML body itself."""
    url: str = ""
    """URL of the body, or a path on the site URL. It is cached for ten minutes; while it cannot be fetched, the
    built-in one is used.
    """


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
    """Users may sign up and sign in with an e-mail address."""
    enable_confirmations: bool = False
    """A new address must be confirmed before its user may sign in."""
    double_confirm_changes: bool = True
    """A change of address must be confirmed from the old and the new one."""
    secure_password_change: bool = False
    """A new password needs a code sent by email, unless the session is younger than a day."""
    require_current_password: bool = False
    """A new password needs the current one."""
    identity_on_password: bool = False
    """A user of a provider who sets the first password gets an identity `email`, if the address is confirmed: then the provider can be
    unlinked."""
    allow_unverified_email_sign_ins: bool = False
    """Users of a provider that has not verified their address may sign in before they confirm it. Sign-in with a password always
    needs a confirmed address. Not together with accounts that are confirmed at once.
    """
    magic_link_enabled: bool = True
    confirmation_page: bool = False
    """Links of emails show a button first, so that scanners that follow links use up no code."""
    max_frequency: Duration = Duration(1)
    """Least time between two emails of one kind to one user."""
    otp_length: int = 6
    """Digits of a code, 6 to 10."""
    otp_expiry: Count = 3600
    """Seconds a code or link is valid."""
    authorized_addresses: list[str] = field(default_factory=list)
    """Only these addresses receive email; empty allows all."""
    external_hosts: list[str] = field(default_factory=list)
    """No effect: links always begin with `auth.external_url`."""
    validation_extended: bool = False
    """Reject addresses of reserved domains and of domains that accept no email."""
    smtp: Smtp = field(default_factory=Smtp)
    template: EmailTemplateSettings = field(default_factory=EmailTemplateSettings)
    notification: Notifications = field(default_factory=Notifications)


class TwilioSettings(Struct, frozen=True):
    """[auth.sms.twilio]."""

    enabled: bool = False
    account_sid: str = ""
    message_service_sid: str = ""
    """Messaging service, or the number that sends."""
    auth_token: Secret | None = None
    content_sid: str = ""
    """Template of WhatsApp messages."""


class TwilioVerifySettings(Struct, frozen=True):
    """[auth.sms.twilio_verify]: Twilio generates and checks the codes."""

    enabled: bool = False
    account_sid: str = ""
    message_service_sid: str = ""
    auth_token: Secret | None = None


class Messagebird(Struct, frozen=True):
    """[auth.sms.messagebird]."""

    enabled: bool = False
    originator: str = ""
    access_key: Secret | None = None


class TextlocalSettings(Struct, frozen=True):
    """[auth.sms.textlocal]."""

    enabled: bool = False
    sender: str = ""
    api_key: Secret | None = None


class VonageSettings(Struct, frozen=True):
    """[auth.sms.vonage]."""

    enabled: bool = False
    from_: str = field(default="", name="from")
    api_key: str = ""
    api_secret: Secret | None = None


class Sms(Struct, frozen=True):
    """[auth.sms]: accounts with a phone number. One sender at most is enabled; the send-SMS hook goes before it."""

    enable_signup: bool = False
    """Users may sign up and sign in with a phone number."""
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
    """Unset: as long as they are listed here."""
    twilio: TwilioSettings = field(default_factory=TwilioSettings)
    twilio_verify: TwilioVerifySettings = field(default_factory=TwilioVerifySettings)
    messagebird: Messagebird = field(default_factory=Messagebird)
    textlocal: TextlocalSettings = field(default_factory=TextlocalSettings)
    vonage: VonageSettings = field(default_factory=VonageSettings)

    @property
    def sender(self) -> str | None:
        """The section name of the sender that is enabled."""
        return next((name for name in SENDERS if getattr(self, name).enabled), None)


SENDERS: dict[str, tuple[str, ...]] = {
    "twilio": ("account_sid", "auth_token", "message_service_sid"),
    "twilio_verify": ("account_sid", "auth_token", "message_service_sid"),
    "messagebird": ("access_key", "originator"),
    "textlocal": ("api_key", "sender"),
    "vonage": ("api_key", "api_secret", "from"),
}
"""The senders of messages, with the keys that each needs."""
