"""The intended differences from Redis 7.0: weir's exact replies, and the reasons."""

from differential_case import Difference, Like
from differential_replies import matches, pairs, take_apart

NO_DISK = b"-ERR nothing is kept on disk: see --data-dir and --durability\r\n"
NO_DATABASE = b"-ERR DB index is out of range\r\n"
BAD_COUNT = b"-ERR Protocol error: invalid multibulk length\r\n"
BAD_LENGTH = b"-ERR Protocol error: invalid bulk length\r\n"
BAD_ID = (
    b"-ERR invalid client-id '%s': value is not an integer or out of range "
    b"(1 to 9223372036854775807)\r\n"
)
BAD_NAME = b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"


def cannot_set(name, why):
    text = f"-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}\r\n"
    return text.encode()


BAD_MAXCLIENTS = cannot_set("maxclients", "argument must be an integer from 1 to 1000000")


def username(reply):
    """The user in each entry of ACL LOG."""
    return [dict(pairs(fields))["$", b"username"][1] for _, fields in take_apart(reply)[1]]


def unknown(subcommand):
    return [b"-ERR unknown subcommand '%s'. Try ACL HELP.\r\n" % subcommand.encode()]


def too_many(name):
    return [b"-ERR wrong number of arguments for '%s' command\r\n" % name.encode()]


TRACKING = ("TRACKING", "TRACKINGINFO", "CACHING", "GETREDIR")

