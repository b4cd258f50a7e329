"""What is allocated after the gaps were filled lies in none of them."""

from broker.processes.allocation_gaps import fill_large_gaps, filled_gaps


def test_objects_are_placed_in_no_gap_that_was_there_before():
    blocks = [bytes(460) for _ in range(2000)]
    gaps = {id(block) for block in blocks[::2]}
    del blocks[::2]

    filling = filled_gaps()

    assert not gaps & {id(block) for block in [bytes(460) for _ in range(500)]}
    assert filling


def test_large_gaps_are_filled_in_bounded_time():
    blocks = [bytearray(5000) for _ in range(200)]
    del blocks[::2]

    fill_large_gaps()

    assert len(blocks) == 100
