"""What users do in applications: sign up by a link, keep todos, look at one list in two windows, show a picture."""

import uuid
from collections.abc import Callable

import pytest

from tests.browser.emails import link_for
from tests.browser.windows import PASSWORD, Window, load_again
from tests.platform import Platform

pytestmark = [pytest.mark.process_group("browser"), pytest.mark.timeout(240)]

_LIVE = """
window.titles = []; window.readings = 0
supabase.channel('todos')
  .on('postgres_changes', { event: '*', schema: 'public', table: 'todos' }, ({ new: row }) => titles.push(row.title))
  .on('system', {}, ({ status }) => { if (status === 'ok') readings += 1 })
  .subscribe()
"""
_PICTURE = """
const canvas = Object.assign(document.createElement('canvas'), { width: 400, height: 200 })
canvas.getContext('2d').fillRect(50, 50, 100, 100)
const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'))
const { data: { user } } = await supabase.auth.getUser()
const path = `${user.id}/picture.png`
const uploaded = await supabase.storage.from('pictures').upload(path, blob)
if (uploaded.error) return uploaded.error.message
const { data, error } = await supabase.storage.from('pictures').createSignedUrl(path, 60, {
  transform: { width: 100, height: 50, resize: 'cover' } })
if (error) return error.message
const image = new Image()
image.src = data.signedUrl
await image.decode()
return [image.naturalWidth, image.naturalHeight]
"""
_RESUMABLE = """
const { data: { session } } = await supabase.auth.getSession()
const bytes = new Uint8Array(argument)
for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, Math.min(at + 65536, bytes.length)))
const path = `${session.user.id}/film.bin`
const parts = []
await new Promise((resolve, reject) => new Upload(new Blob([bytes]), {
  endpoint: `${API}/storage/v1/upload/resumable`, chunkSize: 6 * 1024 * 1024,
  headers: { authorization: `Bearer ${session.access_token}`, apikey: KEY },
  metadata: { bucketName: 'pictures', objectName: path, contentType: 'application/octet-stream' },
  onChunkComplete: (size) => parts.push(size), onSuccess: resolve, onError: reject,
}).start())
const { data } = await supabase.storage.from('pictures').download(path)
const back = new Uint8Array(await data.arrayBuffer())
return [parts.length, back.length, back.every((byte, at) => byte === bytes[at])]
"""


async def test_a_user_signs_up_opens_the_link_of_the_mail_and_stays_signed_in(
    window: Window, server: Platform, origin: str
) -> None:
    email = f"{uuid.uuid4().hex[:12]}@example.com"
    session, error = await window.run(
        "const { data, error } = await supabase.auth.signUp(argument); return [data.session, error?.message]",
        {"email": email, "password": PASSWORD},
    )
    assert (session, error) == (None, None)

    await load_again(window, server, link_for(server, email))
    await window.wait_for_session()

    assert window.page.url.startswith(origin)
    assert "access_token" not in window.page.url
    await load_again(window, server)
    user = await window.run("return (await supabase.auth.getUser()).data.user.email")
    assert user == email


async def test_two_users_keep_their_todos_apart(
    window: Window, other_window: Window, new_user: Callable[[], str]
) -> None:
    for one, titles in ((window, ["bread", "milk"]), (other_window, ["paint"])):
        await one.sign_in(new_user())
        rows = [{"title": title} for title in titles]
        assert await one.run("return (await supabase.from('todos').insert(argument)).error", rows) is None

    read = "return (await supabase.from('todos').select('title').order('id')).data.map(({ title }) => title)"
    change = """
        const { data } = await supabase.from('todos').update({ title: 'stolen' }).eq('title', argument).select()
        return data.length
    """
    assert await other_window.run(change, "bread") == 0
    assert await window.run(read) == ["bread", "milk"]
    assert await other_window.run(read) == ["paint"]


async def test_a_window_shows_live_what_the_same_user_writes_in_another_and_nobody_elses(
    window: Window, other_window: Window, new_user: Callable[[], str], origin: str, server: Platform
) -> None:
    email = new_user()
    await window.sign_in(email)
    await other_window.sign_in(new_user())
    for one in (window, other_window):
        await one.run(_LIVE)
        await one.wait_for("readings === 1")
    second = await window.page.context.new_page()
    await second.goto(origin)
    await second.wait_for_function("window.isReady")
    insert = """async ([url, key, title]) => {
        const client = createClient(url, key)
        return (await client.from('todos').insert({ title })).error?.message
    }"""

    error = await second.evaluate(insert, [server.url, server.values["ANON_KEY"], "live"])
    assert error is None, error  # the session is in the browser's storage, which both windows share
    await window.wait_for("titles.length === 1")
    await other_window.run("await supabase.from('todos').insert({ title: 'mine' })")
    await other_window.wait_for("titles.length === 1")

    assert await window.run("return titles") == ["live"]
    assert await other_window.run("return titles") == ["mine"]


async def test_a_picture_is_uploaded_and_shown_in_another_size(
    window: Window, new_user: Callable[[], str]
) -> None:
    await window.sign_in(new_user())

    assert await window.run(_PICTURE) == [100, 50]


async def test_a_large_file_is_uploaded_in_parts(window: Window, new_user: Callable[[], str]) -> None:
    await window.sign_in(new_user())

    assert await window.run(_RESUMABLE, 7_000_000) == [2, 7_000_000, True]
