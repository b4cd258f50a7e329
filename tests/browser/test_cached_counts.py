"""Counts of supabase-js through the browser's HTTP cache: REST reads carry an entity tag, so the browser revalidates them.

All kinds of count of one query share a URL and thus one entry of the cache: the header `Prefer` tells them apart. A response
304 to a request for another count would leave the stored `Content-Range`, from which supabase-js parses NaN or a wrong count.
Source: RFC 9111, 3.2 and 4.3; docs/reference/rest.md, sections 11 and 19.
"""

import itertools

import pytest

from tests.browser.windows import Window

pytestmark = [pytest.mark.process_group("browser"), pytest.mark.timeout(240)]

_KINDS = (None, "exact", "planned", "estimated")
_IN_TURN = [kind for pair in itertools.product(_KINDS, repeat=2) for kind in pair]
"""Each kind after each other, and after itself."""
_READ = """
const [kinds, cache] = argument
const client = createClient(API, KEY, { global: { fetch: (url, options) => fetch(url, { ...options, cache }) } })
const answers = []
for (const count of kinds) {
  const query = client.from('tallies').select('title', count ? { count } : {}).order('id')
  const { data, count: total, error, status } = await query
  answers.push(error ? [error.message] : [data.map(({ title }) => title), Number.isNaN(total) ? 'NaN' : total, status])
}
return answers
"""


async def _answers(window: Window, kinds: list[str | None], cache: str) -> list[list[object]]:
    """Return rows, count and status of reads one after the other, with the cache mode of their `fetch`."""
    answers: list[list[object]] = await window.run(_READ, [kinds, cache])
    return answers


async def test_no_count_is_taken_for_another(window: Window) -> None:
    fresh = await _answers(window, list(_KINDS), "no-store")
    expected = dict(zip(_KINDS, fresh, strict=True))
    none, exact, planned = (expected[kind][1] for kind in _KINDS[:3])
    assert (none, exact) == (None, 3)
    assert isinstance(planned, int)
    assert planned > 3
    await window.network.settled()
    before = len(window.network.statuses)

    answers = await _answers(window, _IN_TURN, "default")

    assert answers == [expected[kind] for kind in _IN_TURN]
    # Each kind follows itself once. Chromium does not store a 206, which is what "planned" gives here.
    await window.network.settled()
    assert window.network.statuses[before:].count(304) >= 3


async def test_a_count_is_new_after_a_write(window: Window) -> None:
    await _answers(window, ["exact"], "default")
    insert = "return (await supabase.from('tallies').insert({ title: 'four' }).select('id').single()).data.id"
    remove = "return (await supabase.from('tallies').delete().eq('id', argument)).error"

    identity = await window.run(insert)
    after = await _answers(window, ["exact", None, "exact"], "default")
    assert await window.run(remove, identity) is None
    at_last = await _answers(window, ["exact", "exact"], "default")

    assert [answer[1] for answer in after] == [4, None, 4]
    assert [answer[1] for answer in at_last] == [3, 3]
    await window.network.settled()
    assert window.network.statuses[-1] == 304
