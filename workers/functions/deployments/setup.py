"""Build the deployments of a worker from the settings: blob store, encryption of secrets, folder of unpacked versions."""

import os
from pathlib import Path

from broker.blobs.store import BlobStore
from broker.nats.connection import NatsConnection
from broker.processes.confinement import NO_CONFINEMENT, NO_CONFINEMENT_ADVICE
from schemas.keys.sealing_keys import sealing_keys, signing_secrets
from schemas.settings.tree import Settings
from workers.functions.catalog.catalog import FunctionCatalog
from workers.functions.catalog.overlay import UnpackedVersion
from workers.functions.catalog.registry import read_functions
from workers.functions.deployments.deployments import Deployments, VersionCheck
from workers.functions.deployments.sealing import SecretSealer
from workers.functions.deployments.store import DeploymentStore
from workers.functions.host.file_access import grant_read
from workers.functions.host.host import FunctionHost
from workers.functions.imports.sandboxed import prepare_in_sandbox


def deployments_of(
    settings: Settings,
    blobs: BlobStore,
    host: FunctionHost,
    catalog: FunctionCatalog,
    connection: NatsConnection | None,
) -> Deployments:
    """Return the deployments of a worker; once started, they take precedence over the local functions of its catalog."""
    return Deployments(
        DeploymentStore(blobs, sealer_of(settings)),
        host.home / f"deployed-{os.getpid()}",
        catalog.use,
        version_check(settings, host),
        connection,
        versions_kept=settings.edge_runtime.versions_kept,
        grant=lambda name, path: grant_read(path, host.users.user_of(name)),
        folder_mode=host.deployed_mode,
    )


def sealer_of(settings: Settings) -> SecretSealer:
    """Return the encryption for the secrets of this platform."""
    auth = settings.auth
    return SecretSealer(tuple(signing_secrets(auth)), tuple(sealing_keys(auth)))


def version_check(settings: Settings, host: FunctionHost) -> VersionCheck:
    """Return a function that fetches the modules of an unpacked version, in the way its processes will load them."""

    may_run = host.features.is_enough or settings.edge_runtime.unsafe_without_sandbox

    def check(unpacked: UnpackedVersion) -> tuple[list[str], str]:
        if not may_run:
            return [], f"{NO_CONFINEMENT}. {NO_CONFINEMENT_ADVICE}"
        functions, warnings = read_functions(
            unpacked.root, {unpacked.name: unpacked.settings}, settings.edge_runtime, {}
        )
        function = functions.get(unpacked.name)
        if function is None:
            if not unpacked.settings.enabled:
                return warnings, ""
            return warnings, warnings[0] if warnings else "it is not a function"
        prepared = prepare_in_sandbox(host, function, offline=settings.edge_runtime.offline, thorough=True)
        base = f"{Path(os.path.realpath(unpacked.root.parent)).as_uri()}/"
        failure = prepared.failure.replace(base, "").replace(f"{unpacked.root.parent.as_uri()}/", "")
        return [*warnings, *prepared.warnings], failure

    return check
