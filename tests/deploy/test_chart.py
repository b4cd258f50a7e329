"""The Helm chart: linted and rendered by Helm, and every manifest checked strictly by the schema of its kind.

Helm is a package of the development environment where it has one for the machine; elsewhere one on the path is used.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from broker.processes.secret_files import with_file_values
from schemas.settings.reading import load_settings
from services.supervisor.deployment import ServerAddresses, deployment_secrets
from tests.deploy.test_deployment_table import PROCESSES, ROOT, TABLE

CHART = ROOT / "deploy" / "helm" / "headwater"
KUBERNETES = "1.31"
EVERYTHING = (
    "autoscaling.enabled=true", "archive.enabled=true", "streams.enabled=true", "ingress.enabled=true", "ingress.host=a.example", "ingress.tlsSecret=tls",
    "ingress.className=nginx", "replicas.urls=postgresql://replica", "replicas.roles={anon,authenticated}",
    "project.existingClaim=project", "nats.storageClass=fast", "dataStorageClass=fast",
)  # fmt: skip
RUNNING = [name for name, row in PROCESSES.items() if not row.get("is_job")]
Manifest = dict[str, Any]


def helm() -> str:
    """Return the path of Helm, or skip the test."""
    found = shutil.which("helm", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip("Helm is no package for this machine: install it, and these tests run")
    return found


def rendered(*values: str) -> str:
    """Return the manifests of a release `hw`."""
    arguments = [part for value in values for part in ("--set", value)]
    done = subprocess.run(
        [helm(), "template", "hw", str(CHART), "--kube-version", f"{KUBERNETES}.0", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


class UniqueKeys(yaml.SafeLoader):
    """Reads YAML, and refuses a mapping that has a key twice, of which YAML itself takes the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key is there twice: {keys}"
        return super().construct_mapping(node, deep)


def checked(text: str) -> list[Manifest]:
    """Return the manifests, each without fields that Kubernetes does not know and values of another type."""
    manifests = [one for one in yaml.load_all(text, UniqueKeys) if one is not None]
    for one in manifests:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    return manifests


@pytest.fixture(scope="module")
def manifests() -> list[Manifest]:
    return checked(rendered(*EVERYTHING))


def of_kind(manifests: list[Manifest], *kinds: str) -> dict[str, Manifest]:
    """Return the manifests of some kinds by their component."""
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one
        for one in manifests
        if one["kind"] in kinds
    }


def pods(manifests: list[Manifest]) -> dict[str, Manifest]:
    """Return the pod templates of our processes."""
    found = of_kind(manifests, "Deployment", "StatefulSet", "Job")
    return {name: one["spec"]["template"] for name, one in found.items() if name != "nats"}


