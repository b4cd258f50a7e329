"""Messages between edges: packets of any size come back as they were, or not at all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.codec import InvalidMessage
from services.realtime.topics.messages import MessageAssembler, PayloadForm, TopicMessage, packets

ONE, TWO = "a" * 16, "b" * 16


@settings(max_examples=20)
@given(st.lists(st.integers(0, 1_500_000), min_size=1, max_size=4))
def test_messages_of_any_size_come_in_order(sizes: list[int]) -> None:
    sent = [TopicMessage("t", True, "e", b"x" * size, PayloadForm.BINARY) for size in sizes]
    assembler = MessageAssembler(TWO)

    arrived = [
        found
        for number, message in enumerate(sent)
        for packet in packets(ONE, number, message)
        if (found := assembler.take(packet)) is not None
    ]

    assert arrived == sent


def test_own_packets_are_passed_over() -> None:
    (packet,) = packets(ONE, 0, TopicMessage("t", False, "e", b"1"))

    assert MessageAssembler(ONE).take(packet) is None


def test_message_with_a_lost_part_is_dropped_and_the_next_one_comes() -> None:
    large = TopicMessage("t", False, "e", b"x" * 1_500_000)
    assembler = MessageAssembler(TWO)
    parts = packets(ONE, 0, large)

    found = [assembler.take(part) for part in (parts[0], parts[2], *packets(ONE, 1, large))]

    assert [each is not None for each in found] == [False] * 4 + [True]


def test_what_is_no_message_is_undecodable() -> None:
    for data in (b"", b"x" * 40, ONE.encode() + b"w\xff", ONE.encode() + b"p\xff"):
        with pytest.raises(InvalidMessage):
            MessageAssembler(TWO).take(data)