DIFFERENCES = [
    # Frames. Redis looks for a CR and jumps over the byte behind it, and over the two behind a
    # bulk, whatever they are; it stops looking at a NUL.
    Difference("a count ends in CR LF", (b"*1\rx$4\r\nPING\r\n",), [BAD_COUNT]),
    Difference("a length ends in CR LF", (b"*1\r\n$4\rxPING\r\n",), [BAD_LENGTH]),
    Difference("a bulk ends in CR LF", (b"*1\r\n$4\r\nPINGxx", "PING"), [BAD_LENGTH]),
    Difference("a bulk ends in CR LF", (b"*1\r\n$4\r\nPING\n\n",), [BAD_LENGTH]),
    Difference("LF alone is an error, not waited on", (b"*1\n$4\nPING\n",), [BAD_COUNT]),
    Difference(
        "NUL is no '$', and nothing to wait for",
        (b"*1\r\n\x00\r\n", "PING"),
        [b"-ERR Protocol error: expected '$', got ' '\r\n"],
    ),
    Difference(
        "what is no '$' is told at once, not at the end of its line",
        (b"*1\r\n:",),
        [b"-ERR Protocol error: expected '$', got ':'\r\n"],
    ),
    Difference(
        "a count ends in CR LF, not in CR CR LF",
        (b"*2\r\r\nPING\r\n",),
        [BAD_COUNT],
    ),
    # In a line Redis skips vertical tabs and form feeds before a word, and takes them into it.
    Difference("a vertical tab ends a bare word", (b"PING a\x0b\r\n",), [b"$1\r\na\r\n"]),
    Difference("a form feed ends a bare word", (b"PING\x0c\r\n",), [b"+PONG\r\n"]),
    Difference("so there are two words", (b"ECHO a\x0bb\r\n",), too_many("echo")),
    Difference("NUL is a byte of an inline word", (b"PING a\x00b\r\n",), [b"$3\r\na\x00b\r\n"]),
    # Caps: our largest request is far below Redis's 512 MiB.
    Difference("words have at most 65,536 bytes", (b"*1\r\n$65537\r\n",), [BAD_LENGTH]),
    Difference("requests have at most 1,024 words", (b"*1025\r\n",), [BAD_COUNT]),
    Difference(
        "so have lines",
        (b"PING" + b" x" * 1024 + b"\r\n", "PING"),
        [b"-ERR Protocol error: too many arguments in inline request\r\n"],
    ),
    Difference("a name has at most 256 bytes", (("CLIENT", "SETNAME", "x" * 257),), [BAD_NAME]),
    # Other protocols: Redis knows two first words, weir also knows HTTP's first line.
    Difference("HTTP is closed without a word", (b"GET / HTTP/1.1\r\n", "PING"), []),
    Difference("HTTP is closed without a word", (b"PUT /x HTTP/1.0\r\nA: b\r\n\r\n", "PING"), []),
    # Echoed words: Redis replaces CR and LF, and ends at a NUL; weir replaces all control bytes.
    Difference(
        "no control byte is echoed in an error",
        (("F\tO\0O", "a\tb\x01\x7f"),),
        [b"-ERR unknown command 'F O O', with args beginning with: 'a b  ' \r\n"],
    ),
    # One database.
    Difference("there is one database", ("SELECT 1",), [NO_DATABASE]),
    Difference("a text less for what is no database", ("SELECT 2147483648",), [NO_DATABASE]),
    Difference(
        "there is one database",
        ("CONFIG GET databases",),
        [b"*2\r\n$9\r\ndatabases\r\n$1\r\n1\r\n"],
        [b"%1\r\n$9\r\ndatabases\r\n$1\r\n1\r\n"],
    ),
    # Commands of later versions.
    Difference("7.2 has it", ("CLIENT SETINFO LIB-NAME x",), [b"+OK\r\n"]),
    Difference(
        "7.2 asks for a command, not for a word of it, too",
        ("COMMAND GETKEYS PING",),
        [b"-ERR The command has no key arguments\r\n"],
    ),
    Difference(
        "7.2 asks for a command, not for a word of it, too",
        ("COMMAND GETKEYS TTL",),
        [b"-ERR Invalid number of arguments specified for command\r\n"],
    ),
    # Errors that name the word.
    Difference("says what is missing", ("CLIENT LIST TYPE",),
               [b"-ERR syntax error, type is missing\r\n"]),
    Difference("says what is missing", ("CLIENT LIST ID",),
               [b"-ERR syntax error, client-id is missing\r\n"]),
    Difference("says which word is bad", ("CLIENT LIST ID x",), [BAD_ID % b"x"]),
    Difference("ids begin at 1", ("CLIENT LIST ID 0",), [BAD_ID % b"0"]),
    Difference("ids begin at 1", ("CLIENT LIST ID 1 -1",), [BAD_ID % b"-1"]),
    Difference("says what is missing", ("COMMAND LIST FILTERBY", "COMMAND LIST FILTERBY NAME x"),
               [b"-ERR syntax error, expected PATTERN, ACLCAT or MODULE\r\n"] * 2),
    Difference("says what is missing", ("COMMAND LIST FILTERBY PATTERN",),
               [b"-ERR syntax error, pattern is missing\r\n"]),
    # One wording for every wrong number of words; Redis has another where the handler counts them.
    Difference("as for other commands", ("CLIENT PAUSE 1 WRITE x",), too_many("client|pause")),
    Difference("as for other commands", ("CLIENT UNBLOCK 1 ERROR x",), too_many("client|unblock")),
    Difference("as for other commands", ("ACL CAT foo bar",), too_many("acl|cat")),
    Difference("as for other commands", ("ACL GENPASS 1 2",), too_many("acl|genpass")),
    Difference("as for other commands", ("ACL LOG 1 2",), too_many("acl|log")),
    Difference("as for other commands", ("SLOWLOG GET 1 2",), too_many("slowlog|get")),
    # They are changed in the users file only, which nothing but a text editor writes.
    Difference("users are changed in the file", ("ACL SETUSER a",), unknown("SETUSER")),
    Difference("users are changed in the file", ("ACL SETUSER",), unknown("SETUSER")),
    Difference("users are changed in the file", ("ACL DELUSER a",), unknown("DELUSER")),
    Difference("so there is nothing to save", ("ACL SAVE",), unknown("SAVE")),
    Difference(
        "the option has another name",
        ("ACL LOAD",),
        [b"-ERR there is no users file: start the server with --users-file\r\n"],
    ),
    Difference(
        "a name that is nobody's may be a password",
        ("ACL LOG RESET", "AUTH nobody x", Like("ACL LOG", username)),
        [b"+OK\r\n", WRONGPASS, [b"(unknown)"]],
    ),
    # CONFIG SET says what would be right, in the words of the command line.
    Difference("says what would be right", ("CONFIG SET maxclients x",), [BAD_MAXCLIENTS]),
    Difference("says what would be right", ("CONFIG SET maxclients 0",), [BAD_MAXCLIENTS]),
    Difference("says what would be right", ("CONFIG SET maxclients -1",), [BAD_MAXCLIENTS]),
    Difference(
        "says what would be right", (("CONFIG", "SET", "maxclients", ""),), [BAD_MAXCLIENTS]
    ),
    Difference(
        "a flag is what it is on the command line, too",
        ("CONFIG SET protected-mode true", "CONFIG SET protected-mode maybe"),
        [b"+OK\r\n", cannot_set("protected-mode", "argument must be true or false")],
    ),
    Difference(
        "what is written, and where, is of the start",
        ("CONFIG SET save x", "CONFIG SET dir /"),
        [cannot_set(name, "can't set immutable config") for name in ("save", "dir")],
    ),
    Difference(
        "a password is not shown",
        ("AUTH secret", "CONFIG GET requirepass"),
        [b"+OK\r\n", b"*2\r\n$11\r\nrequirepass\r\n$0\r\n\r\n"],
        password=True,
    ),
    # Before AUTH. Redis counts PING's words after it has looked at the user, others' before. Its
    # caps are of array requests only, and of their words, not of the whole.
    Difference("the number of words comes first", ("PING a b c",), too_many("ping"), password=True),
    Difference(
        "a line has at most ten words, too",
        (b"EXISTS a b c d e f g h i j\r\n", "PING"),
        [b"-ERR Protocol error: too many arguments in inline request\r\n"],
        password=True,
    ),
    Difference(
        "a line has at most 8,192 bytes",
        (b"ECHO " + b"x" * 8187 + b"\r\n", "PING"),
        [b"-ERR Protocol error: too big inline request\r\n"],
        password=True,
    ),
    Difference(
        "a request has at most 16,384 bytes",
        (("ECHO", b"x" * 16_361), "PING"),
        [b"-ERR Protocol error: too big request\r\n"],
        password=True,
    ),
    # Redis changes the name and the user option by option, until one is wrong.
    Difference(
        "a HELLO that is wrong changes nothing",
        ("HELLO 3 SETNAME new FOO", "HELLO 3 SETNAME new AUTH other x", "CLIENT GETNAME"),
        [b"-ERR Syntax error in HELLO option 'FOO'\r\n", WRONGPASS, b"$-1\r\n"],
        [b"-ERR Syntax error in HELLO option 'FOO'\r\n", WRONGPASS, b"_\r\n"],
    ),
    Difference(
        "a HELLO that is wrong changes nothing",
        ("HELLO 3 AUTH default secret FOO", "PING"),
        [b"-ERR Syntax error in HELLO option 'FOO'\r\n", b"-NOAUTH Authentication required.\r\n"],
        password=True,
    ),
    Difference("every request has a reply", ("MONITOR", "MONITOR"), [b"+OK\r\n", b"+OK\r\n"]),
    # The rest.
    Difference(
        "a backslash alone is a pattern's, too",
        ("CONFIG GET append\\only",),
        [b"*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"],
        [b"%1\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"],
    ),
    Difference("a server without a directory says so", ("SAVE",), [NO_DISK]),
    Difference("a server without a directory says so", ("BGSAVE",), [NO_DISK]),
    Difference(
        "weir has no keys but buckets",
        ("GET k",),
        [b"-ERR unknown command 'GET', with args beginning with: 'k' - weir limits rates and stores"
         b" no values: see RL.HELP\r\n"],
    ),
    Difference(
        "no reply may be cached",
        tuple(f"CLIENT {name}" for name in TRACKING),
        [b"-ERR unknown subcommand '%s'. Try CLIENT HELP.\r\n" % n.encode() for n in TRACKING],
    ),
    # Else a transaction would try thousands of passwords without the delay between two.
    Difference(
        "nobody logs in inside a transaction",
        ("MULTI", "AUTH default x", "HELLO 3", "EXEC"),
        [
            b"+OK\r\n",
            b"-ERR Command not allowed inside a transaction\r\n",
            b"-ERR Command not allowed inside a transaction\r\n",
            b"-EXECABORT Transaction discarded because of previous errors.\r\n",
        ],
    ),
    # Redis announces more replies than it then sends.
    Difference(
        "an EXEC has all its replies",
        ("MULTI", "CLIENT REPLY OFF", "PING", "EXEC"),
        [
            b"+OK\r\n",
            b"-ERR Command not allowed inside a transaction\r\n",
            b"+QUEUED\r\n",
            b"-EXECABORT Transaction discarded because of previous errors.\r\n",
        ],
    ),
]