def test_helm_finds_nothing_to_complain_about() -> None:
    done = subprocess.run(
        [helm(), "lint", "--strict", str(CHART)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 chart(s) failed" in done.stdout


def test_the_default_values_render_without_the_optional_parts() -> None:
    kinds = {one["kind"] for one in checked(rendered())}

    assert not kinds & {"Ingress", "HorizontalPodAutoscaler"}
    assert {"Deployment", "StatefulSet", "Job", "PodDisruptionBudget", "Service", "ConfigMap"} == kinds
    optional = {name for name, row in PROCESSES.items() if row.get("is_optional")}
    assert pods(checked(rendered())).keys() == PROCESSES.keys() - optional


def test_a_nats_of_ones_own_leaves_ours_out() -> None:
    assert "nats" not in of_kind(
        checked(rendered("nats.enabled=false")), "StatefulSet", "Service", "ConfigMap"
    )


@pytest.mark.parametrize(
    ("field", "instead"),
    [
        ("terminationGracePeriodSeconds:", "terminationGraceSeconds:"),
        ("replicas: 2", "replicas: some"),
        ("apiVersion: policy/v1", "apiVersion: policy/v1beta1"),
    ],
)
def test_what_kubernetes_does_not_know_is_refused(field: str, instead: str) -> None:
    text = rendered()
    assert field in text

    with pytest.raises((kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError)):
        checked(text.replace(field, instead))


def test_every_process_runs_with_its_command_and_its_own_secrets(manifests: list[Manifest]) -> None:
    templates = pods(manifests)

    assert templates.keys() == PROCESSES.keys()
    for name, row in PROCESSES.items():
        container = templates[name]["spec"]["containers"][0]
        volumes = {volume["name"]: volume for volume in templates[name]["spec"]["volumes"]}
        mounted = {item["key"] for item in volumes["secrets"]["secret"]["items"]}
        read = set(re.findall(r"/run/secrets/([\w.]+)", json.dumps(container["env"])))
        assert container["command"] == ["python", "-P", "-m", "headwater", *row["command"]]
        assert mounted == read
        assert mounted <= deployment_secrets(ServerAddresses()).keys()
        assert set(row.get("files", {}).values()) <= mounted
        assert ("db_url" in mounted) == bool(row.get("has_database"))


@pytest.mark.parametrize("name", PROCESSES)
def test_settings_of_a_pod_can_be_read(name: str, manifests: list[Manifest], tmp_path: Path) -> None:
    secrets = deployment_secrets(ServerAddresses())
    for secret, text in secrets.items():
        (tmp_path / secret).write_text(text)
    environment = {
        one["name"]: one["value"].replace("/run/secrets", str(tmp_path))
        for one in pods(manifests)[name]["spec"]["containers"][0]["env"]
    }

    settings, warnings = load_settings(b"", with_file_values(environment), source="none")

    assert warnings == []
    assert settings.auth.jwt_secret.matches(secrets["jwt_secret"])
    assert settings.broker.replicas == 3
    if PROCESSES[name].get("has_database"):
        assert settings.db.replicas.roles == ["anon", "authenticated"]
        assert settings.db.replicas.urls is not None


@pytest.mark.parametrize("name", RUNNING)
def test_a_pod_is_probed_confined_and_drains(name: str, manifests: list[Manifest]) -> None:
    pod = pods(manifests)[name]["spec"]
    container = pod["containers"][0]
    environment = {one["name"]: one["value"] for one in container["env"]}

    assert pod["terminationGracePeriodSeconds"] > int(environment["HEADWATER_POOLS_DRAIN_TIMEOUT"])
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"]["limits"].keys() == {"cpu", "memory"}
    if name == "gateway":
        assert container["readinessProbe"]["httpGet"]["path"] == "/health/gateway"
        seen_within = (
            container["readinessProbe"]["periodSeconds"] * container["readinessProbe"]["failureThreshold"]
        )
        assert seen_within < int(environment["HEADWATER_GATEWAY_DRAIN_DELAY"])
    else:
        assert f"-lt {TABLE['silent_s']}" in container["livenessProbe"]["exec"]["command"][2]
        assert environment["HEADWATER_ALIVE_FILE"] in container["readinessProbe"]["exec"]["command"][2]


@pytest.mark.parametrize("name", RUNNING)
def test_one_pod_at_a_time_is_disrupted_and_load_adds_more(name: str, manifests: list[Manifest]) -> None:
    workload = of_kind(manifests, "Deployment", "StatefulSet")[name]
    budget = of_kind(manifests, "PodDisruptionBudget").get(name)
    scaler = of_kind(manifests, "HorizontalPodAutoscaler").get(name)

    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert (budget is not None) == (PROCESSES[name]["replicas"] > 1)
    if budget is not None:
        assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert budget["spec"]["maxUnavailable"] == 1
    assert (scaler is not None) == ("scales_by" in PROCESSES[name])
    if scaler is None:
        assert workload["spec"]["replicas"] == PROCESSES[name]["replicas"]
        return
    assert "replicas" not in workload["spec"]
    assert scaler["spec"]["scaleTargetRef"]["name"] == workload["metadata"]["name"]
    assert scaler["spec"]["minReplicas"] >= 2
    metric = scaler["spec"]["metrics"][0]
    if PROCESSES[name]["scales_by"] != "cpu":
        assert metric["external"]["metric"]["name"] == "headwater_pool_waiting"
        assert metric["external"]["metric"]["selector"]["matchLabels"] == {
            "pool": PROCESSES[name]["scales_by"]
        }


def test_nats_is_a_cluster_of_three_that_leaves_in_order(manifests: list[Manifest]) -> None:
    nats = of_kind(manifests, "StatefulSet")["nats"]["spec"]
    service = of_kind(manifests, "Service")["nats"]
    config = of_kind(manifests, "ConfigMap")["nats"]["data"]["headwater.conf"]
    container = nats["template"]["spec"]["containers"][0]

    assert (nats["replicas"], nats["serviceName"]) == (3, service["metadata"]["name"])
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["spec"]["selector"].items() <= nats["template"]["metadata"]["labels"].items()
    lame_duck_s = int(re.findall(r"lame_duck_duration: (\d+)s", config)[0])
    assert nats["template"]["spec"]["terminationGracePeriodSeconds"] > lame_duck_s
    assert container["lifecycle"]["preStop"]["exec"]["command"][-1] == "ldm=/tmp/nats.pid"
    assert container["command"][-1] == "/tmp/nats.pid"
    assert config.strip() == (ROOT / "deploy" / "nats.conf").read_text().strip()


def test_the_migration_runs_before_a_release_and_its_upgrade(manifests: list[Manifest]) -> None:
    job = of_kind(manifests, "Job")["migrate"]

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
