"""The container's configuration and the Kubernetes manifest: the server takes what they set."""

import os
import re
import subprocess
import unittest
import urllib.request
from pathlib import Path

import yaml

from weir_e2e import DEADLINE, ServerTest, free_port

CONTRIB = Path(__file__).parents[2] / "contrib"
CONTAINERFILE = CONTRIB / "container/Containerfile"
MANIFEST = list(yaml.safe_load_all((CONTRIB / "kubernetes/weir.yaml").read_text()))


def resource(kind, name="weir"):
    (found,) = (each for each in MANIFEST
                if each["kind"] == kind and each["metadata"]["name"] == name)
    return found


class ContainerTest(ServerTest):
    def start_with(self, options, *more, environment=None):
        """Starts the server with a file of options; it listens on loopback, on free ports."""
        self.admin_port = free_port()
        path = self.write("weir.toml", options)
        server = self.start(
            *("--config", path, "--bind", "127.0.0.1", "--data-dir", "state"),
            *("--admin-port", str(self.admin_port)), *more or ("--http-port", str(free_port())),
            environment=environment)
        server.wait_for_log("for operators")
        server.wait_for_log(r"loaded \d+ buckets")
        return server

    def status(self, path):
        url = f"http://127.0.0.1:{self.admin_port}{path}"
        with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
            return answer.status

    def test_the_containers_options_serve_the_container_itself(self):
        server = self.start_with((CONTRIB / "container/weir.toml").read_text())
        self.assertEqual(self.connect(server).call("RL.ALLOW", "k", "10/s")[:2], [1, 9])
        self.assertEqual(self.status("/livez"), 200)

    def test_the_manifests_options_serve_its_users(self):
        users = self.write("users", resource("Secret", "weir-users")["stringData"]["users"])
        server = self.start_with(resource("ConfigMap")["data"]["weir.toml"],
                                 *("--users-file", users, "--http-port", str(free_port())))
        client = self.connect(server)
        self.assertTrue(client.call("PING").startswith("NOAUTH"))
        self.assertEqual(client.call("AUTH", "app", "replace-this-password"), "OK")
        self.assertEqual(client.call("RL.ALLOW", "k", "10/s")[:2], [1, 9])

    # Goal: the image is built from all that the build's lists name.
    def test_the_image_has_each_folder_of_the_build(self):
        lists = (CONTRIB.parent / "CMakeLists.txt").read_text()
        needed = {"cmake", *re.findall(r"^add_subdirectory\((\w+)\)", lists, re.MULTILINE)}
        copied = re.findall(r"^COPY (\w+) \1$", CONTAINERFILE.read_text(), re.MULTILINE)
        self.assertEqual(set(copied), needed)

    # Goal: who has the reference's image may name this one. Its command is /bin/ratelimit.
    def test_the_image_has_the_entry_point_of_envoys_service(self):
        copied = re.findall(r"^COPY (\S+) /image/usr/bin/$", CONTAINERFILE.read_text(), re.M)
        (script,) = (CONTRIB.parent / path for path in copied if path.endswith("/ratelimit"))
        self.assertTrue(os.access(script, os.X_OK))
        self.assertEqual(script.read_text().splitlines()[0], "#!/bin/sh")
        self.assertEqual(subprocess.run(["sh", "-n", script], check=False).returncode, 0)

    # Goal: the line of README uses what the image has.
    def test_the_line_of_the_readme_fits_the_image(self):
        readme = (CONTRIB.parent / "README.md").read_text()
        (line,) = re.findall(r"^(docker build (?:.*\\\n)*.*)$", readme, re.MULTILINE)
        self.assertTrue((CONTRIB.parent / re.search(r" -f (\S+) ", line)[1]).is_file())
        exposed = re.search("^EXPOSE (.*)$", CONTAINERFILE.read_text(), re.M).group(1).split()
        for port in re.findall(r" -p\s+\S*:(\d+)\s", line):
            self.assertIn(port, exposed)
        volume = re.search("^VOLUME (.*)$", CONTAINERFILE.read_text(), re.M).group(1)
        self.assertIn(f" -v weir:{volume} ", line)
        variable, password = re.search(r" -e (\w+)=(\S+) weir$", line).groups()
        server = self.start_with(
            (CONTRIB / "container/weir.toml").read_text(), environment={variable: password})
        self.assertEqual(self.connect(server).call("AUTH", password), "OK")
        self.assertIn(f"redis://default:{password}@127.0.0.1:7379", readme)

    # Goal: each port that the manifest and the image name is one that the server opens.
    def test_the_ports_are_those_of_the_options(self):
        options = resource("ConfigMap")["data"]["weir.toml"]
        (container,) = resource("StatefulSet")["spec"]["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        found = re.findall(r"^(\w+)-port = (\d+)$", options, re.MULTILINE)
        opened = {name: int(port) for name, port in found}
        self.assertEqual(ports, {"resp": 7379, **opened})
        for name in ("weir", "weir-admin"):
            for port in resource("Service", name)["spec"]["ports"]:
                self.assertEqual(ports[port["targetPort"]], port["port"])
        exposed = re.search("^EXPOSE (.*)$", CONTAINERFILE.read_text(), re.M).group(1)
        self.assertEqual([int(port) for port in exposed.split()], sorted(ports.values()))
        own = (CONTRIB / "container/weir.toml").read_text()
        opened = dict(re.findall(r"^(\w+)-port = (\d+)$", own, re.MULTILINE))
        self.assertEqual({"resp": "7379", **opened}, {name: str(ports[name]) for name in ports})

    # Method: the user and the folder of the state are compared where they are written twice.
    def test_the_pod_runs_the_image_as_its_user(self):
        pod = resource("StatefulSet")["spec"]["template"]["spec"]
        user, group = re.search(r"^USER (\d+):(\d+)$", CONTAINERFILE.read_text(), re.M).groups()
        context = pod["securityContext"]
        self.assertEqual((context["runAsUser"], context["fsGroup"]), (int(user), int(group)))
        (container,) = pod["containers"]
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        options = resource("ConfigMap")["data"]["weir.toml"]
        self.assertIn(f'data-dir = "{mounted["state"]}"', options)
        self.assertIn(f'users-file = "{mounted["users"]}/', options)
        self.assertIn(f'"{mounted["config"]}/weir.toml"', CONTAINERFILE.read_text())


if __name__ == "__main__":
    unittest.main()
