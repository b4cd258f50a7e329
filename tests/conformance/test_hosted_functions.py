"""The functions clients of JavaScript and Python against a running platform with hosted functions."""

import inspect
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from supabase_functions.errors import FunctionsHttpError, FunctionsRelayError

from tests.conformance.callers import connect
from tests.conformance.function_sources import write_functions
from tests.platform import Platform, platform

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def hosting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with functions."""
    project = tmp_path_factory.mktemp("hosting")
    write_functions(project)
    with platform("--project", str(project)) as one:
        deadline = time.monotonic() + 30
        while one.get("/functions/v1/echo")[0] != 200:
            assert time.monotonic() < deadline, "the functions did not appear"
            time.sleep(0.05)
        yield one


@pytest.fixture(scope="module")
def ada(hosting: Platform) -> str:
    """A person's access token."""
    claims = {"role": "authenticated", "aud": "authenticated", "sub": "ada", "exp": int(time.time()) + 3600}
    return jwt.encode(claims, hosting.values["JWT_SECRET"], algorithm="HS256")


@pytest.mark.node
@pytest.mark.timeout(240)
@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine")
@pytest.mark.usefixtures("node_modules")
def test_supabase_js_calls_functions(hosting: Platform, ada: str) -> None:
    done = subprocess.run(
        ["node", "--test", "functions.test.mjs"],
        cwd=HERE,
        env={**os.environ, **hosting.values, "TOKEN_ADA": ada},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


# The package hands its own deprecated argument to its own functions client.
@pytest.mark.filterwarnings("ignore:The '(timeout|verify|proxy)' parameter is deprecated:DeprecationWarning")
async def test_supabase_py_calls_functions(kind: str, hosting: Platform, ada: str) -> None:
    session = httpx.Client() if kind == "sync" else httpx.AsyncClient()
    caller = await connect(kind, hosting.url, hosting.values["ANON_KEY"], httpx_client=session)

    async def invoke(name: str, **options: Any) -> Any:
        answer = caller.client.functions.invoke(name, invoke_options=options)
        return await answer if inspect.isawaitable(answer) else answer

    sent = json.loads(await invoke("echo", body={"a": 1}))
    assert (sent["method"], json.loads(sent["text"])) == ("POST", {"a": 1})
    assert json.loads(await invoke("echo", body="text"))["text"] == "text"
    assert json.loads(await invoke("echo", method="GET", headers={"x-own": "1"}))["headers"]["x-own"] == "1"
    assert (await invoke("kinds/json", responseType="json"))["a"] == 1
    assert await invoke("kinds/blob") == b"\x01\x02\x03"
    with pytest.raises(FunctionsHttpError):
        await invoke("missing")
    with pytest.raises(FunctionsRelayError):
        await invoke("echo", headers={"Authorization": f"Bearer {ada[:-4]}abcd"})
    caller.client.functions.set_auth(ada)
    assert json.loads(await invoke("echo"))["headers"]["authorization"] == f"Bearer {ada}"
    await caller.close()
    if isinstance(session, httpx.AsyncClient):
        await session.aclose()
    else:
        session.close()
