"""Programs that people use work on the embedded engine unchanged: kubectl and the official Python client."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest
import yaml

from .conftest import COMMAND_WITHIN_S, User, processes_below, wait_for

pytestmark = pytest.mark.local

NAMESPACE = "clients"

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "example.com/web:1",
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                        "resources": {"requests": {"cpu": "100m"}},
                    }
                ]
            },
        },
    },
}

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trains.clients.example.com}
spec:
  group: clients.example.com
  scope: Namespaced
  names: {plural: trains, singular: train, kind: Train, shortNames: [tr], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.cars, statusReplicasPath: .status.cars}}
    additionalPrinterColumns:
    - {name: Cars, type: integer, jsonPath: .spec.cars}
    - {name: Line, type: string, jsonPath: .spec.line, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [cars]
            properties:
              cars: {type: integer, minimum: 1, description: How many cars it has.}
              line: {type: string, default: main}
          status: {type: object, properties: {cars: {type: integer}}}
"""


def changed(image: str, *env: str) -> dict[str, Any]:
    """The Deployment with another image and some of its environment."""
    made: dict[str, Any] = json.loads(json.dumps(DEPLOYMENT))
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["image"] = image
    container["env"] = [entry for entry in container["env"] if entry["name"] in env]
    return made


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
    }


class Kubectl:
    """kubectl in one namespace."""

    def __init__(self, user: User, kubeconfig: str, namespace: str) -> None:
        self._user = user
        self.kubeconfig = kubeconfig
        self._namespace = namespace

    def argv(self, *args: str) -> list[str]:
        # What is discovered is kept for minutes: kinds of other tests are gone by then.
        cache = str(self._user.home / self._namespace)
        base = [str(self._user.kubectl_path), "--kubeconfig", self.kubeconfig, "--cache-dir", cache]
        return [*base, "--namespace", self._namespace, *args]

    def run(self, *args: str, stdin: object = None, code: int = 0) -> str:
        """What it prints on both streams; objects are handed over on standard input."""
        done = subprocess.run(
            self.argv(*args),
            env=self._user.env,
            input=None if stdin is None else stdin if isinstance(stdin, str) else json.dumps(stdin),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_WITHIN_S,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def table(self, *args: str) -> list[list[str]]:
        """The cells of a table, without its header."""
        return [line.split() for line in self.run(*args).splitlines()[1:]]

    def object(self, *args: str) -> dict[str, Any]:
        return dict(json.loads(self.run("get", *args, "-o", "json")))

    def rolled_out(self, name: str) -> None:
        assert "successfully rolled out" in self.run("rollout", "status", f"deployment/{name}", "--timeout=60s")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, kubectl_path: Path) -> Iterator[tuple[User, str]]:
    """An embedded lab as its user has it, for all tests of this file."""
    home = tmp_path_factory.mktemp("clients")
    user = User(home, kubectl_path)
    yield user, user.up("--engine", "embedded", "--nodes", "4")
    user.run("down", "--all")
    assert processes_below(home) == []


