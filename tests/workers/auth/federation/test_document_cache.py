"""Documents that are kept for an hour."""

from workers.auth.federation.document_cache import DocumentCache, Published


class Source:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self) -> Published:
        self.asked += 1
        return {"number": self.asked}


async def test_a_document_is_fetched_once_an_hour():
    documents, source = DocumentCache(), Source()

    for now in (0.0, 3599.0, 3600.0):
        found = await documents.get("a", now, source)

    assert found == {"number": 2}


async def test_a_reader_may_want_a_newer_one():
    documents, source = DocumentCache(), Source()
    for now, lasts_s in ((0.0, 3600.0), (59.0, 60.0), (60.0, 60.0), (61.0, 0.0)):
        await documents.get("a", now, source, lasts_s=lasts_s)

    assert source.asked == 3


async def test_a_clock_that_was_set_back_does_not_keep_a_document():
    documents, source = DocumentCache(), Source()

    for now in (10_000_000.0, 0.0, 59.0):
        found = await documents.get("a", now, source, lasts_s=60.0)

    assert found == {"number": 2}


async def test_those_that_nobody_asks_for_go_first():
    documents, source, others = DocumentCache(), Source(), Source()
    await documents.get("a", 0.0, source)
    for number in range(1000):
        await documents.get(f"b{number}", 0.0, others)
        await documents.get("a", 0.0, source)

    await documents.get("b0", 0.0, others)

    assert (source.asked, others.asked) == (1, 1001)
