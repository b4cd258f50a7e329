"""The forms of @supabase/auth-ui-react, filled in as users do: sign-up, sign-in, a forgotten password and a magic link."""

import uuid
from collections.abc import Callable

import pytest

from tests.browser.emails import link_for
from tests.browser.windows import PASSWORD, Window, load_again
from tests.platform import Platform

pytestmark = [pytest.mark.process_group("browser"), pytest.mark.timeout(240)]


async def _show(window: Window, view: str) -> None:
    await window.run(
        "showAuth({ supabaseClient: supabase, view: argument, providers: [], redirectTo: location.origin })",
        view,
    )


async def _submit(window: Window, email: str, password: str | None) -> None:
    await window.page.locator("input[name=email]").fill(email)
    if password is not None:
        await window.page.locator("input[name=password]").fill(password)
    await window.page.locator("button[type=submit]").click()


async def _user(window: Window) -> str:
    await window.wait_for_session()
    return str(await window.run("return (await supabase.auth.getUser()).data.user.email"))


async def test_a_sign_up_by_the_form_is_confirmed_by_its_link(window: Window, server: Platform) -> None:
    email = f"{uuid.uuid4().hex[:12]}@example.com"
    await _show(window, "sign_up")

    await _submit(window, email, PASSWORD)
    await window.page.get_by_text("Check your email for the confirmation link").wait_for()
    await load_again(window, server, link_for(server, email))

    assert await _user(window) == email


async def test_a_sign_in_by_the_form(window: Window, new_user: Callable[[], str]) -> None:
    email = new_user()
    await _show(window, "sign_in")

    await _submit(window, email, "a wrong passphrase")
    await window.page.get_by_text("Invalid login credentials").wait_for()
    await _submit(window, email, PASSWORD)

    assert await _user(window) == email


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("magic_link", "Check your email for the magic link"),
        ("forgotten_password", "Check your email for the password reset link"),
    ],
)
async def test_a_link_that_a_form_requests_signs_in(
    window: Window, server: Platform, new_user: Callable[[], str], view: str, message: str
) -> None:
    email = new_user()
    await _show(window, view)

    await _submit(window, email, None)
    await window.page.get_by_text(message).wait_for()
    await load_again(window, server, link_for(server, email))

    assert await _user(window) == email
