# Writes a source file that defines the bytes of a file as a constant. Run as
#
#     cmake -DFILE=page/app.js -DNAME=kAppJs -DSOURCE=build/kAppJs.cc -P THIS_FILE
file(READ ${FILE} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
# Lines of 32 bytes. Neighbouring literals are one, and a backslash follows each byte, so no escape
# takes a digit of the next one.
string(REPEAT "[0-9a-f]" 64 line)
string(REGEX REPLACE "(${line})" "\\1\"\n    \"" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
file(WRITE ${SOURCE} "#include \"server/page/page_bytes.h\"

namespace weir {

constinit const std::string_view ${NAME} = {
    \"${hex}\",
    ${size}};

}  // namespace weir
")
