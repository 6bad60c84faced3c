# Finds what weir_client links, and defines weir_client::weir_client.
include(CMakeFindDependencyMacro)
find_dependency(OpenSSL)
find_dependency(PkgConfig)
find_dependency(Threads)
if(NOT TARGET PkgConfig::hiredis)
  pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/weir_client-targets.cmake)
