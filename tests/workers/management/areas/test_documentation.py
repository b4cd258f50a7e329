"""The search over the manual."""

import pytest

from tests.docs.pages import ROOT
from workers.management.areas.documentation import NOT_SHIPPED, page_names, read_page, search, sections_of


def test_sections_have_the_headings_above_them() -> None:
    page = "# Page\n\nIntro\n\n## One\n\n```sh\n# no heading\n```\n\n### Two\n\n## Three\ntext\n"
    sections = sections_of("page", page)

    assert [(section.heading, section.text) for section in sections] == [
        ("Page", "Intro"),
        ("Page: One", "```sh\n# no heading\n```"),
        ("Page: Three", "text"),
    ]
    assert {section.uri for section in sections} == {"docs://page"}


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("resumable uploads", "storage-resumable"),
        ("graphql subscriptions", "graphql-subscriptions"),
        ("cron schedule", "schedules-and-queues"),
        ("mcp token agent", "mcp"),
        ("presence broadcast channel", "realtime"),
    ],
)
def test_the_page_of_a_subject_comes_first(query: str, page: str) -> None:
    assert page in {section.uri.removeprefix("docs://") for section in search(query, 3)}


def test_every_page_of_the_manual_can_be_read() -> None:
    assert set(page_names()) == {path.stem for path in (ROOT / "docs").glob("*.md")} - NOT_SHIPPED
    assert all(read_page(name) for name in page_names())


@pytest.mark.parametrize(
    "name", ["", "no-such-page", "../README", "decisions", "/etc/passwd", "mcp.md", "a\0b"]
)
def test_what_is_no_page_cannot_be_read(name: str) -> None:
    assert read_page(name) is None
