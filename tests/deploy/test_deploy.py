"""What deploy/ says about the program is true, and what it promises about safety holds."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tenax.cli import parser
from tenax.cli.commands import VERBS
from tenax.config import Config, load_config
from tenax.metrics import METRICS
from tenax.version import __version__

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OBJECTS: list[dict[str, Any]] = [
    one
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for one in yaml.safe_load_all(file.read_text("utf-8"))
]
ALERTS: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
OURS = f"tenax:{__version__}"
PINNED = re.compile(r"[a-z0-9-]+(?:/[a-z0-9-]+)?:v?\d+\.\d+\.?\d*(?:-[a-z0-9-]+)?")
SAMPLES = {
    "TENAX_DATABASE_URL": "postgresql://user:password@db/tenax",
    "TENAX_REDIS_URL": "redis://redis:6379/0",
    "TENAX_FETCH_CONTACT": "https://example.org",
}


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] == kind}


PODS: dict[str, dict[str, Any]] = {
    name: one["spec"]["template"] for kind in ("Deployment", "Job") for name, one in of_kind(kind).items()
}
CONTAINERS: dict[str, dict[str, Any]] = {
    f"{name}/{container['name']}": container for name, pod in PODS.items() for container in pod["spec"]["containers"]
}
OUR_SERVICES = {name: service for name, service in SERVICES.items() if service["image"] == OURS}


def settings_of_container(container: dict[str, Any]) -> dict[str, str]:
    """The variables of a container; for those that are secret, a sample."""
    settings: dict[str, str] = {}
    for source in container.get("envFrom", []):
        settings |= of_kind("ConfigMap")[source["configMapRef"]["name"]]["data"]
    return settings | {one["name"]: one.get("value", SAMPLES.get(one["name"], "")) for one in container.get("env", [])}


def settings_of_image() -> dict[str, str]:
    return dict(re.findall(r"\b(TENAX_\w+)=(\S+)", DOCKERFILE))


SETTINGS = (
    {f"kubernetes {name}": settings_of_container(one) for name, one in CONTAINERS.items()}
    | {f"compose {name}": one["environment"] for name, one in OUR_SERVICES.items()}
    | {"image": settings_of_image()}
)
COMMANDS = {f"kubernetes {name}": one["args"] for name, one in CONTAINERS.items()} | {
    f"compose {name}": one["command"] for name, one in OUR_SERVICES.items()
}


# ---- what is named exists in the program --------------------------------------------------------------------


@pytest.mark.parametrize("where", SETTINGS)
def test_every_setting_is_one_of_the_program_and_its_value_is_taken(where: str) -> None:
    settings = {name: SAMPLES.get(name, value) for name, value in SETTINGS[where].items()}
    assert settings
    foreign = {name for name in settings if not name.startswith(("TENAX_", "PAGE_FETCHER_"))}
    assert not foreign, f"{where} sets {foreign}, which nothing reads"
    load_config(environment=settings)


@pytest.mark.parametrize("where", COMMANDS)
def test_every_command_is_understood(where: str) -> None:
    parser.parse_arguments(VERBS, COMMANDS[where])


def test_both_ways_of_running_it_run_the_same() -> None:
    kubernetes = sorted(one["args"] for one in CONTAINERS.values())
    assert kubernetes == sorted(one["command"] for one in OUR_SERVICES.values())
    assert kubernetes == [["db", "migrate"], ["page-fetcher"], ["worker"]]


@pytest.mark.parametrize("service", ["worker", "page-fetcher"])
def test_a_service_has_time_to_end_what_it_began(service: str) -> None:
    """Killed within its own grace it would lose no URL, but visits, and others would wait for its hosts."""
    graces = {"worker": Config().worker.grace_seconds, "page-fetcher": Config().page_fetcher.grace_seconds}
    grace_seconds = graces[service]
    assert int(SERVICES[service]["stop_grace_period"].removesuffix("s")) >= 1.5 * grace_seconds
    pod = next(pod["spec"] for pod in PODS.values() if pod["spec"]["containers"][0]["args"] == [service])
    assert pod["terminationGracePeriodSeconds"] >= 1.5 * grace_seconds


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_alerts_are_promql_about_metrics_that_exist(alert: dict[str, Any]) -> None:
    promql_parser.parse(alert["expr"])
    named = set(re.findall(r"\b(?:crawler|page_fetcher)_\w+", alert["expr"]))
    assert named <= exposed_metrics() and (named or "up" in alert["expr"])
    assert alert["labels"]["severity"] in ("warning", "critical") and alert["annotations"]["summary"]
    assert f"`{alert['alert']}`" in (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", of_kind("HorizontalPodAutoscaler"))
def test_workers_are_scaled_by_what_waits(name: str) -> None:
    spec = of_kind("HorizontalPodAutoscaler")[name]["spec"]
    assert spec["scaleTargetRef"]["name"] in of_kind("Deployment")
    (metric,) = spec["metrics"]
    assert metric["external"]["metric"]["name"] in exposed_metrics()
    assert 1 <= spec["minReplicas"] < spec["maxReplicas"]
    # Else every `kubectl apply` would set the number back.
    assert "replicas" not in of_kind("Deployment")[spec["scaleTargetRef"]["name"]]["spec"]


def exposed_metrics() -> set[str]:
    """Of the crawler, and of the page-fetcher: those are declared where they are counted."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "src" / "tenax").rglob("*.py")]
    of_page_fetcher = {name for text in texts for name in re.findall(r'"(page_fetcher_\w+)"', text)}
    return {metric.name for metric in METRICS} | of_page_fetcher


