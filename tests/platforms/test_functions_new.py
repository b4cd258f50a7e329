"""`headwater functions new` on a running platform: when it ends, a page of another origin can call the function."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform import Platform, headwater, platform

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    with platform() as one:
        yield one


def called(
    running_platform: Platform, method: str, body: bytes | None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"{running_platform.url}/functions/v1/hello", body, names, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()


def test_a_new_function_answers_a_browser_as_soon_as_the_command_has_ended(
    running_platform: Platform,
) -> None:
    folder = running_platform.data.parent
    created = headwater(
        "functions", "new", "hello", "--project", str(folder), "--data", str(running_platform.data)
    )

    assert created.returncode == 0, created.stderr
    assert created.stdout.splitlines()[-1] == f"It answers at {running_platform.url}/functions/v1/hello."
    asked = "authorization, apikey, content-type, x-client-info"
    _, allowed, _ = called(
        running_platform, "OPTIONS", None,
        Origin="http://app.example", Access_Control_Request_Method="POST", Access_Control_Request_Headers=asked,
    )  # fmt: skip
    names = {name.strip().lower() for name in allowed["access-control-allow-headers"].split(",")}
    assert set(asked.split(", ")) <= names
    assert allowed["access-control-allow-origin"] == "*"
    key = running_platform.values["ANON_KEY"]
    for body, message in [
        (None, "Hello world!"),
        (b"{}", "Hello world!"),
        (b"null", "Hello world!"),
        (b'{"name": "Ada"}', "Hello Ada!"),
    ]:
        _, _, answer = called(
            running_platform, "POST", body or b"", Authorization=f"Bearer {key}", Origin="http://app.example"
        )
        assert json.loads(answer) == {"message": message}


def test_without_a_platform_of_the_folder_the_command_says_what_to_do(tmp_path: Path) -> None:
    created = headwater("functions", "new", "hello", "--project", str(tmp_path))

    assert created.returncode == 0
    assert created.stdout.splitlines()[-1] == (
        "Start the platform with `headwater start`; it answers at /functions/v1/hello."
    )
