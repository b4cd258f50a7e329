"""Attack: whoever writes functions or SQL of a project acts as an administrator who opens what they return, or reads the session's cookie.

The dashboard is of the same origin as the API, so its session goes along with every request there.
"""

import json
import uuid

import pytest

from tests.attacks.chromium import chromium
from tests.attacks.client import Received, send
from tests.attacks.hosting import Hosting
from tests.attacks.probe import run_sql
from tests.platform import Platform

_COOKIES = "a=1; headwater_session=stolen; __Host-headwater_session=stolen; b=2"
_PAGE = """<!doctype html><script>
(async () => {
  const seen = { origin: self.origin };
  try { seen.cookie = document.cookie } catch (e) { seen.cookie = e.name }
  try { seen.storage = String(localStorage) } catch (e) { seen.storage = e.name }
  try { seen.read = (await fetch("/management/v1/openapi.json", { credentials: "include" })).status } catch (e) { seen.read = e.name }
  try { seen.framed = await new Promise((ok) => { const f = document.createElement("iframe"); f.src = "/_/";
    f.onload = () => { try { ok(f.contentDocument.title) } catch (e) { ok(e.name) } }; document.documentElement.append(f) }) } catch (e) { seen.framed = e.name }
  document.documentElement.dataset.seen = JSON.stringify(seen);
})();
</script>"""
_FUNCTION = """Deno.serve(async (req) => {
  const kind = new URL(req.url).searchParams.get("kind");
  if (kind === "cookies") return Response.json(req.headers.get("cookie"));
  const headers: Record<string, string> = kind ? { "content-type": kind } : {};
  if (kind === "own policy") { headers["content-type"] = "text/html"; headers["content-security-policy"] = "default-src *" }
  return new Response(new TextEncoder().encode(PAGE), { headers });
});"""
_SQL = """
create domain public."text/html" as text;
create function public.page_{mark}() returns public."text/html" language sql as $f$ select $page${page}$page$ $f$;
create function public.switched_{mark}() returns json language sql as $f$
  select set_config('response.headers', '[{{"content-type": "text/html"}}, {{"content-security-policy": "default-src *"}}]', true);
  select '{{}}'::json $f$;
create function public.cookies_{mark}() returns json language sql as $f$
  select json_build_array(current_setting('request.cookies', true), current_setting('request.headers', true)) $f$;
notify pgrst, 'reload schema';
"""


@pytest.fixture(scope="module")
def paths(target: Platform) -> dict[str, str]:
    """Addresses of pages of the project's, and of what shows the cookies that arrive."""
    mark = uuid.uuid4().hex[:8]
    hosting = Hosting(target)
    assert hosting.deploy(f"paged{mark}", f"const PAGE = {json.dumps(_PAGE)};" + _FUNCTION)[0] == 200
    run_sql(target.values["DB_URL"], 'drop domain if exists public."text/html" cascade')
    assert run_sql(target.values["DB_URL"], _SQL.format(mark=mark, page=_PAGE)).returncode == 0
    function, key = f"/functions/v1/paged{mark}", f"apikey={target.values['ANON_KEY']}"
    while send(target, "GET", f"/rest/v1/rpc/cookies_{mark}").status == 404:
        pass  # until the schema cache has them; the test's time limit ends this
    return {
        "function": f"{function}?{key}&kind=text/html",
        "image with scripts": f"{function}?{key}&kind=image/svg%2Bxml",
        "no type": f"{function}?{key}",
        "own policy": f"{function}?{key}&kind=own%20policy",
        "rest": f"/rest/v1/rpc/page_{mark}?{key}",
        "rest, type by the function": f"/rest/v1/rpc/switched_{mark}?{key}",
        "function's cookies": f"{function}?{key}&kind=cookies",
        "rest's cookies": f"/rest/v1/rpc/cookies_{mark}?{key}",
    }


def _opened(target: Platform, path: str) -> Received:
    """Send what a browser sends that opens an address."""
    asked = {"accept": "text/html,*/*;q=0.8", "cookie": _COOKIES}
    answer = send(target, "GET", path.replace(f"apikey={target.values['ANON_KEY']}", ""), headers=asked)
    assert answer.status == 200, (path, answer.body)
    return answer


def test_what_a_project_returns_has_no_session_and_is_not_of_the_dashboards_origin(
    target: Platform, paths: dict[str, str]
) -> None:
    for name, path in paths.items():
        answer = _opened(target, path)
        if "cookies" in name:
            assert "stolen" not in answer.body.decode(), name
            assert "a=1" in answer.body.decode() or '\\"a\\"' in answer.body.decode(), name
        else:
            policies = [value for key, value in answer.lines if key == "content-security-policy"]
            assert any(
                text.startswith("sandbox ") and "allow-same-origin" not in text for text in policies
            ), name


@pytest.mark.parametrize("kind", ["function", "rest"])
def test_a_page_of_a_project_is_nobody_at_the_dashboard(
    target: Platform, paths: dict[str, str], kind: str
) -> None:
    with chromium() as browser:
        page = browser.page()
        page.open(target.url + paths[kind])
        assert page.wait(lambda: page.evaluate("document.documentElement.dataset.seen || ''"))
        seen = json.loads(page.evaluate("document.documentElement.dataset.seen"))

    assert seen == {
        "origin": "null",
        "cookie": "SecurityError",
        "storage": "SecurityError",
        "read": "TypeError",
        "framed": "TypeError",
    }
