# Writes a source file that defines a table of the bytes of files, by path. Run as
#
#     cmake "-DFILES=/app.js;page/app.js" -DNAME=kPageFiles -DSOURCE=kPageFiles.cc -P THIS_FILE
#
# where FILES lists a path and a file by turns.
set(rows "")
string(REPEAT "[0-9a-f]" 64 line)
while(FILES)
  list(POP_FRONT FILES path file)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  # Lines of 32 bytes. Neighbouring literals are one, and a backslash follows each byte, so no
  # escape takes a digit of the next one.
  string(REGEX REPLACE "(${line})" "\\1\"\n      \"" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(APPEND rows "    {\"${path}\",
     {\"${hex}\",
      ${size}}},\n")
endwhile()
file(WRITE ${SOURCE} "#include \"server/page/page_bytes.h\"

namespace weir {
namespace {

constexpr PageBytes kFiles[] = {
${rows}};

}  // namespace

constinit const std::span<const PageBytes> ${NAME} = kFiles;

}  // namespace weir
")
