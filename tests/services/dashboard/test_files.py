"""Which file the dashboard answers with, and with which headers."""

import gzip
from pathlib import Path

import brotli
import pytest

from schemas.http import Response, header
from services.dashboard.files import DashboardFiles

SCRIPT = b"console.log('script')"


@pytest.fixture
def files(tmp_path: Path) -> DashboardFiles:
    """A built dashboard of one page and one script."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text('<script src="{{root}}assets/main-1.js"></script>')
    (tmp_path / "assets" / "main-1.js.br").write_bytes(brotli.compress(SCRIPT))
    (tmp_path / "assets" / "main-1.js.gz").write_bytes(gzip.compress(SCRIPT))
    (tmp_path / "secret.txt").write_text("secret")
    return DashboardFiles(tmp_path)


@pytest.mark.parametrize(
    ("below", "root"),
    [("/", "./"), ("/tables", "./"), ("/tables/", "../"), ("/tables/public/a%2Fb", "../../"), ("//x", "../")],
)
def test_the_page_names_its_files_relative_to_its_address(
    files: DashboardFiles, below: str, root: str
) -> None:
    answer = files.answer(below)

    assert answer.body.decode() == f'<script src="{root}assets/main-1.js"></script>'
    assert header(answer.headers, "cache-control") == "no-cache"


def test_a_known_page_is_not_sent_again(files: DashboardFiles) -> None:
    tag = header(files.answer("/").headers, "etag") or ""

    assert files.answer("/", known_tags=f"W/{tag}").status == 304
    assert files.answer("/tables/x", known_tags=tag).status == 200


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip, br", "br"), ("gzip", "gzip"), ("*", "br"), ("br;q=0, gzip", "gzip"), ("", None)],
)
def test_a_script_is_sent_in_a_coding_that_the_client_takes(
    files: DashboardFiles, accepted: str, coding: str | None
) -> None:
    answer = files.answer("/assets/main-1.js", accepted)

    assert header(answer.headers, "content-encoding") == coding
    assert _decoded(answer) == SCRIPT
    assert header(answer.headers, "cache-control") == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "name",
    [
        "main-2.js",
        "../secret.txt",
        "..%2fsecret.txt",
        "",
        "a/b.js",
        "main-1.js.br",
        "main-1.js\0",
        "x" * 5000 + ".js",
    ],
)
def test_other_names_are_not_found(files: DashboardFiles, name: str) -> None:
    assert files.answer(f"/assets/{name}").status == 404


def test_a_clone_says_that_the_dashboard_comes_and_looks_again(tmp_path: Path) -> None:
    files = DashboardFiles(tmp_path / "none")

    answer = files.answer("/tables/x")

    assert answer.status == 503
    assert b"make dashboard" in answer.body
    assert b'src="../assets/_reload.js"' in answer.body
    assert files.answer("/assets/_reload.js").body.startswith(b"setTimeout")


def test_the_frame_runs_no_script(files: DashboardFiles) -> None:
    policy = header(files.answer("/frame").headers, "content-security-policy") or ""

    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "sandbox allow-same-origin" in policy
    assert "frame-ancestors 'self'" in policy


def _decoded(answer: Response) -> bytes:
    match header(answer.headers, "content-encoding"):
        case "br":
            return brotli.decompress(answer.body)
        case "gzip":
            return gzip.decompress(answer.body)
    return answer.body
