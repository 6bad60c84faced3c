# The libraries that weir uses, all from Debian packages, which `./dev` installs.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Boost REQUIRED)  # Boost::headers
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)  # protobuf::libprotobuf-lite and protobuf::protoc
find_package(RocksDB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)  # yaml-cpp
find_package(ZLIB REQUIRED)  # ZLIB::ZLIB
pkg_check_modules(systemd REQUIRED IMPORTED_TARGET GLOBAL libsystemd)  # PkgConfig::systemd
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET GLOBAL libnghttp2)  # PkgConfig::nghttp2
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET GLOBAL libsodium)  # PkgConfig::sodium
# PkgConfig::prometheus; the package's other libraries, which have sockets, are not linked.
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET GLOBAL prometheus-cpp-core)

# toml++ is used as headers only; core/base/toml_document.h sets that.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
add_library(weir_toml INTERFACE)
add_library(weir::toml ALIAS weir_toml)
target_include_directories(weir_toml SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})

# The charts of the live page, of which the server keeps a copy.
find_path(WEIR_DYGRAPHS_DIR dygraph.min.js
  PATHS /usr/share/javascript/dygraphs NO_DEFAULT_PATH REQUIRED)

# Asio without Boost has headers only and no CMake package.
find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(weir_asio INTERFACE)
add_library(weir::asio ALIAS weir_asio)
target_include_directories(weir_asio SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
target_compile_definitions(weir_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(weir_asio INTERFACE Threads::Threads)
if(WEIR_SANITIZE MATCHES thread)
  # ThreadSanitizer cannot follow memory fences, and g++ refuses to compile them.
  target_compile_definitions(weir_asio INTERFACE ASIO_DISABLE_FENCED_BLOCK)
endif()

if(WEIR_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET GLOBAL hiredis)  # PkgConfig::hiredis
endif()
if(WEIR_BENCH)
  find_package(benchmark REQUIRED)
endif()
