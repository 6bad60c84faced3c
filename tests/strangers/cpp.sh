# A stranger who writes C++: clients/cpp/README.md.
. /root/stranger.sh
page=clients/cpp/README.md
start_weir

downloads "apt-get install --yes --no-install-recommends g++ cmake make libcpp-httplib-dev \
  >/dev/null"
own_lines+=("apt-get install g++ cmake libcpp-httplib-dev    # they are the reader's")
downloads "$(grep -o 'apt-get install lib[^`]*' "$weir/$page") >/dev/null"
program() {  # program NAME BODY
  put "$1.cc" "#include <iostream>
#include <map>
#include <string>
#include \"httplib.h\"
#include \"weir/fields.h\"
#include \"weir/limiter.h\"
void Tell(std::string_view reason, auto) { std::cout << reason; }
int main() {
$(grep -v '^#include' <<<"$2")
}" "headers and main, which the reader's program has"
}
put CMakeLists.txt "cmake_minimum_required(VERSION 3.20)
project(shop CXX)
set(CMAKE_CXX_STANDARD 20)
foreach(service first wrong app away)
  add_executable(\${service} \${service}.cc)
endforeach()
$(block $page cmake 1 | sed '1!d')
foreach(service first wrong app away)
  target_link_libraries(\${service} PRIVATE weir_client::weir_client cpp-httplib)
endforeach()" "a project with four programs"
program first "$(block $page cpp 1 | here)"
program wrong "$(block $page cpp 1 | here | wrong)"
program app "  weir::Limiter limiter(std::getenv(\"WEIR_URL\"));
  httplib::Server server;
$(block $page cpp 2)
  server.Get(\"/\", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(\"hello\", \"text/plain\");
  });
  server.listen(\"127.0.0.1\", 8000);"
program away "  weir::Limiter limiter(weir::Options{.url = std::getenv(\"WEIR_URL\"),
    .on_unavailable = [](std::string_view cause) { std::cout << \"unavailable \" << cause; }});
  limiter.Allow({\"user:42\", \"10/s\"});"
types "cmake -S . -B build >/dev/null && cmake --build build >/dev/null"
types "build/first"
expect WRONGPASS build/wrong
export WEIR_URL=$url
build/app & await_port 8000
is_limited
denied ip:127.0.0.1

fails_open
expect "unavailable connection" build/away
report
