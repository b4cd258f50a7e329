"""The pages and Mailpit's interface, by HTTP."""

from datetime import UTC, datetime
from email.message import EmailMessage

import aiohttp
import pytest

from services.mail_catcher.edge import MailCatcher
from services.mail_catcher.emails import parse_email
from tests.services.mail_catcher.sample_emails import email


async def get(session: aiohttp.ClientSession, path: str) -> dict[str, object]:
    async with session.get(path) as answer:
        assert answer.status == 200
        assert answer.content_type == "application/json"
        value: dict[str, object] = await answer.json()
        return value


async def text(session: aiohttp.ClientSession, method: str, path: str, **options: object) -> tuple[int, str]:
    async with session.request(method, path, allow_redirects=False, **options) as answer:  # type: ignore[arg-type]  # options of aiohttp
        return answer.status, await answer.text()


async def test_list_has_the_shape_that_tools_read(
    catcher: MailCatcher, session: aiohttp.ClientSession
) -> None:
    catcher.mail.add(email("a"))
    catcher.mail.add(email("b", subject="Second"))
    catcher.mail.mark(["a"], is_read=True)

    listed = await get(session, "/api/v1/messages")

    messages = listed.pop("messages")
    assert listed == {
        "total": 2, "unread": 1, "count": 2, "messages_count": 2, "messages_unread": 1, "start": 0, "tags": [],
    }  # fmt: skip
    assert isinstance(messages, list)
    assert messages[0] == {
        "ID": "b", "MessageID": "b@x", "Read": False, "From": {"Name": "Team", "Address": "team@example.org"},
        "To": [{"Name": "", "Address": "ann@example.org"}], "Cc": [], "Bcc": [], "ReplyTo": [], "Subject": "Second",
        "Created": "2026-11-21T00:00:00.000Z", "Tags": [], "Size": messages[0]["Size"], "Attachments": 0,
        "Snippet": "Some text",
    }  # fmt: skip


async def test_list_comes_in_pages(catcher: MailCatcher, session: aiohttp.ClientSession) -> None:
    for id in "abcde":
        catcher.mail.add(email(id))

    page = await get(session, "/api/v1/messages?start=1&limit=2")
    odd = await get(session, "/api/v1/messages?start=-1&limit=x")

    assert [one["ID"] for one in page["messages"]] == ["d", "c"]  # type: ignore[attr-defined]  # JSON
    assert (page["total"], page["count"], page["start"]) == (5, 2, 1)
    assert odd["count"] == 5


async def test_search_finds_emails_to_an_address(
    catcher: MailCatcher, session: aiohttp.ClientSession
) -> None:
    catcher.mail.add(email("a", to="bob@example.org"))
    catcher.mail.add(email("b"))

    found = await get(session, "/api/v1/search?query=to:bob%40example.org")

    assert (found["total"], found["messages_count"]) == (2, 1)
    assert [one["ID"] for one in found["messages"]] == ["a"]  # type: ignore[attr-defined]  # JSON


@pytest.mark.parametrize("id", ["a", "latest"])
async def test_email_is_given_whole_and_counts_as_read(
    catcher: MailCatcher, session: aiohttp.ClientSession, id: str
) -> None:
    catcher.mail.add(email("a"))

    one = await get(session, f"/api/v1/message/{id}")

    assert set(one) == {
        "ID", "MessageID", "From", "To", "Cc", "Bcc", "ReplyTo", "ReturnPath", "Subject", "ListUnsubscribe", "Date", "Tags",
        "Text", "HTML", "Size", "Inline", "Attachments",
    }  # fmt: skip
    assert (one["ID"], one["Text"], one["ReturnPath"]) == ("a", "Some text", "team@example.org")
    assert catcher.mail.unread == 0


async def test_headers_source_and_views(catcher: MailCatcher, session: aiohttp.ClientSession) -> None:
    catcher.mail.add(email("a"))

    headers = await get(session, "/api/v1/message/a/headers")
    raw = await text(session, "GET", "/api/v1/message/a/raw")
    view = await text(session, "GET", "/view/a.txt")

    assert headers["Message-Id"] == ["<a@x>"]
    assert raw[1].startswith("From: Team <team@example.org>\n")
    assert view == (200, "Some text")


async def test_attachment_is_saved_and_never_shown(
    catcher: MailCatcher, session: aiohttp.ClientSession
) -> None:
    message = EmailMessage()
    message.set_content("x")
    message.add_attachment("<script>", subtype="html", filename='a".html')
    catcher.mail.add(parse_email("a", message.as_bytes(), "", (), datetime.now(UTC)))

    one = await get(session, "/api/v1/message/a")
    part = one["Attachments"][0]["PartID"]  # type: ignore[index]  # JSON
    async with session.get(f"/api/v1/message/a/part/{part}") as answer:
        body = await answer.text()

    assert body.strip() == "<script>"
    assert answer.content_type == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''a%22")
    assert (await text(session, "GET", "/api/v1/message/a/part/99"))[0] == 404


