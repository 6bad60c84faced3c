# The files that `cmake --install` copies: programs, their manual pages and completion, and the
# module. debian/ adds the service and its configuration.
include(GNUInstallDirs)

install(TARGETS weir-check weir-replay weir-server RUNTIME)
install(FILES docs/man/weir-check.1 docs/man/weir-replay.1 docs/man/weir-server.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/weir.toml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES contrib/bash-completion/weir-server
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
# The folder where Debian's packages of modules have theirs. Redis 7 loads executable files only.
if(TARGET weir_so)
  install(PROGRAMS $<TARGET_FILE:weir_so> DESTINATION lib/redis/modules)
endif()
