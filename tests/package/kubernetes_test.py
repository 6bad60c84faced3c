"""The manifests for Kubernetes: they fit each other, the image and the server.

No cluster is here, so what a cluster would refuse for another reason is not found.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

import yaml

from weir_e2e import ServerTest, free_port

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "contrib/kubernetes"
FILES = {path.name: list(yaml.safe_load_all(path.read_text())) for path in FOLDER.iterdir()}
SETS = ("weir.yaml", "ha.yaml")  # each may be in the namespace, not both
VERSION = re.search(r"^project\(weir VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
API_VERSIONS = {
    "ConfigMap": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "Secret": "v1",
    "Service": "v1",
    "ServiceMonitor": "monitoring.coreos.com/v1",
    "StatefulSet": "apps/v1",
}


def resources(file, kind):
    return [one for one in FILES[file] if one["kind"] == kind]


def resource(file, kind, name="weir"):
    (found,) = (one for one in resources(file, kind) if one["metadata"]["name"] == name)
    return found


def pods(file):
    """The labels and the specification of each kind of pod."""
    templates = [one["spec"]["template"] for one in resources(file, "StatefulSet")]
    return [(one["metadata"]["labels"], one["spec"]) for one in templates]


def selects(selector, labels):
    return selector.items() <= labels.items()


def options_of(file):
    return resource(file, "ConfigMap")["data"]["weir.toml"]


class ManifestsTest(unittest.TestCase):
    @staticmethod
    def each_pod():
        return [(file, spec) for file in SETS for _, spec in pods(file)]

    def test_kinds_and_versions_are_known_and_names_are_used_once(self):
        self.assertEqual(set(FILES), {*SETS, "monitoring.yaml", "network-policy.yaml"})
        for file, found in FILES.items():
            for one in found:
                self.assertEqual(one["apiVersion"], API_VERSIONS[one["kind"]])
            names = [(one["kind"], one["metadata"]["name"]) for one in found]
            self.assertEqual(len(names), len(set(names)), file)

    def test_selectors_match_pods_and_ports_match_containers(self):
        for file in SETS:
            for service in resources(file, "Service"):
                spec = service["spec"]
                (pod,) = (pod for labels, pod in pods(file) if selects(spec["selector"], labels))
                ports = {port["name"]: port["containerPort"]
                         for container in pod["containers"] for port in container["ports"]}
                for port in spec["ports"]:
                    self.assertEqual(ports[port["targetPort"]], port["port"])
            for kind in ("StatefulSet", "PodDisruptionBudget"):
                for one in resources(file, kind):
                    wanted = one["spec"]["selector"]["matchLabels"]
                    found = [labels for labels, _ in pods(file) if selects(wanted, labels)]
                    self.assertEqual(len(found), 1)
            for one in resources(file, "StatefulSet"):
                headless = resource(file, "Service", one["spec"]["serviceName"])
                self.assertEqual(headless["spec"]["clusterIP"], "None")
                self.assertTrue(headless["spec"]["publishNotReadyAddresses"])

    def test_pods_have_few_rights_and_no_variables_of_services(self):
        for _, spec in self.each_pod():
            self.assertIs(spec["enableServiceLinks"], False)
            self.assertIs(spec["automountServiceAccountToken"], False)
            self.assertIs(spec["securityContext"]["runAsNonRoot"], True)
            for container in spec["containers"]:
                context = container["securityContext"]
                self.assertIs(context["allowPrivilegeEscalation"], False)
                self.assertIs(context["readOnlyRootFilesystem"], True)
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                self.assertRegex(container["image"], r":[0-9]")
                if "/weir:" in container["image"]:
                    self.assertTrue(container["image"].endswith(":" + VERSION.group(1)))

    def test_volumes_are_there(self):
        for file, spec in self.each_pod():
            claims = [one["metadata"]["name"] for one_set in resources(file, "StatefulSet")
                      for one in one_set["spec"]["volumeClaimTemplates"]]
            named = {one["name"]: one for one in spec["volumes"]}
            for container in spec["containers"]:
                for mount in container["volumeMounts"]:
                    self.assertTrue(mount["name"] in named or mount["name"] in claims)
            for volume in named.values():
                if "secret" in volume:
                    resource(file, "Secret", volume["secret"]["secretName"])
                if "configMap" in volume:
                    resource(file, "ConfigMap", volume["configMap"]["name"])

    # Goal: replicas are on different nodes, and one at a time is taken away.
    def test_the_group_loses_one_at_a_time(self):
        for one in resources("ha.yaml", "StatefulSet"):
            self.assertEqual(one["spec"]["replicas"], 3)
            template = one["spec"]["template"]
            labels = template["metadata"]["labels"]
            affinity = template["spec"]["affinity"]["podAntiAffinity"]
            (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
            self.assertEqual(term["labelSelector"]["matchLabels"], labels)
            budget = resource("ha.yaml", "PodDisruptionBudget", one["metadata"]["name"])
            self.assertEqual(budget["spec"]["maxUnavailable"], 1)

    # Goal: passwords that two readers need are the same for both.
    def test_the_group_has_each_password_where_it_is_needed(self):
        given = resource("ha.yaml", "Secret", "weir-users")["stringData"]
        users = dict(re.findall(r"^user (\S+) on >(\S+) ", given["users"], re.M))
        self.assertEqual(given["primary-password"], users["replica"])
        sentinel = resource("ha.yaml", "Secret", "weir-sentinel")["stringData"]
        self.assertEqual(sentinel["password"], users["sentinel"])
        monitor = resource("monitoring.yaml", "Secret", "weir-prometheus")["stringData"]
        for file in SETS:
            text = resource(file, "Secret", "weir-users")["stringData"]["users"]
            self.assertIn(f"user {monitor['username']} on >{monitor['password']} ", text)
        page = (ROOT / "docs/high-availability.md").read_text()
        for user in ("replica", "sentinel"):
            (rights,) = re.findall(rf"^user {user} on >\S+ (.*)$", given["users"], re.M)
            self.assertIn(f"user {user} on >secret {rights}", page)

    def test_the_operator_scrapes_the_admin_port_and_has_the_rules(self):
        monitor = resource("monitoring.yaml", "ServiceMonitor")["spec"]
        for file in SETS:
            wanted, (endpoint,) = monitor["selector"]["matchLabels"], monitor["endpoints"]
            scraped = [one["metadata"]["labels"] for one in resources(file, "Service")
                       if selects(wanted, one["metadata"].get("labels", {}))
                       for port in one["spec"]["ports"] if port["name"] == endpoint["port"]]
            self.assertEqual(len(scraped), 1, file)
            self.assertEqual(scraped[0][monitor["jobLabel"]], "weir")
        rules = yaml.safe_load((ROOT / "contrib/prometheus/weir.rules.yml").read_text())
        self.assertEqual(resource("monitoring.yaml", "PrometheusRule")["spec"], rules)

    # Goal: what the manifests themselves need is let in, and nothing else opens a port.
    def test_the_policy_opens_the_ports_of_the_pods(self):
        for policy in FILES["network-policy.yaml"]:
            wanted = policy["spec"]["podSelector"]["matchLabels"]
            rules = policy["spec"]["ingress"]
            opened = {port["port"] for rule in rules for port in rule["ports"]}
            for labels, spec in [pod for file in SETS for pod in pods(file)]:
                (container,) = spec["containers"]
                ports = {port["containerPort"] for port in container["ports"]}
                self.assertTrue(opened == ports or not selects(wanted, labels))
            for rule in rules:
                self.assertTrue(rule["from"])
                admin = any(port["port"] == 7382 for port in rule["ports"])
                self.assertEqual("namespaceSelector" in rule["from"][0], admin)

    # Goal: HTTP clients that name the Service as Kubernetes does are answered.
    def test_the_names_of_the_service_are_answered(self):
        for file in SETS:
            for name in ("weir.default", "weir.default.svc", "weir.default.svc.cluster.local"):
                self.assertIn(f'"{name}"', options_of(file))
            self.assertTrue(resource(file, "Service"))


class ManifestOptionsTest(ServerTest):
    def test_the_server_takes_the_options_of_each(self):
        for file in SETS:
            with self.subTest(file):
                given = resource(file, "Secret", "weir-users")["stringData"]
                options = options_of(file).replace("/etc/weir-users", self.directory)
                for name, text in given.items():
                    self.write(name, text)
                server = self.start(
                    *("--config", self.write("weir.toml", options), "--bind", "127.0.0.1"),
                    *("--data-dir", file, "--http-port", str(free_port())),
                    *("--admin-port", str(free_port())))
                self.assertNotIn("has no effect here", server.log())
                client = self.connect(server)
                self.assertEqual(client.call("AUTH", "app", "replace-this-password"), "OK")
                self.assertEqual(server.stop(), 0)

    # Goal: the shell scripts of the pods say what they mean: only weir-0 begins as the primary.
    def test_the_scripts_of_the_pods(self):
        told = self.write("weir-server", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        os.chmod(told, 0o755)
        (_, spec), _ = pods("ha.yaml")
        (container,) = spec["containers"]
        for pod, ends in (("weir-0", "weir-0.weir-nodes.shop.svc"),
                          ("weir-2", "weir-0.weir-nodes.shop.svc 7379")):
            environment = {"PATH": f"{self.directory}:{os.environ['PATH']}", "POD_NAME": pod,
                           "POD_NAMESPACE": "shop"}
            words = subprocess.run([*container["command"], *container["args"]], check=True,
                                   env=environment, text=True, stdout=subprocess.PIPE).stdout
            self.assertTrue(words.endswith(f"\n{ends}\n"), words)
            self.assertIn(f"--replica-announce-ip\n{pod}.weir-nodes.shop.svc\n", words)
            self.assertEqual("--replicaof\n" in words, pod != "weir-0")


if __name__ == "__main__":
    unittest.main()
