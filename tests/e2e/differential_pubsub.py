"""Cases of pub/sub: the subscriptions of a client, and the messages that reach it."""

from differential_case import By, Group, Next, case

SUBSCRIPTIONS = Group(
    "subscriptions",
    [
        case("one", "SUBSCRIBE c", "PING", "PING hi", "UNSUBSCRIBE c", "PING"),
        case("several", "SUBSCRIBE c d", Next("a"), "UNSUBSCRIBE d c", Next("a")),
        case("twice", "SUBSCRIBE c c", Next("a"), "SUBSCRIBE c"),
        case("patterns", "PSUBSCRIBE c* ?", Next("a"), "PSUBSCRIBE c*", "PUNSUBSCRIBE ?"),
        case("both kinds", "SUBSCRIBE c", "PSUBSCRIBE c", "UNSUBSCRIBE", "PUNSUBSCRIBE"),
        case("of no subscription", "UNSUBSCRIBE x y", Next("a"), "PUNSUBSCRIBE x", "UNSUBSCRIBE",
             "PUNSUBSCRIBE"),
        case("all", "SUBSCRIBE c", "PSUBSCRIBE p", "UNSUBSCRIBE", "PUNSUBSCRIBE", "UNSUBSCRIBE"),
        case("empty and odd names", ("SUBSCRIBE", ""), ("SUBSCRIBE", "a b\r\n"),
             ("UNSUBSCRIBE", "")),
        case("arity", "SUBSCRIBE", "PSUBSCRIBE", "PUBLISH", "PUBLISH c", "PUBLISH c d e", "PUBSUB",
             "PUBSUB NUMPAT x", "PUBSUB FOO"),
        case("an unknown command meanwhile", "SUBSCRIBE c", "FOO", "PUBLISH c", "PING a b"),
        case("other replies are wanted", "CLIENT REPLY OFF", "SUBSCRIBE c", "UNSUBSCRIBE c"),
        case("ended by RESET", "SUBSCRIBE c", "RESET", "PUBLISH c m", "PUBSUB CHANNELS"),
        case("ended with the client", By("b", "SUBSCRIBE c"), By("b", "QUIT"),
             "PUBSUB NUMSUB c"),
        case("counted", By("b", "SUBSCRIBE c"), By("b", "PSUBSCRIBE p*"),
             By("d", "PSUBSCRIBE p*"), "PUBSUB NUMPAT", "PUBSUB NUMSUB c d", "PUBSUB NUMSUB",
             "PUBSUB CHANNELS", "PUBSUB CHANNELS c*", "PUBSUB CHANNELS x", "PUBSUB CHANNELS C"),
    ],
)  # fmt: skip

# Redis 7.0 puts a message to its own publisher in front of the reply, 7.2 behind it.
RESP2_ONLY = Group(
    "subscribers in RESP2",
    [
        case("run nothing else", "SUBSCRIBE c", "TTL k", "PUBLISH c m", "CLIENT INFO", "MULTI",
             "SUBSCRIBE d", "UNSUBSCRIBE c", "PUBLISH c m", "UNSUBSCRIBE d", "PUBLISH d m"),
        case("by a pattern", "PSUBSCRIBE c", "ECHO x", "PUNSUBSCRIBE", "ECHO x"),
        case("quit", "SUBSCRIBE c", "QUIT", Next("a")),
    ],
    protocols=(2,),
)  # fmt: skip

MESSAGES = Group(
    "messages",
    [
        case("to nobody", "PUBLISH c m"),
        case("to a channel", By("b", "SUBSCRIBE c"), "PUBLISH c m", Next("b"), "PUBLISH d m",
             ("PUBLISH", "c", ""), Next("b"), ("PUBLISH", "c", "a b\r\n\0"), Next("b")),
        case("to two", By("b", "SUBSCRIBE c"), By("d", "SUBSCRIBE c"), "PUBLISH c m", Next("b"),
             Next("d")),
        case("to a pattern", By("b", "PSUBSCRIBE c.*"), "PUBLISH c.1 m", Next("b"),
             "PUBLISH C.1 m", "PUBLISH c m", "PUBLISH xc.1 m"),
        case("to both", By("b", "SUBSCRIBE c"), By("b", "PSUBSCRIBE ?"), "PUBLISH c m", Next("b"),
             Next("b")),
        case("to sets", By("b", "PSUBSCRIBE h[ae]llo"), "PUBLISH hallo m", Next("b"),
             "PUBLISH hillo m", "PUBLISH hello m", Next("b")),
        case("after the end", By("b", "SUBSCRIBE c"), By("b", "UNSUBSCRIBE c"), "PUBLISH c m",
             By("b", "PING")),
        case("in a transaction", By("b", "SUBSCRIBE c"), "MULTI", "PUBLISH c 1", "PING",
             "PUBLISH c 2", "EXEC", Next("b"), Next("b")),
        case("in a pipeline", By("b", "SUBSCRIBE c"),
             b"PUBLISH c 1\r\nPUBLISH c 2\r\nPUBLISH c 3\r\n", Next("b"), Next("b"), Next("b")),
        case("to one that wants no replies", By("b", b"CLIENT REPLY OFF\r\nSUBSCRIBE c\r\n"),
             "PUBLISH c m", Next("b")),
        case("killed by type", By("b", "SUBSCRIBE c"), "CLIENT KILL TYPE pubsub ADDR {b.addr}",
             Next("b"), "PUBLISH c m"),
        case("not killed by type", By("b", "SUBSCRIBE c"),
             "CLIENT KILL TYPE normal ADDR {b.addr}", "PUBLISH c m", Next("b")),
    ],
)  # fmt: skip