def test_prometheus_asks_each_of_our_services_on_its_port() -> None:
    prometheus = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))
    asked = [one for job in prometheus["scrape_configs"] for one in job["dns_sd_configs"]]
    assert {name for one in asked for name in one["names"]} == OUR_SERVICES.keys() - {"migrate"}
    assert {str(one["port"]) for one in asked} == {settings_of_image()["TENAX_METRICS_PORT"]}
    jobs = {job["job_name"] for job in prometheus["scrape_configs"]}
    assert {job for one in ALERTS for job in re.findall(r'job="([^"]+)"', one["expr"])} <= jobs


def test_manifests_refer_to_what_is_there() -> None:
    for kind in ("Service", "PodDisruptionBudget"):
        for one in of_kind(kind).values():
            labels = one["spec"]["selector"]
            labels = labels.get("matchLabels", labels)
            assert any(labels.items() <= pod["metadata"]["labels"].items() for pod in PODS.values())
    for one in of_kind("Deployment").values():
        assert one["spec"]["selector"]["matchLabels"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
    assert {one["metadata"]["namespace"] for one in OBJECTS if one["kind"] != "Namespace"} == set(of_kind("Namespace"))
    for pod in PODS.values():
        assert pod["spec"]["serviceAccountName"] in of_kind("ServiceAccount")


# ---- images -------------------------------------------------------------------------------------------------


def images() -> Iterator[str]:
    yield from (service["image"] for service in SERVICES.values())
    yield from (container["image"] for container in CONTAINERS.values())
    yield from re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)


def test_every_image_is_pinned_by_version_and_names_no_registry() -> None:
    loose = [image for image in images() if not PINNED.fullmatch(image)]
    assert not loose
    assert {image for image in images() if image.startswith("tenax:")} == {OURS}


def test_the_image_is_built_of_locked_packages_with_hashes() -> None:
    installs = re.findall(r"pip --python .*$", DOCKERFILE, re.MULTILINE)
    assert len(installs) == 2, "what every image has, and the extras that a builder adds"
    for flag in ("--require-hashes", "--no-deps", "--only-binary :all:"):
        assert all(flag in install for install in installs)
    assert "://" not in re.sub(r"http://127\.0\.0\.1", "", DOCKERFILE)
    lock = (ROOT / "locks" / "server.txt").read_text(encoding="utf-8")
    assert {"asyncpg", "confluent-kafka", "redis", "pyyaml"} <= set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    runtime = re.findall(r"^[a-z0-9-]+==\S+", (ROOT / "locks" / "runtime.txt").read_text("utf-8"), re.MULTILINE)
    assert set(runtime) < set(re.findall(r"^[a-z0-9-]+==\S+", lock, re.MULTILINE))


def test_what_is_copied_exists_and_is_sent_to_the_builder() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE)
    sent = re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    assert copied and all(any(ROOT.glob(name)) for name in copied)
    assert sorted(copied) == sorted(sent)


def test_the_image_names_one_python() -> None:
    bases = set(re.findall(r"^FROM python:(\d+\.\d+)\.", DOCKERFILE, re.MULTILINE))
    assert bases == set(re.findall(r"/lib/python(\d+\.\d+)/", DOCKERFILE)) and len(bases) == 1


def test_the_image_brings_the_native_and_no_compiler() -> None:
    """Built where both stages have the same Debian, so that the library finds the C library it was linked with."""
    building, running = re.findall(r"^FROM python:([\d.]+)-(\S+)", DOCKERFILE, re.MULTILINE)
    assert building == (running[0], running[1].removeprefix("slim-")) and running[1].startswith("slim-")
    (script,) = re.findall(r"python -I (\S+build\.py)", DOCKERFILE)
    assert (ROOT / "src" / script.partition("/site-packages/")[2]).exists()
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert "**/libtenax*" in ignored, "the library of this machine stays here"


