import asyncio

from services.realtime.sockets.outbox import FrameOutbox


class Writer:
    def __init__(self, fails: bool = False) -> None:
        self.flushed = 0
        self.fails = fails

    def flush(self) -> None:
        self.flushed += 1
        if self.fails:
            raise RuntimeError("a defect")


async def turn() -> None:
    """Let one turn of the loop pass."""
    await asyncio.sleep(0)


async def test_what_is_added_in_a_turn_is_flushed_after_it_once():
    outbox, writers = FrameOutbox(), [Writer(), Writer()]
    for writer in writers:
        outbox.add(writer)
    assert [writer.flushed for writer in writers] == [0, 0]

    await turn()

    assert [writer.flushed for writer in writers] == [1, 1]
    await turn()
    assert [writer.flushed for writer in writers] == [1, 1]


async def test_one_that_fails_does_not_stop_the_others():
    outbox, writers = FrameOutbox(), [Writer(fails=True), Writer()]
    for writer in writers:
        outbox.add(writer)

    await turn()

    assert writers[1].flushed == 1


async def test_a_writer_that_is_added_while_others_flush_comes_in_the_next_turn():
    outbox, late = FrameOutbox(), Writer()

    class Adding(Writer):
        def flush(self) -> None:
            outbox.add(late)

    outbox.add(Adding())
    await turn()
    assert late.flushed == 0

    await turn()

    assert late.flushed == 1
