# Checks that the server is built with the protections of a program that faces a network. Run as
#
#     cmake -DREADELF=readelf -DSERVER=build/release/weir-server -DFORTIFIED=1 -P THIS_FILE
#
# With FORTIFIED it must also use glibc's calls that check the size of what they write to.
execute_process(
  COMMAND ${READELF} --wide --file-header --program-headers --dynamic --dyn-syms ${SERVER}
  OUTPUT_VARIABLE elf
  COMMAND_ERROR_IS_FATAL ANY)

function(expect what pattern)
  if(NOT elf MATCHES "${pattern}")
    message(SEND_ERROR "${SERVER} has no ${what}: nothing in readelf's output matches ${pattern}")
  endif()
endfunction()

expect("address of its own choice (PIE)" "Type: +DYN .*FLAGS_1[^\n]* PIE")
expect("table that is read-only after the start (RELRO)" "GNU_RELRO")
expect("full RELRO (BIND_NOW)" "FLAGS_1[^\n]* NOW")
expect("stack that is not executable" "GNU_STACK[^\n]* RW ")
expect("stack protector" "__stack_chk_fail")
if(FORTIFIED)
  expect("checked call (FORTIFY_SOURCE)" " __[a-z]+_chk@")
endif()
if(elf MATCHES "TEXTREL")
  message(SEND_ERROR "${SERVER} has code that the loader writes to")
endif()