# ---- safety -------------------------------------------------------------------------------------------------


def test_no_file_holds_a_secret() -> None:
    password_in_url = re.compile(r"://[^\s/@:]*:(?!\$\{)[^\s/@]+@")
    password = re.compile(r"^\s*-?\s*\w*(?:PASSWORD|SECRET|TOKEN|_KEY)\w*\s*[:=]\s*(?!\$\{)\S", re.MULTILINE)
    files = [file for file in DEPLOY.rglob("*") if file.is_file() and file.name != ".env"]
    assert len(files) > 10
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not password_in_url.search(text) and not password.search(text), file
    assert not of_kind("Secret"), "secrets are made by hand or by an operator, never from a file in git"


def test_secrets_are_referred_to_and_their_keys_are_named_where_they_are_made() -> None:
    named = (DEPLOY / "kubernetes" / "20-settings.yaml").read_text(encoding="utf-8")
    references = [
        one["valueFrom"]["secretKeyRef"] for container in CONTAINERS.values() for one in container.get("env", [])
    ]
    assert references
    for reference in references:
        assert f"secret generic {reference['name']} " in named
        assert f"--from-literal={reference['key']}=" in named


def test_nobody_is_root() -> None:
    (user,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert int(user) > 0 and DOCKERFILE.index("USER ") > DOCKERFILE.rindex("FROM ")
    for name, service in SERVICES.items():
        assert service["image"] == OURS or service["user"] not in ("root", "0"), name
    for name, pod in PODS.items():
        context = pod["spec"]["securityContext"]
        assert context["runAsNonRoot"] and context["runAsUser"] == int(user), name
    for name, container in CONTAINERS.items():
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"], name
        assert context["capabilities"] == {"drop": ["ALL"]}, name


def test_everything_has_its_limits() -> None:
    for name, service in SERVICES.items():
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}, name
    for name, container in CONTAINERS.items():
        assert container["resources"]["limits"].keys() == container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert all(volume.get("emptyDir", {}).get("sizeLimit") for volume in _volumes(name)), name


def _volumes(container: str) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = PODS[container.partition("/")[0]]["spec"]["volumes"]
    return volumes


def test_each_is_watched_and_has_time_to_end() -> None:
    longest = Config().fetch.total_timeout_seconds
    assert "HEALTHCHECK" in DOCKERFILE and 'ENTRYPOINT ["tenax"]' in DOCKERFILE
    for deployment in of_kind("Deployment"):
        assert PODS[deployment]["spec"]["terminationGracePeriodSeconds"] >= longest + 15
        (container,) = PODS[deployment]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert str(ports["metrics"]) == settings_of_image()["TENAX_METRICS_PORT"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["port"] in ports
        assert deployment in of_kind("PodDisruptionBudget") and deployment in of_kind("Service")


# ---- the network --------------------------------------------------------------------------------------------


def web_rule() -> dict[str, Any]:
    (rule,) = of_kind("NetworkPolicy")["to-the-web"]["spec"]["egress"]
    return dict(rule)


def may_be_reached(address: str) -> bool:
    blocks = [one["ipBlock"] for one in web_rule()["to"]]
    wanted = ipaddress.ip_address(address)
    return any(
        wanted in ipaddress.ip_network(block["cidr"])
        and not any(wanted in ipaddress.ip_network(hole) for hole in block["except"])
        for block in blocks
    )


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("10.96.0.1", False),
        ("172.31.255.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.100.100.200", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("fd00::1", False),
        ("fe80::1", False),
    ],
)
def test_only_the_public_web_may_be_reached(address: str, is_open: bool) -> None:
    assert may_be_reached(address) is is_open


def test_the_ports_are_those_of_the_guard() -> None:
    assert tuple(one["port"] for one in web_rule()["ports"]) == Config().guard.ports


def test_what_is_not_allowed_is_refused() -> None:
    policies = of_kind("NetworkPolicy")
    assert policies["nothing-by-default"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    fetching = policies["to-the-web"]["spec"]["podSelector"]["matchLabels"].items()
    reaching = {name for name, pod in PODS.items() if fetching <= pod["metadata"]["labels"].items()}
    assert reaching == set(of_kind("Deployment"))
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert {name for name, one in SERVICES.items() if one["networks"] == ["inside"]} == {
        "postgres", "redis", "kafka", "migrate",
    }  # fmt: skip
    assert all(port.startswith("127.0.0.1:") for one in SERVICES.values() for port in one.get("ports", []))
