"""What of a dump is made by hand; tests/house/test_backup.py restores it."""

from workers.backup.publishing import parted

REST = [
    "; Archive created at 2026-01-01\n",
    "4512; 0 16412 TABLE DATA public publication postgres\n",
    "260; 1259 16400 TABLE public EVENT TRIGGER postgres\n",
    "9; 1255 16390 FUNCTION headwater event_0 owner\n",
    "4513; 0 0 COMMENT - TABLE publication postgres\n",
]
BY_HAND = [
    "4201; 6104 16391 PUBLICATION - supabase_realtime postgres\n",
    "4202; 0 0 COMMENT - PUBLICATION supabase_realtime postgres\n",
    "4203; 6106 16392 PUBLICATION TABLE public supabase_realtime notes postgres\n",
    "4204; 6237 16393 PUBLICATION TABLES IN SCHEMA public every postgres\n",
    "4205; 3466 16394 EVENT TRIGGER - note_changes postgres\n",
    "4206; 0 0 COMMENT - EVENT TRIGGER note_changes postgres\n",
]


def test_publications_and_event_triggers_are_kept_back_and_nothing_else() -> None:
    mixed = [line for pair in zip(REST, BY_HAND, strict=False) for line in pair] + BY_HAND[len(REST) :]

    assert parted("".join(mixed)) == ("".join(REST), "".join(BY_HAND))


def test_a_dump_without_them_is_left_as_it_is() -> None:
    assert parted("".join(REST)) == ("".join(REST), "")