async def test_emails_are_deleted_by_id_by_search_or_all(
    catcher: MailCatcher, session: aiohttp.ClientSession
) -> None:
    for id in "abcd":
        catcher.mail.add(email(id, subject=f"S{id}"))

    assert await text(session, "DELETE", "/api/v1/messages", json={"IDs": ["a"]}) == (200, "ok")
    assert await text(session, "DELETE", "/api/v1/search?query=subject:sb") == (200, "ok")
    assert (await text(session, "DELETE", "/api/v1/search?query=%20"))[0] == 400
    assert [one.id for one in catcher.mail.newest_first()] == ["d", "c"]
    assert await text(session, "DELETE", "/api/v1/messages") == (200, "ok")
    assert len(catcher.mail) == 0


async def test_emails_are_marked(catcher: MailCatcher, session: aiohttp.ClientSession) -> None:
    catcher.mail.add(email("a"))
    catcher.mail.add(email("b"))

    await text(session, "PUT", "/api/v1/messages", json={"Read": True, "IDs": ["a"]})
    assert catcher.mail.unread == 1
    await text(session, "PUT", "/api/v1/messages", json={"Read": False})
    assert catcher.mail.unread == 2


@pytest.mark.parametrize("body", ["{", "[]", "\x00"])
async def test_body_that_is_no_object_is_refused(session: aiohttp.ClientSession, body: str) -> None:
    assert (await text(session, "DELETE", "/api/v1/messages", data=body))[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/message/x",
        "/view/x.html",
        "/api/v1/message/x",
        "/api/v1/message/x/raw",
        "/api/v1/message/latest",
    ],
)
async def test_what_is_not_there_is_404_in_json(session: aiohttp.ClientSession, path: str) -> None:
    status, body = await text(session, "GET", path)

    assert (status, body) == (404, '{"Error":"Not Found"}')


async def test_state_of_the_server(session: aiohttp.ClientSession) -> None:
    assert await text(session, "GET", "/livez") == (200, "ok")
    assert await text(session, "GET", "/readyz") == (200, "ok")
    assert (await get(session, "/api/v1/info"))["Messages"] == 0


async def test_pages_show_emails_without_their_markup(
    catcher: MailCatcher, session: aiohttp.ClientSession
) -> None:
    raw = b"Subject: <script>s</script>\nTo: <img>@x\nContent-Type: text/html\n\n<h1>Hi</h1><script>alert(1)</script>"
    catcher.mail.add(parse_email("a", raw, "<b>", ("<i>@x",), datetime.now(UTC)))

    for path in ("/", "/?query=%22%3E%3Cscript%3E", "/message/a"):
        async with session.get(path) as answer:
            page = await answer.text()
        assert answer.status == 200
        assert "script" not in answer.headers["content-security-policy"]
        assert "<script" not in page
        assert "<img>" not in page
        assert "<i>" not in page


async def test_html_of_an_email_stands_in_a_sandbox(
    catcher: MailCatcher, session: aiohttp.ClientSession
) -> None:
    catcher.mail.add(parse_email("a", b"Content-Type: text/html\n\n<h1>Hi</h1>", "", (), datetime.now(UTC)))

    async with session.get("/view/latest.html") as answer:
        plain = await answer.text()
    _, embedded = await text(session, "GET", "/view/a.html?embed=1")
    _, page = await text(session, "GET", "/message/a")

    assert plain == "<h1>Hi</h1>"
    assert embedded == '<base target="_blank"><h1>Hi</h1>'
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert '<iframe title="The email" sandbox="allow-popups allow-popups-to-escape-sandbox"' in page


async def test_button_deletes_all(catcher: MailCatcher, session: aiohttp.ClientSession) -> None:
    catcher.mail.add(email("a"))

    status, _ = await text(session, "POST", "/delete", headers={"origin": f"http://127.0.0.1:{catcher.port}"})

    assert status == 303
    assert len(catcher.mail) == 0


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/delete"), ("DELETE", "/api/v1/messages"), ("PUT", "/api/v1/messages")]
)
async def test_other_sites_change_nothing(
    catcher: MailCatcher, session: aiohttp.ClientSession, method: str, path: str
) -> None:
    catcher.mail.add(email("a"))

    for origin in ("https://evil.example", "null"):
        status, _ = await text(session, method, path, headers={"origin": origin})
        assert status == 403
    assert catcher.mail.unread == 1


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("localhost:54324", 200), ("mail.localhost", 200), ("[::1]:1", 200), ("evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403)],
)  # fmt: skip
async def test_only_names_of_this_machine_are_answered(
    session: aiohttp.ClientSession, host: str, status: int
) -> None:
    assert (await text(session, "GET", "/api/v1/messages", headers={"host": host}))[0] == status
