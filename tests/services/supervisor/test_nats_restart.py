"""When nats-server is restarted for a stream that does not store."""

import itertools

from schemas.faults import Fault
from services.supervisor.nats_restart import PAUSES_S, ROOM, NatsRestartPolicy, free_bytes_at

STICKY = Fault("stream CHANGES", "does not store: no space left on device", is_sticky=True)
LOGGED = (
    b"[1] 2026/11/22 17:23:09.366788 [ERR] JetStream stream '$G > LETTERS' critical write error: "
    b"write /data/nats/store/jetstream/$G/streams/LETTERS/msgs/1.blk: no space left on device"
)


def test_it_is_restarted_when_there_is_room_and_never_while_the_disk_is_full() -> None:
    free = 0
    store = NatsRestartPolicy(lambda: free)

    assert store.reason_to_restart([STICKY], 0.0) == ""
    free = ROOM
    told = store.reason_to_restart([STICKY], 1.0)

    assert told == "stream CHANGES does not store: no space left on device, although 16 MiB are free"


def test_other_faults_restart_nothing() -> None:
    store = NatsRestartPolicy(lambda: 10 * ROOM)

    assert store.reason_to_restart([Fault("object store", "gone")], 0.0) == ""


def test_pauses_grow_while_the_fault_lasts_and_begin_anew_when_it_is_over() -> None:
    store = NatsRestartPolicy(lambda: 10 * ROOM)
    at, restarts = 0.0, []
    while at < 1000:
        if store.reason_to_restart([STICKY], at):
            restarts.append(at)
        at += 1.0

    assert [later - earlier for earlier, later in itertools.pairwise(restarts)][:5] == list(PAUSES_S)
    assert store.reason_to_restart([], 2000.0) == ""
    assert store.reason_to_restart([STICKY], 2001.0)
    assert store.reason_to_restart([STICKY], 2001.0 + PAUSES_S[0])


def test_a_failed_write_is_known_from_the_log_until_the_server_starts_anew() -> None:
    store = NatsRestartPolicy(lambda: ROOM)
    store.read_log_line(LOGGED)
    store.read_log_line(b"[1] [INF] Server is ready")

    assert [(fault.part, fault.reason) for fault in store.logged_faults] == [
        ("stream LETTERS", "does not store: no space left on device")
    ]
    assert store.reason_to_restart([], 0.0)
    store.clear_log()
    assert store.reason_to_restart([], 100.0) == ""


def test_a_folder_that_cannot_be_looked_at_has_no_room(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert free_bytes_at(tmp_path / "nothing") == 0
    assert free_bytes_at(tmp_path) > 0
