"""Builds and installs weir_client as a C++ service does, and runs what its README shows.

Needs cmake, and the headers of cpp-httplib and prometheus-cpp; `./dev clients` installs Debian's.
"""

import http.client
import re
import subprocess
import unittest
from pathlib import Path

from weir_e2e import DEADLINE, ServerTest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients/cpp"

CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(service LANGUAGES CXX)
{found}
find_package(prometheus-cpp REQUIRED)
add_executable(service service.cc)
target_link_libraries(service PRIVATE weir_client::weir_client cpp-httplib prometheus-cpp::core)
"""

# The README's blocks, each in a function.
SOURCE = """
#include <cstdlib>
#include <iostream>
#include <string>

#include <httplib.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include "weir/fields.h"
{include}

template <class Time>
void Tell(std::string_view reason, Time time) {{ (void)reason, (void)time; }}

void First() {{
{first}
}}

void Add(httplib::Server& server, weir::Limiter& limiter) {{
{handler}
}}

void Count(const std::string& url, prometheus::Family<prometheus::Counter>& unavailable) {{
{count}
}}

int main() {{
  weir::Limiter limiter(std::getenv("WEIR_URL"));
  limiter.Verify();
  httplib::Server server;
  Add(server, limiter);
  server.Get("/", [](const httplib::Request&, httplib::Response& response) {{
    response.set_content("hello", "text/plain");
  }});
  std::cout << server.bind_to_any_port("127.0.0.1") << std::endl;
  server.listen_after_bind();
}}
"""


def run(*words):
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout}"


def readme_source():
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    first, handler, count = re.findall(r"^```cpp\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    include, first = first.split("\n", 1)
    return SOURCE.format(include=include, first=first, handler=handler, count=count)


class PackageTest(ServerTest):
    def configure_and_build(self, source, *options):
        build = str(Path(self.directory, f"{Path(source).name}_build"))
        run("cmake", "-G", "Ninja", "-S", str(source), "-B", build, *options)
        run("cmake", "--build", build)
        return build

    def build_service(self, found, *options):
        """The path of a service that finds weir_client by these words."""
        source = Path(self.directory, "service")
        source.mkdir()
        (source / "CMakeLists.txt").write_text(CONSUMER.format(found=found))
        (source / "service.cc").write_text(readme_source())
        flags = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"
        return self.configure_and_build(source, flags, *options) + "/service"

    def assert_limits(self, service):
        server = self.start()
        environment = {"WEIR_URL": f"redis://127.0.0.1:{server.port}?deadline=1s"}
        with subprocess.Popen(
            service, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            self.addCleanup(process.kill)
            port = int(process.stdout.readline())
            responses = [self.get(port) for _ in range(20)]
            process.terminate()
        self.assertEqual((responses[0].status, responses[0].body), (200, b"hello"))
        self.assertIn('"10/s";r=9', responses[0].getheader("RateLimit"))
        denied = next(each for each in responses if each.status == 429)
        self.assertEqual(denied.getheader("Retry-After"), "1")
        self.assertEqual(denied.getheader("Content-Type"), "application/problem+json")
        self.assertIn(b'"violated-policies":["10/s"]', denied.body)

    @staticmethod
    def get(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        try:
            connection.request("GET", "/")
            response = connection.getresponse()
            response.body = response.read()
            return response
        finally:
            connection.close()

    # Goal: an installation has the public headers, the library and its CMake files, and a project
    # elsewhere finds it, of this version.
    def test_an_installation(self):
        build = self.configure_and_build(PACKAGE)
        prefix = Path(self.directory, "prefix")
        run("cmake", "--install", build, "--prefix", str(prefix))
        paths = (path for path in prefix.rglob("*") if path.is_file())
        files = {path.relative_to(prefix).as_posix() for path in paths}
        headers = {f"include/weir/{path.name}" for path in PACKAGE.glob("weir/*.h")}
        self.assertEqual({name for name in files if name.endswith(".h")}, headers)
        others = {Path(name).name for name in files - headers}
        self.assertIn("libweir_client.a", others)
        self.assertIn("weir_client-config.cmake", others)
        self.assertFalse([name for name in files if "test" in name])
        text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"^project\(weir VERSION (\S+)", text, re.MULTILINE)[1]
        found = f"find_package(weir_client {version} REQUIRED)"
        self.assert_limits(self.build_service(found, f"-DCMAKE_PREFIX_PATH={prefix}"))

    def test_a_subdirectory_and_a_shared_library(self):
        found = f"add_subdirectory({PACKAGE} weir_client)"
        self.assert_limits(self.build_service(found, "-DBUILD_SHARED_LIBS=ON"))


if __name__ == "__main__":
    unittest.main()
