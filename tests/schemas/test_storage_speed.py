"""How long listings take in 100,000 objects of 10,000 folders: printed (`pytest -s`), not judged, but for the plans."""

import re
import time

import pytest

from tests.schemas.callers import become

LISTINGS = {
    "storage.search('', 'big')": "idx_objects_bucket_id_name_folded",
    "storage.search('', 'big', sortorder => 'desc')": "idx_objects_bucket_id_name_folded",
    "storage.search('', 'big', offsets => 9900)": "idx_objects_bucket_id_name_folded",
    "storage.search('', 'big', sortcolumn => 'created_at')": "idx_objects_bucket_id_name_folded",
    "storage.search('folder-77/', 'big')": "idx_objects_bucket_id_name_folded",
    "storage.search_v2('', 'big')": "idx_objects_bucket_id_name",
    "storage.search_v2('', 'big', start_after => 'folder-5/', sort_order => 'desc')": "idx_objects_bucket_id_name",
    "storage.list_objects_with_delimiter('big', '', '', 1000)": "idx_objects_bucket_id_name",
}


@pytest.fixture
async def big(admin):
    """The superuser, with a policy that all pass, and plans told as messages."""
    await admin.execute("insert into storage.buckets (id, name) values ('big', 'big')")
    await admin.execute(
        """
        insert into storage.objects (bucket_id, name, version, metadata)
        select 'big', format('folder-%s/file-%s.txt', number / 10, number % 10), gen_random_uuid(),
          '{"size": 11, "mimetype": "text/plain"}'
        from generate_series(0, 99999) as number
        """
    )
    await admin.execute("create policy shown on storage.objects for select using (bucket_id = 'big')")
    await admin.execute("analyze storage.objects; load 'auto_explain'")
    return admin


async def test_listings_seek_in_the_index(big):
    plans: list[str] = []
    big.add_log_listener(lambda _, message: plans.append(message.message))
    for role in ("service_role", "authenticated"):
        for listing, index in LISTINGS.items():
            await become(big, role)
            started = time.perf_counter()
            entries = await big.fetch(f"select name from {listing}")
            took = (time.perf_counter() - started) * 1000
            print(f"{role} {listing}: {len(entries)} entries in {took:.1f} ms")
            await big.execute("reset role; set local auto_explain.log_min_duration = 0")
            await big.execute(
                "set local auto_explain.log_nested_statements = on; set local client_min_messages = log"
            )
            plans.clear()
            await become(big, role)
            await big.fetch(f"select name from {listing}")
            await big.execute("reset role; set local client_min_messages = notice")
            await big.execute("set local auto_explain.log_min_duration = -1")

            seeks = [plan for plan in plans if "from storage.objects" in plan]
            assert seeks
            for plan in seeks:
                assert re.search(rf"Index (Only )?Scan (Backward )?using {index} on objects", plan), plan
                assert re.search(r"Index Cond: .* >= .* < ", plan), plan
            if listing == next(iter(LISTINGS)):
                print("\n".join(line for line in seeks[0].splitlines() if "Index" in line))
