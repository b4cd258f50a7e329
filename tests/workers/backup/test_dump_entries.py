"""Which entries of a dump are restored as what."""

from workers.backup.dump_entries import DumpEntry, divide_entries, entry_list, read_entries

_PLATFORM = """;
; Archive created at 2026-01-31
10; 2615 1 SCHEMA - auth supabase_admin
11; 1259 2 TABLE auth users supabase_auth_admin
12; 1255 3 FUNCTION auth uid() supabase_auth_admin
13; 0 0 ACL - SCHEMA auth supabase_admin
"""
_DUMP = """;
2; 3079 16385 EXTENSION - pgcrypto\x20
3; 0 0 COMMENT - EXTENSION pgcrypto\x20
20; 2615 9 SCHEMA - auth supabase_admin
21; 2615 9 SCHEMA - shop postgres
22; 1259 9 TABLE auth users supabase_auth_admin
23; 1255 9 FUNCTION auth uid() postgres
24; 1255 9 FUNCTION public two words(integer, text) postgres
25; 0 9 TABLE DATA auth users supabase_auth_admin
26; 0 9 TABLE DATA shop items postgres
27; 0 9 TABLE DATA headwater decisions supabase_admin
28; 0 9 TABLE DATA cron job supabase_admin
29; 3466 9 EVENT TRIGGER - mine postgres
30; 0 9 COMMENT - EVENT TRIGGER mine postgres
31; 6104 9 PUBLICATION - all postgres
32; 0 0 ACL - SCHEMA auth supabase_admin
33; 0 0 ACL cron TABLE job supabase_admin
34; 0 0 ACL shop TABLE items postgres
35; 2620 9 TRIGGER auth users on_user supabase_auth_admin
38; 2620 9 TRIGGER auth users headwater_webhooks supabase_auth_admin
39; 2620 9 TRIGGER shop items headwater_history postgres
42; 2620 9 TRIGGER shop items headwater_cause postgres
40; 1259 9 TABLE headwater_history v1 supabase_admin
36; 1259 9 TABLE realtime messages_2026_01_01 supabase_realtime_admin
41; 0 9 TABLE DATA headwater_jobs runs supabase_admin
37; 1255 9 FUNCTION headwater event_1() supabase_admin
"""


def _names(entries: list[DumpEntry]) -> list[str]:
    return [f"{entry.kind} {entry.place}" for entry in entries]


def test_what_the_platform_makes_is_left_out_and_its_rows_replace_ours() -> None:
    parts = divide_entries(read_entries(_DUMP), read_entries(_PLATFORM), {"supabase_admin"})

    assert _names(parts.schemas) == ["SCHEMA - shop"]
    assert _names(parts.main) == [
        "FUNCTION public two words(integer, text)",
        "TABLE DATA auth users",
        "TABLE DATA shop items",
        "ACL shop TABLE items",
        "TRIGGER auth users on_user",
    ]
    assert parts.emptied == ["auth users"]
    assert _names(parts.jobs) == ["TABLE DATA cron job"]
    assert _names(parts.last) == ["EVENT TRIGGER - mine", "COMMENT - EVENT TRIGGER mine", "PUBLICATION - all"]
    assert _names(parts.rights) == ["ACL - SCHEMA auth", "ACL cron TABLE job"]


def test_a_function_of_the_platforms_name_is_the_platforms_whoever_owns_it() -> None:
    parts = divide_entries(read_entries(_DUMP), read_entries(_PLATFORM), set())

    assert not any(entry.place == "auth uid()" for entry in parts.main)


def test_a_list_is_written_as_it_was_read() -> None:
    entries = read_entries(_DUMP)

    assert read_entries(entry_list(entries)) == entries
    assert len(entries) == 25
