"""From settings to the deployments of a worker: the blob store, the sealer, the folder where versions are unpacked."""

import os
from pathlib import Path

from broker.blobs.store import BlobStore
from broker.nats.connection import NatsConnection
from broker.processes.confinement import NO_CONFINEMENT, NO_CONFINEMENT_ADVICE
from schemas.settings.tree import Settings
from workers.functions.deployments import Check, Deployments
from workers.functions.overlay import Laid
from workers.functions.places import Places, give_to
from workers.functions.preparing import prepare_in
from workers.functions.registry import read_functions
from workers.functions.sealing import Sealer
from workers.functions.shelf import Shelf
from workers.functions.store import Store


def deployments_of(
    settings: Settings, blobs: BlobStore, places: Places, shelf: Shelf, connection: NatsConnection | None
) -> Deployments:
    """Make the deployments of a worker; they lie over the functions of its shelf once they are started."""
    return Deployments(
        Store(blobs, sealer_of(settings)),
        places.home / f"deployed-{os.getpid()}",
        shelf.use,
        checking(settings, places),
        connection,
        versions_kept=settings.edge_runtime.versions_kept,
        give=lambda name, path: give_to(path, places.users.user_of(name)),
        folder_mode=places.deployed_mode,
    )


def sealer_of(settings: Settings) -> Sealer:
    """Give what seals the secrets of this platform."""
    return Sealer(settings.auth.jwt_secret.reveal().encode())


def checking(settings: Settings, places: Places) -> Check:
    """Give what fetches the modules of an unpacked version, as its processes will want them."""

    is_held = places.walls.is_enough or settings.edge_runtime.unsafe_without_sandbox

    def check(laid: Laid) -> tuple[list[str], str]:
        if not is_held:
            return [], f"{NO_CONFINEMENT}. {NO_CONFINEMENT_ADVICE}"
        found, warnings = read_functions(laid.root, {laid.name: laid.settings}, settings.edge_runtime, {})
        function = found.get(laid.name)
        if function is None:
            return warnings, "" if not laid.settings.enabled else warnings[
                0
            ] if warnings else "it is no function"
        prepared = prepare_in(places, function, offline=settings.edge_runtime.offline, thorough=True)
        base = f"{Path(os.path.realpath(laid.root.parent)).as_uri()}/"
        failure = prepared.failure.replace(base, "").replace(f"{laid.root.parent.as_uri()}/", "")
        return [*warnings, *prepared.warnings], failure

    return check
