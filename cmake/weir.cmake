# One function for each kind of target: library, executable, test, fuzz target, benchmark.
#
# All of them link `weir::options`, which sets the language standard, the include root and the flags
# of the preset; nothing is set for whole directories. Sources and headers are listed, not globbed.

add_library(weir_options INTERFACE)
add_library(weir::options ALIAS weir_options)
target_compile_features(weir_options INTERFACE cxx_std_20)
target_include_directories(weir_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(weir_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -fstack-protector-strong
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>  # not in -Wconversion of g++
  # Guarded members are used with their lock, or on their thread.
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety-beta>
  $<$<CXX_COMPILER_ID:Clang>:-Werror=thread-safety>)
target_compile_definitions(weir_options INTERFACE
  $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS> $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
target_link_options(weir_options INTERFACE -Wl,-z,relro,-z,now)
if(WEIR_LINKER)
  target_link_options(weir_options INTERFACE -fuse-ld=${WEIR_LINKER})
endif()

# GCC collects its garbage later, which saves up to a fifth of its time and takes more memory: up to
# 1.3 GB in a release become 1.6.
set(debug_collection "SHELL:--param ggc-min-expand=300 --param ggc-min-heapsize=1000000")
set(release_collection "SHELL:--param ggc-min-expand=150 --param ggc-min-heapsize=500000")
target_compile_options(weir_options INTERFACE
  "$<$<AND:$<CONFIG:Debug>,$<CXX_COMPILER_ID:GNU>>:${debug_collection}>"
  "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:${release_collection}>")

# GCC bounds what inlining adds to a large unit. In a group of sources that bound costs 2 % more
# instructions a request.
set(whole_inlining "SHELL:--param large-unit-insns=1000000")
target_compile_options(weir_options INTERFACE
  "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:${whole_inlining}>")

if(WEIR_SANITIZE)
  # UBSan's vptr check opens a pipe to see whether memory can be read. In a test that has used up
  # all file descriptors it would report every object.
  # A null pointer that is used ends the process anyway: to check each takes a seventh of the
  # compiler's time.
  set(flags -fsanitize=${WEIR_SANITIZE} -fno-sanitize=vptr,null -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # With sanitizers, GCC's documentation says, this warning has false positives, as in std::regex.
  target_compile_options(weir_options INTERFACE
    ${flags} $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(weir_options INTERFACE ${flags})
endif()
if(WEIR_COVERAGE)
  # Threads that count a line at a time would lose counts, even below zero, which gcovr refuses.
  target_compile_options(weir_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(weir_options INTERFACE --coverage)
endif()

# weir_library(core SOURCES a.cc HEADERS b.h DEPS absl::status)
#
# Target weir_core, alias weir::core; without SOURCES it has headers only. COLD lists further
# sources, which no decision enters: in a release they are compiled at -O1, in three quarters of the
# time. HEADERS lists the headers that have no source of the same name. Target header_checks
# compiles each of these alone, to check that it includes what it needs; for a.h, a.cc checks that,
# as it includes a.h first (tests/tidy).
function(weir_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;COLD;HEADERS;DEPS")
  if(arg_COLD AND CMAKE_BUILD_TYPE STREQUAL Release)
    add_library(weir_${name}_cold OBJECT ${arg_COLD})
    target_link_libraries(weir_${name}_cold PRIVATE weir::options ${arg_DEPS})
    target_compile_options(weir_${name}_cold PRIVATE -O1)
    set(arg_COLD $<TARGET_OBJECTS:weir_${name}_cold>)
  endif()
  if(arg_SOURCES)
    add_library(weir_${name} STATIC ${arg_SOURCES} ${arg_COLD} ${arg_HEADERS})
    target_link_libraries(weir_${name} PUBLIC weir::options ${arg_DEPS})
    if(WEIR_FUZZ)
      # libFuzzer does not trace comparisons, which took two fifths of the time of session_fuzz: the
      # dictionaries have the words that it would find by that.
      target_compile_options(weir_${name} PRIVATE
        -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
    endif()
  else()
    add_library(weir_${name} INTERFACE ${arg_HEADERS})
    target_link_libraries(weir_${name} INTERFACE weir::options ${arg_DEPS})
  endif()
  add_library(weir::${name} ALIAS weir_${name})
  if(WEIR_TREE_CHECKS AND arg_HEADERS)
    weir_header_check(${name} ${arg_HEADERS})
  endif()
endfunction()

# weir_header_check(core a.h b.h): the checks of the HEADERS of a library; weir_library calls it.
function(weir_header_check name)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  foreach(header ${ARGN})
    set(source ${PROJECT_BINARY_DIR}/header_check/${folder}/${header}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${folder}/${header}\"\n")
    list(APPEND sources ${source})
  endforeach()
  add_library(weir_header_check_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(weir_header_check_${name} PRIVATE weir::${name})
  set_target_properties(weir_header_check_${name} PROPERTIES UNITY_BUILD OFF)
  if(NOT TARGET header_checks)
    add_custom_target(header_checks)
  endif()
  add_dependencies(header_checks weir_header_check_${name})
endfunction()

# weir_embed(sources kPageFiles / page/index.html /app.js page/app.js ...)
#
# Adds to the list `sources` a source file that defines the constant kPageFiles, which
# server/page/page_bytes.h declares: the bytes of each file under the path before it. The source is
# made again when a file changes.
function(weir_embed list name)
  set(files "")
  set(depends ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  while(ARGN)
    list(POP_FRONT ARGN path file)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND files ${path} ${file})
    list(APPEND depends ${file})
  endwhile()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cc)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DNAME=${name} -DSOURCE=${source}
      -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${depends} VERBATIM)
  # A change to a file compiles this source alone. Its literals are longer than every compiler must
  # take, of which clang warns; g++ and clang take them.
  set_source_files_properties(${source} PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -Wno-overlength-strings)
  set(${list} ${${list}} ${source} PARENT_SCOPE)
endfunction()

# weir_proto(health_proto grpc/health.proto)
#
# Target weir_health_proto, alias weir::health_proto: what protoc makes of the file, compiled
# without warnings. Its header is included as "server/grpc/health.pb.h". Target generated_headers
# makes the headers alone, for tools that read sources.
function(weir_proto name file)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
  string(REGEX REPLACE "\\.proto$" "" path ${path})
  set(folder ${PROJECT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/${path}.pb.cc ${folder}/${path}.pb.h
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${folder} ${source}
    DEPENDS ${source} VERBATIM)
  add_library(weir_${name} STATIC ${folder}/${path}.pb.cc ${folder}/${path}.pb.h)
  target_compile_features(weir_${name} PUBLIC cxx_std_20)
  target_compile_options(weir_${name} PRIVATE -w)
  target_include_directories(weir_${name} SYSTEM PUBLIC ${folder})
  target_link_libraries(weir_${name} PUBLIC protobuf::libprotobuf-lite)
  set_target_properties(weir_${name} PROPERTIES UNITY_BUILD OFF)
  add_library(weir::${name} ALIAS weir_${name})
  add_custom_target(weir_${name}_header DEPENDS ${folder}/${path}.pb.h)
  if(NOT TARGET generated_headers)
    add_custom_target(generated_headers)
  endif()
  add_dependencies(generated_headers weir_${name}_header)
endfunction()

# weir_executable(weir-server SOURCES main.cc DEPS weir::server): build/<preset>/weir-server
function(weir_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE weir::options ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# weir_tests(core/rules
#   SOURCES top_keys_test.cc SINGLE_THREADED limit_test.cc ban_test.cc DEPS weir::core [SHARDS 2]
#   [HOT])
#
# The tests of one folder, here tests/core/rules/: one executable,
# build/<preset>/tests/core_rules_tests, and one ctest entry, core/rules, labelled with the
# outermost folder, so that `ctest -L core` finds it. A folder whose tests take long is split into
# SHARDS entries, core/rules/1 and so on, so that all cores have work. Target all_core_tests builds
# the tests of every folder below tests/core (`./dev test -L core`).
#
# SINGLE_THREADED lists tests that start no thread. ThreadSanitizer's build leaves them out. HOT
# says that the tests compute for so long that they are optimized as the product is; the others take
# longer to compile than to run.
function(weir_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOT" "SHARDS" "SOURCES;SINGLE_THREADED;DEPS")
  if(NOT WEIR_SANITIZE MATCHES thread)
    list(APPEND arg_SOURCES ${arg_SINGLE_THREADED})
  endif()
  if(NOT arg_SOURCES)
    return()
  endif()
  string(REPLACE / _ target ${folder})
  set(target ${target}_tests)
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/tests/${folder}/)
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE weir::options ${arg_DEPS} GTest::gmock_main)
  target_compile_definitions(${target} PRIVATE WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  weir_compiled_quickly(${target})
  if(arg_HOT AND NOT WEIR_SANITIZE MATCHES address)  # where an optimizer takes three times as long
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O1>)
  endif()
  weir_test_entries(${folder} ${target} "${arg_SHARDS}")
endfunction()

# weir_compiled_quickly(core_rules_tests): compiles the sources of a target of tests in one group,
# as half of the time is for the headers, without optimization, and without their line numbers,
# which would take a sixth of the time: a stack has the name of the test.
function(weir_compiled_quickly target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 30)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O0> $<$<CONFIG:Debug>:-g0>)
endfunction()

# weir_test_entries(core/rules core_rules_tests 2): the ctest entries of one test executable. With a
# sanitizer they leave out the tests that find planted mistakes, which prove the tests themselves.
function(weir_test_entries name target shards)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  string(REGEX REPLACE "/.*" "" label ${name})
  weir_needed_by_tests(${label} ${target})
  set(environment)
  if(WEIR_SANITIZE)
    list(APPEND environment "GTEST_FILTER=-*Planted*")
  endif()
  if(NOT shards)
    add_test(NAME ${name} COMMAND ${target})
    set_tests_properties(${name} PROPERTIES
      LABELS ${label} TIMEOUT 900 PROCESSORS 2 ENVIRONMENT "${environment}")
    return()
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}/${shard} COMMAND ${target})
    set_tests_properties(${name}/${shard} PROPERTIES
      LABELS ${label} TIMEOUT 900 PROCESSORS 2 COST 30
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# weir_needed_by_tests(e2e weir-server): targets all_e2e_tests and all_tests build weir-server, too.
function(weir_needed_by_tests label)
  foreach(target all_${label}_tests all_tests)
    if(NOT TARGET ${target})
      add_custom_target(${target})
    endif()
    add_dependencies(${target} ${ARGN})
  endforeach()
endfunction()

# weir_fuzz(fuzz/protocol/resp_parser_fuzz DEPS weir::protocol)
#
# The fuzz target of tests/fuzz/protocol/resp_parser_fuzz.cc, a program in
# build/<preset>/fuzzers/ and a ctest entry. With WEIR_FUZZ it is linked with libFuzzer, and
# tests/fuzz/run runs it for some seconds; otherwise tests/fuzz/kept_inputs.cc runs it once with
# each input in tests/fuzz/corpus/resp_parser_fuzz/.
function(weir_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS")
  cmake_path(GET name FILENAME target)
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${name}.cc)
  target_link_libraries(${target} PRIVATE weir::options ${arg_DEPS})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzzers)
  weir_needed_by_tests(fuzz ${target})
  if(WEIR_FUZZ)
    target_link_libraries(${target} PRIVATE -fsanitize=fuzzer)
    add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/run $<TARGET_FILE:${target}>)
  else()
    weir_compiled_quickly(${target})
    target_link_libraries(${target} PRIVATE weir::kept_inputs)
    add_test(NAME ${name} COMMAND ${target} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS fuzz PROCESSORS 2)
endfunction()

# weir_bench(token_bucket_bench DEPS weir::core)
#
# The benchmark bench/token_bucket_bench.cc, built as build/<preset>/bench/token_bucket_bench. ctest
# runs it briefly and with few keys, to check that it still works; tables of a million buckets and
# more take too long to fill for that.
function(weir_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS")
  add_executable(${name} ${PROJECT_SOURCE_DIR}/bench/${name}.cc)
  target_link_libraries(${name} PRIVATE weir::options ${arg_DEPS} benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  weir_needed_by_tests(bench ${name})
  add_test(NAME bench/${name}
    COMMAND ${name} --benchmark_min_time=0.001 "--benchmark_filter=-(keys|buckets):[0-9]{7}")
  set_tests_properties(bench/${name} PROPERTIES
    LABELS bench PROCESSORS 2 ENVIRONMENT WEIR_BENCH_KEYS=100000)
endfunction()
