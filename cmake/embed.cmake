# Writes a source file that defines a table of the bytes of files, by path, as they are and as gzip
# makes them. Run as
#
#     cmake "-DFILES=/app.js;page/app.js" -DNAME=kPageFiles -DSOURCE=kPageFiles.cc -P THIS_FILE
#
# where FILES lists a path and a file by turns.
set(rows "")

# Appends to `rows` the bytes of a file, as a string_view.
function(append_bytes file)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  # Lines of 32 bytes. Neighbouring literals are one, and a backslash follows each byte, so no
  # escape takes a digit of the next one.
  string(REPEAT "[0-9a-f]" 64 line)
  string(REGEX REPLACE "(${line})" "\\1\"\n      \"" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  set(rows "${rows},
     {\"${hex}\",
      ${size}}" PARENT_SCOPE)
endfunction()

while(FILES)
  list(POP_FRONT FILES path file)
  # --no-name: neither a name nor a time, so one tree makes one program.
  execute_process(COMMAND gzip --best --no-name --stdout ${file}
    OUTPUT_FILE ${SOURCE}.gz COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND rows "    {\"${path}\"")
  append_bytes(${file})
  append_bytes(${SOURCE}.gz)
  string(APPEND rows "},\n")
endwhile()
file(REMOVE ${SOURCE}.gz)
file(WRITE ${SOURCE} "#include \"server/page/page_bytes.h\"

namespace weir {
namespace {

constexpr PageBytes kFiles[] = {
${rows}};

}  // namespace

constinit const std::span<const PageBytes> ${NAME} = kFiles;

}  // namespace weir
")
