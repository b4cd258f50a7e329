"""The emails in memory and their bounds."""

from services.mail_catcher.mailbox import CaughtMail
from services.mail_catcher.search import read_query
from tests.services.mail_catcher.sample_emails import email


def ids(mail: CaughtMail) -> list[str]:
    return [one.id for one in mail.newest_first()]


def test_newest_email_comes_first_and_is_the_latest() -> None:
    mail = CaughtMail()
    for id in "abc":
        mail.add(email(id))

    assert ids(mail) == ["c", "b", "a"]
    assert mail.get("latest") is mail.get("c")
    assert mail.get("nobody") is None
    assert CaughtMail().get("latest") is None


def test_number_of_emails_is_bounded() -> None:
    mail = CaughtMail(max_emails=3)
    for id in "abcde":
        mail.add(email(id))

    assert ids(mail) == ["e", "d", "c"]


def test_bytes_of_emails_are_bounded_but_the_newest_stays() -> None:
    mail = CaughtMail(max_bytes=20_000)
    for id in "abc":
        mail.add(email(id, size=2000))
    assert ids(mail) == ["c", "b"]

    mail.add(email("d", size=100_000))
    assert ids(mail) == ["d"]
    mail.add(email("e"))
    assert ids(mail) == ["e"]
    assert mail.size_bytes == email("e").weight_bytes


def test_emails_are_new_until_they_are_opened() -> None:
    mail = CaughtMail()
    mail.add(email("a"))
    mail.add(email("b"))
    mail.mark(["a", "nobody"], is_read=True)

    assert (len(mail), mail.unread) == (2, 1)
    mail.remove(["a", "nobody"])
    assert (len(mail), mail.unread) == (1, 1)
    mail.mark(["b"], is_read=True)
    mail.mark(["b"], is_read=False)
    assert mail.unread == 1


def test_all_emails_can_be_thrown_away() -> None:
    mail = CaughtMail()
    mail.add(email("a"))
    mail.clear()

    assert (len(mail), mail.unread, mail.size_bytes) == (0, 0, 0)


def test_search_finds_among_all() -> None:
    mail = CaughtMail()
    mail.add(email("a", to="bob@example.org"))
    mail.add(email("b"))

    assert [one.id for one in mail.newest_first(read_query("to:bob@example.org"))] == ["a"]
