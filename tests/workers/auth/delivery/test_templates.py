"""Emails: the defaults of every kind, and the project's own templates."""

from pathlib import Path

import pytest

from schemas.settings.auth_delivery import Email, Notification, Notifications, Template
from schemas.settings.auth_delivery import EmailTemplateSettings as Sections
from schemas.settings.tree import SettingsError
from workers.auth.delivery.templates import (
    EmailKind,
    RenderedEmail,
    TemplateSource,
    TemplateValues,
    default_html,
    read_templates,
    sources_of,
)

FACTS = TemplateValues(
    site_url="https://app.example",
    email="ann@example.org",
    confirmation_url="https://api.example/auth/v1/verify?token=ab&type=signup",
    token="123456",
    token_hash="ab",
    redirect_to="https://app.example/welcome",
    new_email="new@example.org",
    old_email="old@example.org",
    sending_to="new@example.org",
    phone="4915100000001",
    old_phone="4915100000002",
    provider="github",
    factor_type="totp",
    data={"name": "Ann"},
)
LINKED = (
    EmailKind.INVITE,
    EmailKind.CONFIRMATION,
    EmailKind.RECOVERY,
    EmailKind.MAGIC_LINK,
    EmailKind.EMAIL_CHANGE,
)
TOLD = {
    EmailKind.EMAIL_CHANGE: ["ann@example.org", "new@example.org"],
    EmailKind.EMAIL_CHANGED: ["old@example.org", "ann@example.org"],
    EmailKind.PHONE_CHANGED: ["4915100000002", "4915100000001"],
    EmailKind.IDENTITY_LINKED: ["github"],
    EmailKind.IDENTITY_UNLINKED: ["github"],
    EmailKind.FACTOR_ENROLLED: ["authenticator app"],
    EmailKind.FACTOR_UNENROLLED: ["authenticator app"],
}


def written(kind: EmailKind, source: TemplateSource, facts: TemplateValues = FACTS) -> RenderedEmail:
    return read_templates({kind: source}, []).write(kind, facts)


@pytest.mark.parametrize("kind", list(EmailKind))
def test_default_email_of_every_kind_is_complete(kind: EmailKind) -> None:
    email = read_templates({}, []).write(kind, FACTS)

    for body in (email.html, email.text):
        assert "{{" not in body
        assert "<!-- email -->" not in body
        for fact in TOLD.get(kind, []):
            assert fact in body
    assert email.subject.strip()
    assert "{{" not in email.subject
    assert ("https://api.example/auth/v1/verify?token=ab&type=signup" in email.text) is (kind in LINKED)
    assert ("verify?token=ab&amp;type=signup" in email.html) is (kind in LINKED)
    assert ("123456" in email.text) is (kind in LINKED or kind is EmailKind.REAUTHENTICATION)


@pytest.mark.parametrize("kind", list(EmailKind))
def test_default_email_holds_without_any_facts(kind: EmailKind) -> None:
    email = read_templates({}, []).write(kind, TemplateValues())

    assert email.html.rstrip().endswith("</html>")


def test_code_stands_in_the_subject_of_a_reauthentication() -> None:
    email = read_templates({}, []).write(EmailKind.REAUTHENTICATION, FACTS)

    assert email.subject == "123456 is your verification code"


def test_own_template_in_the_settings_replaces_html_and_text() -> None:
    source = TemplateSource(
        subject="Hi {{ .Data.name }}",
        content='<p>Go <a href="{{ .SiteURL }}/c?t={{ .TokenHash }}">on</a></p>',
    )

    email = written(EmailKind.CONFIRMATION, source)

    assert email.subject == "Hi Ann"
    assert email.html == '<p>Go <a href="https://app.example/c?t=ab">on</a></p>'
    assert email.text == "Go on (https://app.example/c?t=ab)\n"


def test_own_subject_keeps_the_default_bodies() -> None:
    email = written(EmailKind.RECOVERY, TemplateSource(subject="Pass & word"))

    assert email.subject == "Pass & word"
    assert "Or enter this code: 123456" in email.text


