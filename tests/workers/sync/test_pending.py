"""What waits for a database that stalls has a bound."""

from workers.sync.pending import PendingChange


def test_a_stalled_database_costs_bounded_memory_and_the_last_transactions_are_named():
    waiting, row = PendingChange(0), ("1",)
    for txid in range(200_001):
        change = PendingChange(txid)
        change.add_txid(txid)
        change.add_key(row, txid)
        waiting.merge(change)

    assert waiting.reads_all  # the numbers of one row's transactions were more than are remembered
    assert sum(map(len, waiting.keys.values())) <= 100_000
    assert list(waiting.txids) == list(range(190_001, 200_001))
