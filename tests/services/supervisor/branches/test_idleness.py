"""What keeps a branch awake, as its metrics say. That it stops: tests/platforms/test_branch_merges.py."""

from services.supervisor.branches.idleness import metric_sum


def test_metrics_of_a_name_are_summed_whatever_their_labels() -> None:
    text = (
        '# TYPE headwater_requests_total counter\nheadwater_requests_total{pool="rest",status="200"} 3\n'
        'headwater_requests_total{pool="auth",status="2 00"} 4.0\nheadwater_requests_total_other 9\nheadwater_realtime_sockets{member="a"} 1\n'
    )

    assert metric_sum(text, ("headwater_requests_total",)) == 7
    assert metric_sum(text, ("headwater_realtime_sockets", "headwater_graphql_sockets")) == 1
    assert metric_sum("", ("headwater_requests_total",)) == 0