def test_file_is_sought_in_each_folder_in_turn(tmp_path: Path) -> None:
    (tmp_path / "b" / "templates").mkdir(parents=True)
    (tmp_path / "b" / "templates" / "invite.html").write_text(
        "\ufeff<p>Come, {{ .Email }}</p>", encoding="utf-8"
    )
    source = TemplateSource(content_path="./templates/invite.html")

    templates = read_templates({"invite": source}, [tmp_path / "a", tmp_path / "b"])

    assert templates.write(EmailKind.INVITE, FACTS).html == "<p>Come, ann@example.org</p>"


def test_what_users_wrote_is_escaped_in_html_and_not_in_text() -> None:
    facts = TemplateValues(email="a@b.example", data={"name": "<img src=x onerror=alert(1)>"})

    email = written(EmailKind.INVITE, TemplateSource(content="<p>{{ .Data.name }}</p>"), facts)

    assert email.html == "<p>&lt;img src=x onerror=alert(1)&gt;</p>"
    assert email.text == "<img src=x onerror=alert(1)>\n"


def test_endless_email_is_written_with_the_default() -> None:
    source = TemplateSource(
        content="{{ range .Data.l }}{{ range $.Data.l }}{{ range $.Data.l }}{{ . }}{{ end }}{{ end }}{{ end }}"
    )
    facts = TemplateValues(token="123456", data={"l": list(range(100))})

    email = written(EmailKind.MAGIC_LINK, source, facts)

    assert "123456" in email.html
    assert email.subject == "Your sign-in link"


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        (
            "invite",
            TemplateSource(content="{{ .A"),
            r"auth\.email\.template\.invite\.content: line 1: .*never closed",
        ),
        (
            "recovery",
            TemplateSource(subject="{{ x }}"),
            r"auth\.email\.template\.recovery\.subject: line 1: .*no function 'x'",
        ),
        (
            "invite",
            TemplateSource(content_path="no.html"),
            r"template\.invite\.content_path: there is no file no\.html",
        ),
        ("invite", TemplateSource(content_path="folder"), "there is no file folder"),
        ("invite", TemplateSource(content_path="latin.html"), "latin.html is not UTF-8"),
        ("invite", TemplateSource(content_path="broken.html"), r"content_path: broken\.html: line 2: "),
        ("invite", TemplateSource(content_path="long.html"), "too long for an email"),
        (
            "password_changed_notification",
            TemplateSource(subject="{{"),
            r"auth\.email\.notification\.password_changed\.subject",
        ),
        ("welcome", TemplateSource(), "template.welcome: there is no such email"),
    ],
)
def test_template_that_cannot_be_used_is_refused_in_words(
    name: str, source: TemplateSource, words: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.html").write_bytes(b"\xe4\xff")
    (tmp_path / "broken.html").write_text("<p>\n{{ end }}")
    (tmp_path / "long.html").write_text("x" * (4 * 1024 * 1024 + 1))

    with pytest.raises(SettingsError, match=words):
        read_templates({name: source}, [tmp_path])


def test_templates_of_the_settings_are_named_by_kind() -> None:
    email = Email(
        template=Sections(invite=Template(subject="Come", content_path="x.html")),
        notification=Notifications(email_changed=Notification(enabled=True, content="<p>")),
    )

    sources = sources_of(email)

    assert set(sources) == {*EmailKind}
    assert sources[EmailKind.INVITE] == TemplateSource("Come", "x.html", "")
    assert sources[EmailKind.EMAIL_CHANGED] == TemplateSource("", "", "<p>")
    read_templates(sources_of(Email()), [])


def test_default_template_can_be_shown_to_start_from() -> None:
    assert "{{ .ConfirmationURL }}" in default_html(EmailKind.INVITE)


def test_secrets_of_an_email_are_not_shown() -> None:
    email = read_templates({}, []).write(EmailKind.REAUTHENTICATION, FACTS)

    assert "123456" not in repr(FACTS) + repr(email)
    assert "token=" not in repr(FACTS)
