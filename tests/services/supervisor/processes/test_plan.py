import signal

import pytest

from schemas.keys.secret import Secret
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.storage import ImageTransformation, Storage
from schemas.settings.tree import Auth, Broker, Db, Inbucket, Settings
from services.supervisor.errors import StartRefused
from services.supervisor.processes.plan import (
    ConnectionUrls,
    EmbeddedServer,
    PartSelection,
    ReadySignal,
    make_plan,
    needs_mail,
    needs_nats,
    needs_postgres,
    restart_delay,
    select_parts,
)

LINKS = ConnectionUrls(
    "postgresql://authenticator", "postgresql://owner", "nats://edges", "nats://pools", "nats://changes"
)
POSTGRES = EmbeddedServer(("postgres",), {}, "Postgres")
NATS = EmbeddedServer(("nats-server",), {}, "NATS")
EVERYTHING = PartSelection()
DEFAULTS = Settings()


def plan(choice=EVERYTHING, *, postgres=POSTGRES, nats=NATS, settings=DEFAULTS):
    children = make_plan(
        settings,
        choice,
        python=("python",),
        environment={"A": "1"},
        links=LINKS,
        postgres=postgres,
        nats=nats,
    )
    return {child.name: child for child in children}


def test_one_machine_runs_two_servers_the_migration_and_four_processes():
    assert list(plan()) == ["postgres", "nats", "migrate", "pools", "changes", "images", "functions", "edges"]


def test_children_wait_for_what_they_need():
    children = plan()

    assert children["migrate"].after == ("postgres",)
    assert children["pools"].after == ("migrate", "nats")
    assert children["images"].after == ("nats",)
    assert children["edges"].after == ("nats",)


def test_every_child_is_started_after_what_it_waits_for():
    children = plan()
    order = list(children)

    assert all(
        order.index(name) < order.index(child.name) for child in children.values() for name in child.after
    )


def test_edges_stop_before_pools_and_pools_before_servers():
    children = plan()

    assert (
        children["edges"].stage
        > children["pools"].stage
        > children["postgres"].stage
        == children["nats"].stage
    )


def test_our_processes_do_not_look_for_modules_in_the_present_folder():
    children = plan()

    assert children["edges"].argv == ("python", "-P", "-m", "services", "gateway", "mail")
    assert children["pools"].argv == (
        "python", "-P", "-m", "workers", "rest", "graphql", "auth", "storage", "scheduler", "webhooks", "history",
        "management",
    )  # fmt: skip
    assert children["images"].argv == ("python", "-P", "-m", "workers", "images")
    assert children["migrate"].argv == ("python", "-P", "-m", "workers", "migrate")


def test_each_wing_gets_only_its_own_access():
    children = plan()

    assert "HEADWATER_DB_URL" not in children["edges"].environment
    assert children["edges"].environment["HEADWATER_BROKER_URL"] == "nats://edges"
    assert children["pools"].environment["HEADWATER_BROKER_URL"] == "nats://pools"
    assert children["images"].environment["HEADWATER_BROKER_URL"] == "nats://pools"
    assert "HEADWATER_DB_URL" not in children["images"].environment
    assert children["pools"].environment["HEADWATER_DB_URL"] == "postgresql://authenticator"
    assert [name for name, child in children.items() if "HEADWATER_MIGRATE_URL" in child.environment] == [
        "migrate"
    ]
    assert not children["postgres"].environment


def test_postgres_is_stopped_fast_and_a_process_has_time_to_drain():
    children = plan()

    assert children["postgres"].stop_signal == signal.SIGINT
    assert children["pools"].stop_timeout > Settings().pools.drain_timeout
    assert children["migrate"].ready is ReadySignal.EXIT


def test_outside_servers_are_not_children():
    children = plan(postgres=None, nats=None)

    assert list(children) == ["migrate", "pools", "changes", "images", "functions", "edges"]
    assert children["pools"].after == ("migrate",)
    assert children["edges"].after == ()


def test_edges_alone_touch_no_database():
    assert list(plan(PartSelection(pools=()), postgres=None)) == ["nats", "edges"]


def test_images_alone_touch_no_database():
    images = PartSelection(edges=(), pools=("images",))

    assert list(plan(images, postgres=None)) == ["nats", "images"]
    assert not needs_postgres(DEFAULTS, images)
    assert not needs_postgres(DEFAULTS, PartSelection(("gateway",), ("images",)))
    assert needs_postgres(DEFAULTS, PartSelection((), ("images", "rest")))


@pytest.mark.parametrize(
    "storage",
    [Storage(enabled=False), Storage(image_transformation=ImageTransformation(enabled=False))],
)
def test_images_that_are_switched_off_have_no_process(storage):
    assert "images" not in plan(settings=Settings(storage=storage))


def test_what_follows_the_log_has_a_process_of_its_own():
    children = plan()

    assert children["changes"].argv[:5] == ("python", "-P", "-m", "workers", "replication")
    assert children["changes"].after == ("migrate", "nats")
    assert children["changes"].environment["HEADWATER_DB_URL"] == "postgresql://authenticator"
    assert not {"replication", "realtime"} & set(children["pools"].argv)


def test_realtime_that_is_switched_off_has_no_process():
    assert "changes" not in plan(settings=Settings(realtime=RealtimeSettings(enabled=False)))


def test_nothing_chosen_is_everything():
    assert select_parts([], []) == PartSelection()


def test_naming_one_kind_leaves_the_other_out():
    assert select_parts(["gateway"], []) == PartSelection(("gateway",), ())
    assert select_parts([], ["rest"]) == PartSelection((), ("rest",))
    assert select_parts(["none"], []) == PartSelection((), ())
    assert select_parts(["gateway"], ["rest", "rest"]) == PartSelection(("gateway",), ("rest",))


@pytest.mark.parametrize(
    "settings", [Settings(inbucket=Inbucket(enabled=False)), Settings(auth=Auth(enabled=False))]
)
def test_without_mail_to_catch_there_is_no_catcher(settings):
    assert not needs_mail(settings, PartSelection())
    assert needs_mail(Settings(), PartSelection())
    assert not needs_mail(Settings(), PartSelection(("gateway",), ()))
    assert plan(settings=settings)["edges"].argv[-1] == "gateway"


@pytest.mark.parametrize(("edges", "pools"), [(["nope"], []), ([], ["nope"])])
def test_an_unknown_name_is_refused_with_the_known_ones(edges, pools):
    with pytest.raises(
        StartRefused,
        match=r"'nope'.*(gateway, mail|rest, graphql, auth, storage, images, functions, replication, realtime, sync, scheduler, webhooks, history, management, streams), or none",
    ):
        select_parts(edges, pools)


def test_embedded_servers_are_needed_where_no_outside_one_is_named():
    outside = Settings(db=Db(url=Secret("postgresql://h/d")), broker=Broker(url=Secret("nats://h")))

    assert needs_postgres(Settings(), PartSelection())
    assert needs_postgres(Settings(), PartSelection((), ()))
    assert not needs_postgres(Settings(), PartSelection(("gateway",), ()))
    assert not needs_postgres(outside, PartSelection())
    assert needs_nats(Settings())
    assert not needs_nats(outside)


def test_the_first_restart_is_at_once_and_later_ones_wait_longer_up_to_a_bound():
    delays = [restart_delay(lives) for lives in range(20)]

    assert delays[0] == 0
    assert delays == sorted(delays)
    assert delays[-1] == 10


def test_urls_with_passwords_do_not_show_themselves():
    assert "authenticator" not in repr(LINKS)
    assert "HEADWATER_DB_URL" not in repr(plan()["pools"])