@pytest.fixture
def kubectl(lab: tuple[User, str], request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own."""
    user, kubeconfig = lab
    name = re.sub(r"[^a-z]+", "-", request.node.name)[-60:].strip("-")
    made = Kubectl(user, kubeconfig, name)
    assert made.run("create", "namespace", name) == f"namespace/{name} created\n"
    yield made
    made.run("delete", "namespace", name, "--wait=false")


def test_kubectl_tells_what_there_is(kubectl: Kubectl) -> None:
    versions = kubectl.run("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", "resource.k8s.io/v1", "scheduling.k8s.io/v1alpha2"} <= set(versions)
    resources = kubectl.run("api-resources")
    assert re.search(r"^pods +po +v1 +true +Pod$", resources, re.MULTILINE)
    assert re.search(r"^deployments +deploy +apps/v1 +true +Deployment$", resources, re.MULTILINE)
    assert "nodes" in kubectl.run("api-resources", "--namespaced=false", "-o", "name").split()
    assert "Server Version: v1.36.3" in kubectl.run("version")
    assert kubectl.run("auth", "can-i", "create", "pods") == "yes\n"
    assert "system:masters" in kubectl.run("auth", "whoami")
    assert kubectl.run("get", "--raw", "/readyz") == "ok"


def test_kubectl_explains_kinds(kubectl: Kubectl) -> None:
    assert re.search(r"^  spec\t<PodSpec>$", kubectl.run("explain", "pods"), re.MULTILINE)
    containers = kubectl.run("explain", "pod.spec.containers")
    assert "FIELD: containers <[]Container>" in containers
    assert "  name\t<string> -required-" in containers
    assert "  enum: Always, IfNotPresent, Never" in containers
    assert "limits\t<map[string]Quantity>" in kubectl.run("explain", "pod.spec.containers.resources", "--recursive")


def test_kubectl_works_with_custom_kinds(kubectl: Kubectl) -> None:
    created = "customresourcedefinition.apiextensions.k8s.io/trains.clients.example.com created\n"
    assert kubectl.run("create", "-f", "-", stdin=DEFINITION) == created
    kubectl.run("wait", "--for=condition=Established", "crd/trains.clients.example.com", "--timeout=10s")
    train = {
        "apiVersion": "clients.example.com/v1",
        "kind": "Train",
        "metadata": {"name": "express"},
        "spec": {"cars": 3},
    }
    assert kubectl.run("create", "-f", "-", stdin=train) == "train.clients.example.com/express created\n"
    assert kubectl.run("get", "tr") == "NAME      CARS\nexpress   3\n"
    assert kubectl.run("get", "tr", "-o", "wide") == "NAME      CARS   LINE\nexpress   3      main\n"
    columns = "custom-columns=NAME:.metadata.name,LINE:.spec.line"
    assert kubectl.run("get", "trains", "-o", columns) == "NAME      LINE\nexpress   main\n"
    assert kubectl.run("scale", "train/express", "--replicas=5") == "train.clients.example.com/express scaled\n"
    assert kubectl.run("get", "train", "express", "-o", "jsonpath={.spec.cars}") == "5"
    refused = kubectl.run("patch", "train", "express", "--type=merge", "-p", '{"spec":{"cars":0}}', code=1)
    assert refused == (
        'The Train "express" is invalid: spec.cars: Invalid value: 0: '
        "spec.cars in body should be greater than or equal to 1\n"
    )
    assert "is not supported by" in kubectl.run("patch", "train", "express", "-p", '{"spec":{"cars":1}}', code=1)
    assert "How many cars it has." in kubectl.run("explain", "train.spec.cars")
    assert "train.clients.example.com/express" in kubectl.run("get", "all")
    assert "Cars:  5" in kubectl.run("describe", "train", "express")
    gone = 'customresourcedefinition.apiextensions.k8s.io "trains.clients.example.com" deleted\n'
    assert gone in kubectl.run("delete", "crd", "trains.clients.example.com")
    kubectl.run("get", "trains", code=1)


def test_kubectl_applies_differences_from_the_client(kubectl: Kubectl) -> None:
    assert kubectl.run("apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web created\n"
    assert kubectl.run("apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web unchanged\n"
    assert kubectl.run("diff", "-f", "-", stdin=DEPLOYMENT) == ""
    kubectl.run("set", "env", "deployment/web", "C=3")
    fewer = changed("example.com/web:2", "A")
    told = kubectl.run("diff", "-f", "-", stdin=fewer, code=1)
    assert re.search(r"^- +image: example.com/web:1\n\+ +image: example.com/web:2$", told, re.MULTILINE)
    assert kubectl.run("apply", "-f", "-", stdin=fewer) == "deployment.apps/web configured\n"
    # B was applied before and is not any more; C is somebody else's.
    names = kubectl.run("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[0].env[*].name}")
    assert names.split() == ["A", "C"]
    assert "configured (server dry run)" in kubectl.run("apply", "-f", "-", "--dry-run=server", stdin=DEPLOYMENT)


def test_kubectl_applies_on_the_server(kubectl: Kubectl) -> None:
    applied = "deployment.apps/web serverside-applied\n"
    assert kubectl.run("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT) == applied
    kubectl.run("scale", "deployment/web", "--replicas=3")
    kubectl.run("set", "image", "deployment/web", "web=example.com/web:9")
    conflicts = kubectl.run("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT, code=1)
    assert "Apply failed with 2 conflicts" in conflicts
    assert 'with subresource "scale" using apps/v1' in conflicts
    assert ".spec.replicas" in conflicts
    assert kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=DEPLOYMENT) == applied
    assert kubectl.object("deploy", "web")["spec"]["replicas"] == 2


def test_kubectl_rolls_deployments_out(kubectl: Kubectl) -> None:
    created = kubectl.run("create", "deployment", "side", "--image=example.com/side:1", "--replicas=2")
    assert created == "deployment.apps/side created\n"
    kubectl.rolled_out("side")
    [[name, ready, updated, available, *_]] = kubectl.table("get", "deployments")
    assert (name, ready, updated, available) == ("side", "2/2", "2", "2")
    changed_image = kubectl.run("set", "image", "deployment/side", "side=example.com/side:2")
    assert changed_image == "deployment.apps/side image updated\n"
    kubectl.rolled_out("side")
    assert "deployment.apps/side rolled back" in kubectl.run("rollout", "undo", "deployment/side")
    kubectl.rolled_out("side")
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert kubectl.run("get", "deploy", "side", "-o", image) == "example.com/side:1"
    assert kubectl.run("scale", "deployment/side", "--replicas=4") == "deployment.apps/side scaled\n"
    kubectl.run("wait", "--for=jsonpath={.status.readyReplicas}=4", "deployment/side", "--timeout=60s")
    kubectl.run("wait", "--for=condition=Available", "deployment/side", "--timeout=60s")
    told = kubectl.run("describe", "deployment", "side")
    assert "Replicas:               4 desired | 4 updated | 4 total | 4 available | 0 unavailable" in told
    assert re.search(r"Normal  ScalingReplicaSet .* deployment-controller  Scaled up replica set side-", told)
    everything = kubectl.run("get", "all")
    assert "deployment.apps/side" in everything
    assert "replicaset.apps/side-" in everything
    deleted = kubectl.run("delete", "deployment", "side", "--cascade=foreground", "--timeout=60s")
    assert deleted.startswith('deployment.apps "side" deleted')
    assert "No resources found" in kubectl.run("get", "pods")


def test_kubectl_describes_what_runs(kubectl: Kubectl) -> None:
    assert kubectl.run("create", "job", "pi", "--image=example.com/pi:1") == "job.batch/pi created\n"
    kubectl.run("wait", "--for=condition=Ready", "pod", "-l", "job-name=pi", "--timeout=60s")
    job = kubectl.run("describe", "job", "pi")
    assert "Completion Mode:  NonIndexed" in job
    assert re.search(r"Normal  SuccessfulCreate .* job-controller  Created pod: pi-", job)
    of_pod = kubectl.run("describe", "pod", "-l", "job-name=pi")
    assert "Controlled By:  Job/pi" in of_pod
    assert re.search(r"Normal  Scheduled .* Successfully assigned \S+/pi-\S+ to default-", of_pod)
    node = kubectl.object("pods", "-l", "job-name=pi")["items"][0]["spec"]["nodeName"]
    of_node = kubectl.run("describe", "node", node)
    assert re.search(r"Ready +True .* KubeletReady", of_node)
    assert re.search(r"nvidia.com/gpu: +8", of_node)
    assert re.search(r" pi-\S+ +0 \(0%\)", of_node)
    assert "Created pod: pi-" in kubectl.run("get", "events")
    assert "SuccessfulCreate" in kubectl.run("events", "--for", "job/pi")


def test_kubectl_gets_pods_in_all_forms(kubectl: Kubectl) -> None:
    for name in ("one", "two"):
        assert kubectl.run("apply", "-f", "-", stdin=pod(name)) == f"pod/{name} created\n"
    kubectl.run("wait", "--for=condition=Ready", "pod/one", "pod/two", "--timeout=60s")
    [[name, *rest], _] = kubectl.table("get", "pods")
    assert (name, rest[:3]) == ("one", ["1/1", "Running", "0"])
    assert "NOMINATED NODE   READINESS GATES" in kubectl.run("get", "pods", "-o", "wide")
    assert kubectl.run("get", "pods", "-l", "app=two", "-o", "name") == "pod/two\n"
    assert kubectl.run("get", "pods", "-l", "app!=two", "-o", "name") == "pod/one\n"
    assert kubectl.run("get", "pods", "--field-selector=metadata.name=two", "-o", "name") == "pod/two\n"
    assert kubectl.run("get", "pods", "--field-selector=status.phase=Pending", "-o", "name") == ""
    assert "field label not supported: spec.foo" in kubectl.run("get", "pods", "--field-selector=spec.foo=1", code=1)
    assert kubectl.run("get", "pods", "--sort-by=.metadata.name", "-o", "name") == "pod/one\npod/two\n"
    assert kubectl.run("get", "pods", "-o", "jsonpath={.items[*].metadata.name}") == "one two"
    shown = yaml.safe_load(kubectl.run("get", "pod", "one", "-o", "yaml", "--show-managed-fields"))
    assert shown["status"]["phase"] == "Running"
    managers = [entry["manager"] for entry in shown["metadata"]["managedFields"]]
    assert managers[0] == "kubectl-client-side-apply"
    absent = kubectl.run("get", "pod", "nobody", code=1)
    assert absent == 'Error from server (NotFound): pods "nobody" not found\n'


def test_kubectl_watches_pods_come_and_go(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=pod("there"))
    argv = kubectl.argv("get", "pods", "-w", "--output-watch-events")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as watch:
        try:
            seen = list(_rows_while_a_pod_lives(kubectl, watch))
        finally:
            watch.kill()
    assert seen[0][:4] == ["EVENT", "NAME", "READY", "STATUS"]
    of_pod = [row for row in seen if row[1] == "seen"]
    assert of_pod[0][:4] == ["ADDED", "seen", "0/1", "Pending"]
    assert ["MODIFIED", "seen", "1/1", "Running"] in [row[:4] for row in of_pod]
    assert ["MODIFIED", "seen", "1/1", "Terminating"] in [row[:4] for row in of_pod]
    assert of_pod[-1][:2] == ["DELETED", "seen"]


def _rows_while_a_pod_lives(kubectl: Kubectl, watch: subprocess.Popen[str]) -> Iterator[list[str]]:
    """What a watch prints; a pod is made when it has begun, and the last row tells of its end."""
    assert watch.stdout is not None
    for line in watch.stdout:
        yield line.split()
        if line.startswith("ADDED") and "there" in line:
            kubectl.run("run", "seen", "--image=example.com/x:1", "--restart=Never")
            kubectl.run("wait", "--for=condition=Ready", "pod/seen", "--timeout=60s")
            kubectl.run("delete", "pod", "seen", "--now")
        if line.startswith("DELETED"):
            return


def test_kubectl_changes_and_deletes_pods(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=pod("one"))
    kubectl.run("wait", "--for=condition=Ready", "pod/one", "--timeout=60s")
    assert kubectl.run("label", "pod", "one", "tier=a") == "pod/one labeled\n"
    taken = "error: 'tier' already has a value (a), and --overwrite is false\n"
    assert kubectl.run("label", "pod", "one", "tier=b", code=1) == taken
    assert kubectl.run("label", "pod", "one", "tier-") == "pod/one unlabeled\n"
    assert kubectl.run("annotate", "pod", "one", "note=hello") == "pod/one annotated\n"
    patches = {
        "strategic": '{"spec":{"containers":[{"name":"main","image":"example.com/main:2"}]}}',
        "merge": '{"metadata":{"labels":{"merged":"yes"}}}',
        "json": '[{"op":"add","path":"/metadata/labels/added","value":"yes"}]',
    }
    for kind, patch in patches.items():
        assert kubectl.run("patch", "pod", "one", f"--type={kind}", "-p", patch) == "pod/one patched\n"
    found = kubectl.object("pod", "one")
    assert found["metadata"]["labels"] == {"app": "one", "merged": "yes", "added": "yes"}
    assert found["spec"]["containers"][0]["image"] == "example.com/main:2"
    found["metadata"]["labels"] = {"app": "replaced"}
    assert kubectl.run("replace", "-f", "-", stdin=found) == "pod/one replaced\n"
    refused = kubectl.run("patch", "pod", "one", "-p", '{"spec":{"nodeName":"elsewhere"}}', code=1)
    assert "spec: Forbidden: pod updates may not change fields other than" in refused
    exists = kubectl.run("create", "-f", "-", stdin=pod("one"), code=1)
    assert exists.endswith('pods "one" already exists\n')
    assert kubectl.run("delete", "pod", "one", "--grace-period=1").startswith('pod "one" deleted')
    kubectl.run("create", "-f", "-", stdin=pod("two"))
    assert 'pod "two" deleted' in kubectl.run("delete", "pods", "--all", "--wait=false")
    kubectl.run("wait", "--for=delete", "pod/two", "--timeout=60s")
    assert kubectl.run("delete", "pod", "two", "--ignore-not-found") == ""


def test_kubectl_drains_a_node(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin={**pod("guest"), "spec": {**pod("guest")["spec"], "nodeName": "default-3"}})
    kubectl.run("create", "pdb", "guests", "--selector=app=guest", "--min-available=0")
    kubectl.run("wait", "--for=condition=Ready", "pod/guest", "--timeout=60s")
    kubectl.run("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "pdb/guests", "--timeout=60s")
    assert kubectl.run("cordon", "default-3") == "node/default-3 cordoned\n"
    [row] = kubectl.table("get", "node", "default-3")
    assert row[1] == "Ready,SchedulingDisabled"
    drained = kubectl.run("drain", "default-3", "--force", "--pod-selector=app=guest", "--timeout=60s")
    assert "guest evicted\n" in drained
    assert "node/default-3 drained\n" in drained
    assert kubectl.run("uncordon", "default-3") == "node/default-3 uncordoned\n"
    assert kubectl.run("taint", "nodes", "default-3", "x=y:NoSchedule") == "node/default-3 tainted\n"
    assert kubectl.run("taint", "nodes", "default-3", "x-") == "node/default-3 untainted\n"


def test_kubectl_creates_what_has_a_command_of_its_own(kubectl: Kubectl) -> None:
    created = {
        "resourcequota/few": ("quota", "few", "--hard=pods=1"),
        "configmap/settings": ("configmap", "settings", "--from-literal=a=b"),
        "secret/password": ("secret", "generic", "password", "--from-literal=k=v"),
        "serviceaccount/robot": ("serviceaccount", "robot"),
        "role.rbac.authorization.k8s.io/reader": ("role", "reader", "--verb=get", "--resource=pods"),
        "service/front": ("service", "clusterip", "front", "--tcp=80:80"),
        "cronjob.batch/nightly": ("cronjob", "nightly", "--image=x", "--schedule=0 1 * * *"),
    }
    for told, args in created.items():
        assert kubectl.run("create", *args) == f"{told} created\n"
    assert kubectl.object("secret", "password")["data"] == {"k": "dg=="}
    kubectl.run("create", "-f", "-", stdin=pod("first"))
    refused = kubectl.run("create", "-f", "-", stdin=pod("second"), code=1)
    assert "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1" in refused
    assert re.search(r"pods +1 +1", kubectl.run("describe", "quota", "few"))


@pytest.fixture(scope="module")
def python_client(lab: tuple[User, str]) -> Iterator[kubernetes.client.ApiClient]:
    """The official Python client as `load_kube_config` sets it up."""
    client = kubernetes.config.new_client_from_config(config_file=lab[1])
    with client:
        core = kubernetes.client.CoreV1Api(client)
        core.create_namespace({"metadata": {"name": NAMESPACE}})
        # Pods are refused until the controllers have made the namespace's account, here as in any cluster.
        wait_for(lambda: bool(core.list_namespaced_service_account(NAMESPACE).items))
        yield client
        core.delete_namespace(NAMESPACE)


def test_the_python_client_creates_lists_patches_and_deletes(python_client: kubernetes.client.ApiClient) -> None:
    core = kubernetes.client.CoreV1Api(python_client)
    made = core.create_namespaced_pod(NAMESPACE, pod("one"))
    assert made.status.phase == "Pending"
    assert made.metadata.creation_timestamp is not None
    core.create_namespaced_pod(NAMESPACE, pod("two"))
    page = core.list_namespaced_pod(NAMESPACE, limit=1)
    assert [item.metadata.name for item in page.items] == ["one"]
    rest = core.list_namespaced_pod(NAMESPACE, limit=1, _continue=page.metadata._continue)
    assert [item.metadata.name for item in rest.items] == ["two"]
    selected = core.list_namespaced_pod(NAMESPACE, label_selector="app in (two)")
    assert [item.metadata.name for item in selected.items] == ["two"]
    patched = core.patch_namespaced_pod("one", NAMESPACE, {"metadata": {"labels": {"new": "yes"}}})
    assert patched.metadata.labels == {"app": "one", "new": "yes"}
    core.delete_namespaced_pod("one", NAMESPACE, grace_period_seconds=0)
    core.delete_collection_namespaced_pod(NAMESPACE, grace_period_seconds=0)
    assert core.list_namespaced_pod(NAMESPACE).items == []


def test_the_python_client_watches_and_resumes(python_client: kubernetes.client.ApiClient) -> None:
    core = kubernetes.client.CoreV1Api(python_client)
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "a"}, "data": {"n": "1"}})
    core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"n": "2"}})
    watch = kubernetes.watch.Watch()
    seen = []
    for event in watch.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=version):
        seen.append((event["type"], event["object"].data["n"]))
        if event["type"] == "MODIFIED":
            watch.stop()
    assert seen == [("ADDED", "1"), ("MODIFIED", "2")]
    core.delete_namespaced_config_map("a", NAMESPACE)
    resumed = kubernetes.watch.Watch().stream(
        core.list_namespaced_config_map, NAMESPACE, resource_version=watch.resource_version, timeout_seconds=1
    )
    assert [event["type"] for event in resumed] == ["DELETED"]


def test_the_python_client_works_with_custom_kinds(python_client: kubernetes.client.ApiClient) -> None:
    definitions = kubernetes.client.ApiextensionsV1Api(python_client)
    custom = kubernetes.client.CustomObjectsApi(python_client)
    definition = yaml.safe_load(DEFINITION.replace("trains", "trams").replace("Train", "Tram").replace("[tr]", "[tm]"))
    definition["spec"]["versions"][0].pop("additionalPrinterColumns")
    definition["spec"]["names"]["singular"] = "tram"
    definitions.create_custom_resource_definition(definition)
    where = {"group": "clients.example.com", "version": "v1", "namespace": NAMESPACE, "plural": "trams"}
    body = {"apiVersion": "clients.example.com/v1", "kind": "Tram", "metadata": {"name": "t"}, "spec": {"cars": 2}}
    made = custom.create_namespaced_custom_object(**where, body=body)
    assert made["spec"] == {"cars": 2, "line": "main"}
    patched = custom.patch_namespaced_custom_object(**where, name="t", body={"spec": {"cars": 4}})
    assert patched["metadata"]["generation"] == 2
    scaled = custom.get_namespaced_custom_object_scale(**where, name="t")
    assert scaled["spec"] == {"replicas": 4}
    assert len(custom.list_namespaced_custom_object(**where)["items"]) == 1
    with pytest.raises(kubernetes.client.ApiException) as refused:
        custom.create_namespaced_custom_object(**where, body={**body, "metadata": {"name": "u"}, "spec": {}})
    assert refused.value.status == 422
    assert "spec.cars: Required value" in json.loads(refused.value.body)["message"]
    custom.delete_namespaced_custom_object(**where, name="t")
    definitions.delete_custom_resource_definition("trams.clients.example.com")


def test_the_python_client_gets_errors_with_reasons(python_client: kubernetes.client.ApiClient) -> None:
    core = kubernetes.client.CoreV1Api(python_client)
    api_exception = kubernetes.client.ApiException
    with pytest.raises(api_exception) as absent:
        core.read_namespaced_pod("nobody", NAMESPACE)
    assert (absent.value.status, json.loads(absent.value.body)["reason"]) == (404, "NotFound")
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "b"}})
    with pytest.raises(api_exception) as exists:
        core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "b"}})
    assert (exists.value.status, json.loads(exists.value.body)["reason"]) == (409, "AlreadyExists")
    with pytest.raises(api_exception) as conflict:
        core.replace_namespaced_config_map("b", NAMESPACE, {"metadata": {"name": "b", "resourceVersion": "1"}})
    assert (conflict.value.status, json.loads(conflict.value.body)["reason"]) == (409, "Conflict")
    with pytest.raises(api_exception) as invalid:
        core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": "Bad_Name"}, "spec": {"containers": []}})
    assert (invalid.value.status, json.loads(invalid.value.body)["reason"]) == (422, "Invalid")
    stranger = kubernetes.client.Configuration()
    stranger.host, stranger.ssl_ca_cert = python_client.configuration.host, python_client.configuration.ssl_ca_cert
    with kubernetes.client.ApiClient(stranger) as without_token, pytest.raises(api_exception) as unknown:
        kubernetes.client.CoreV1Api(without_token).list_node()
    assert unknown.value.status == 401
