"""Pages for people."""

from services.mail_catcher.mailbox import CaughtMail
from services.mail_catcher.pages import STYLE, email_page, list_page
from tests.services.mail_catcher.sample_emails import email


def test_list_tells_that_it_is_empty() -> None:
    assert "No email has arrived yet." in list_page(CaughtMail(), [], "")
    assert "Nothing was found." in list_page(CaughtMail(), [], "to:x")


def test_list_links_to_its_emails() -> None:
    mail = CaughtMail()
    mail.add(email("a b/c", subject=""))

    page = list_page(mail, mail.newest_first(), "")

    assert 'href="/message/a%20b%2Fc">(no subject)' in page
    assert '<tr class="new">' in page


def test_email_without_html_has_no_frame() -> None:
    page = email_page(email("a", text="1 < 2 {brackets}"))

    assert "<iframe" not in page
    assert "<pre>1 &lt; 2 {brackets}</pre>" in page


def test_style_is_part_of_the_package() -> None:
    assert "body {" in STYLE
