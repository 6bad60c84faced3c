"""Users end to end: permissions for commands and keys, clients before AUTH, the users file."""

import json
import os
import socket
import time
import unittest

from weir_e2e import DEADLINE, NEVER, Error, ServerTest, encode

PASSWORDS = {name: f"{name}-horse-battery" for name in ("app", "reader", "one", "most", "ops")}
USERS = """\
# Before AUTH a client is no user: the file does not name `default`.
user app on >{app} ~app:* +@limit

user reader on >{reader} ~* +@read
user one on >{one} ~one +rl.allow +del
user most on >{most} ~* +@all -@admin +client|list
user ops on >{ops} ~* +@all
""".format(**PASSWORDS)

# The answer that each user gets: yes, or the reason of a refusal, the command or one of the keys.
RIGHTS = (
    # request                            app        reader     one        most
    ("PING",                             "yes",     "command", "command", "yes"),
    ("RL.ALLOW app:1 9/h",               "yes",     "command", "key",     "yes"),
    ("RL.ALLOW one 9/h",                 "key",     "command", "yes",     "yes"),
    ("RL.ALLOW app:1 9/h AND app:2 9/h", "yes",     "command", "key",     "yes"),
    ("RL.ALLOW one 9/h AND one 9/m",     "key",     "command", "yes",     "yes"),
    ("RL.ALLOW app:1 9/h AND one 9/h",   "key",     "command", "key",     "yes"),
    ("RL.ALLOW one 9/h AND app:1 9/h",   "key",     "command", "key",     "yes"),
    ("RL.PEEK app:1 9/h",                "yes",     "yes",     "command", "yes"),
    ("RL.PEEK app 9/h",                  "key",     "yes",     "command", "yes"),
    ("RL.PEEK one: 9/h AND one 9/h",     "key",     "yes",     "command", "yes"),
    ("RL.WAIT app:1 9/h TIMEOUT 0",      "yes",     "command", "command", "yes"),
    ("RL.WAIT app:1 9/h AND one 9/h TIMEOUT 0",
                                         "key",     "command", "command", "yes"),
    ("RL.INSPECT one",                   "key",     "yes",     "command", "yes"),
    ("CL.THROTTLE one 1 1 1",            "key",     "command", "command", "yes"),
    ("RL.POLICY GET p",                  "yes",     "yes",     "command", "yes"),
    ("RL.POLICY SET p 9/h",              "command", "command", "command", "command"),
    ("DEL one",                          "command", "command", "yes",     "yes"),
    ("DEL one app:1",                    "command", "command", "key",     "yes"),
    ("FLUSHALL",                         "command", "command", "command", "command"),
    ("ACL WHOAMI",                       "yes",     "command", "command", "yes"),
    ("ACL LIST",                         "command", "command", "command", "command"),
    ("CLIENT ID",                        "yes",     "command", "command", "yes"),
    ("CLIENT LIST",                      "command", "command", "command", "yes"),
    ("CLIENT KILL ID 999999",            "command", "command", "command", "command"),
    ("CONFIG GET save",                  "command", "command", "command", "command"),
    ("CONFIG SET timeout 0",             "command", "command", "command", "command"),
    ("ACL LOG 0",                        "command", "command", "command", "command"),
    ("INFO server",                      "yes",     "command", "command", "yes"),
)  # fmt: skip
NOPERM_KEY = "NOPERM this user has no permissions to access one of the keys used as arguments"
NOAUTH = "NOAUTH Authentication required."
WRONGPASS = "WRONGPASS invalid username-password pair or user is disabled."
DELAY_SECONDS = 0.1  # delay after a wrong password

# Files with the error, which names the line and the rule and shows no possible password. All
# errors: tests/server/access/.
SECRET = "hunter2"
BAD_FILES = (
    (f"user app on >{SECRET} ~* +@nope\n", r":1: user 'app': rule 4: '\+@nope': unknown categ"),
    (f"user ops on\n\nuser app >{SECRET} +nope\n", r":3: user 'app': rule 2: '\+nope': unkno"),
    (f"user app on {SECRET}\n", r":1: user 'app': rule 2: unknown \(on, off, >password, "),
    (f"# {SECRET}\n" * 110_000, r": larger than 1048576 bytes"),
)


def words(request):
    return request.split(" ")


def verdict(reply):
    """The right that an answer shows: yes, or the reason of a refusal."""
    if not isinstance(reply, Error) or not reply.startswith("NO"):
        return "yes"
    return "key" if reply == NOPERM_KEY else "command" if " the '" in reply else reply


class AccessTest(ServerTest):
    def start_with_users(self, *options):
        return self.start("--threads", "2", "--users-file", self.write("users", USERS), *options)

    def login(self, server, user):
        client = self.connect(server)
        self.assertEqual(client.call("AUTH", user, PASSWORDS[user]), "OK")
        return client

    # Goal: requests and ACL DRYRUN are refused exactly as the rules say. Method: the table above.
    def test_permissions(self):
        server = self.start_with_users()
        ops = self.login(server, "ops")
        for column, user in enumerate(("app", "reader", "one", "most"), start=1):
            client = self.login(server, user)
            for row in RIGHTS:
                with self.subTest(user=user, request=row[0]):
                    reply = client.call(*words(row[0]))
                    self.assertEqual(verdict(reply), row[column], reply)
                    told = ops.call("ACL", "DRYRUN", user, *words(row[0]))
                    self.assertEqual(told == "OK", row[column] == "yes", told)
        for row in RIGHTS:
            self.assertEqual(verdict(ops.call(*words(row[0]))), "yes", row[0])

    def test_one_foreign_key_charges_none(self):
        server = self.start_with_users()
        app, ops = self.login(server, "app"), self.login(server, "ops")
        for request in (
            f"RL.ALLOW app:k 5/{NEVER} AND other 5/{NEVER}",
            f"RL.ALLOW other 5/{NEVER} AND app:k 5/{NEVER}",
            f"RL.TAKE app:k 5/{NEVER} AND app:k 9/{NEVER} AND app 9/{NEVER} UPTO 3",
            f"RL.REFUND app:k 5/{NEVER} AND other 5/{NEVER}",
            f"RL.CHARGE app:k 5/{NEVER} AND other 5/{NEVER}",
            f"RL.RESERVE app:k 5/{NEVER} AND other 5/{NEVER} HOLD AND TTL 1000",
            "RL.COMMIT app:k AND other COST 5 HOLD AND",
            "RL.CANCEL other HOLD AND",
            f"RL.WAIT other 5/{NEVER} TIMEOUT 100",
            f"RL.WAIT app:k 5/{NEVER} AND other 5/{NEVER} TIMEOUT 100",
        ):
            with self.subTest(request):
                self.assertEqual(app.call(*words(request)), NOPERM_KEY)
                self.assertEqual(app.call("MULTI"), "OK")
                self.assertEqual(app.call("RL.ALLOW", "app:k", f"5/{NEVER}"), "QUEUED")
                self.assertEqual(app.call(*words(request)), NOPERM_KEY)
                self.assertRegex(app.call("EXEC"), "^EXECABORT ")
        self.assertEqual(ops.call("DBSIZE"), 0)

    def test_strangers(self):
        client = self.connect(self.start_with_users())
        for request in ("PING", "RL.ALLOW app:k 5/s", "INFO", "MULTI", "EXEC", "ACL WHOAMI"):
            self.assertIn(NOAUTH, client.call(*words(request)), request)
        # The error does not reveal whether the user exists.
        for user, password in (
            ("app", "wrong"),
            ("app", PASSWORDS["ops"]),
            ("nobody", PASSWORDS["app"]),
            ("default", ""),
            ("APP", PASSWORDS["app"]),
        ):
            self.assertEqual(client.call("AUTH", user, password), WRONGPASS)
            self.assertEqual(client.call("HELLO", 3, "AUTH", user, password), WRONGPASS)
        self.assertEqual(client.call("PING"), NOAUTH)
        self.assertEqual(client.call("AUTH", "app", PASSWORDS["app"]), "OK")
        self.assertEqual(client.call("AUTH", "ops", "wrong"), WRONGPASS)
        self.assertEqual(client.call("ACL", "WHOAMI"), b"app")

    def test_hello_logs_in_and_reset_logs_out(self):
        client = self.connect(self.start_with_users())
        self.assertRegex(client.call("HELLO", 3), "^NOAUTH ")
        hello = client.call("HELLO", 3, "AUTH", "app", PASSWORDS["app"], "SETNAME", "me")
        self.assertEqual(hello[b"proto"], 3)
        self.assertEqual(client.call("ACL", "WHOAMI"), b"app")
        self.assertEqual(client.call("RESET"), "RESET")
        self.assertEqual(client.call("ACL", "WHOAMI"), NOAUTH)
        self.assertEqual(client.call("AUTH", "ops", PASSWORDS["ops"]), "OK")
        info = client.call("CLIENT", "INFO")
        self.assertRegex(info, rb" name= .* user=ops .* resp=2 ")

    # Goal: guessing passwords is slow, and no request is lost. Method: pipelines with
    # three wrong passwords in them, and a client that stays, or that shuts down its sending side.
    def test_wrong_passwords_delay_later_requests(self):
        server = self.start_with_users()
        wrong = encode("AUTH", "app", "wrong")
        right = encode("AUTH", "app", PASSWORDS["app"])
        told = b"-%s\r\n" % WRONGPASS.encode()
        noauth = b"-%s\r\n" % NOAUTH.encode()
        for half_close in (False, True):
            with self.subTest(half_close=half_close):
                client = self.connect(server)
                begin = time.monotonic()
                client.send(wrong + encode("PING") + wrong + wrong + encode("ECHO", "x") + right)
                client.send(encode("PING") + (b"" if half_close else encode("QUIT")))
                if half_close:
                    client.half_close()
                received = client.rest()
                self.assertGreaterEqual(time.monotonic() - begin, 3 * DELAY_SECONDS)
                expected = told + noauth + told + told + noauth + b"+OK\r\n+PONG\r\n"
                self.assertEqual(received, expected + (b"" if half_close else b"+OK\r\n"))

    # The delay affects that connection only.
    def test_wrong_passwords_delay_no_other_client(self):
        server = self.start("--threads", "1", "--users-file", self.write("users", USERS))
        app, guesser = self.login(server, "app"), self.connect(server)
        guesser.send(encode("AUTH", "app", "wrong") * 600)  # a minute
        self.assertEqual(guesser.reply(), WRONGPASS)
        begin = time.monotonic()
        for _ in range(100):
            self.assertEqual(app.call("PING"), "PONG")
        self.assertLess(time.monotonic() - begin, 30)

    # Goal: before AUTH a client can send as much as AUTH and HELLO need, in any form. Method:
    # just within and just over each cap; a user may send what is refused here.
    def test_caps_before_auth(self):
        server = self.start_with_users()
        within = (
            encode("EXISTS", *"abcdefghi"),
            b"EXISTS a b c d e f g h i\r\n",
            encode("ECHO", "x" * 16_360),
            b"ECHO " + b"x" * 8187 + b"\n",
        )
        for request in within:
            with self.subTest(request[:40]):
                client = self.connect(server)
                client.send(request)
                self.assertEqual(client.reply(), NOAUTH)
        over = (
            (encode("EXISTS", *"abcdefghij"), "unauthenticated multibulk length"),
            (b"EXISTS a b c d e f g h i j\r\n", "too many arguments in inline request"),
            (encode("ECHO", "x" * 16_385), "unauthenticated bulk length"),
            (encode("ECHO", "x" * 16_361), "too big request"),
            (encode("ECHO", *["x" * 8000] * 3), "too big request"),
            (b"ECHO " + b"x" * 8188 + b"\n", "too big inline request"),
        )
        for request, error in over:
            with self.subTest(request[:40]):
                client = self.connect(server)
                client.send(request)
                self.assertEqual(client.rest(), b"-ERR Protocol error: %s\r\n" % error.encode())
                client = self.login(server, "ops")
                client.send(request)
                self.assertNotRegex(str(client.reply()), "^ERR Protocol")
                self.assertEqual(client.call("RESET"), "RESET")
                client.send(request)
                self.assertEqual(client.rest(), b"-ERR Protocol error: %s\r\n" % error.encode())

    def test_a_bad_file_changes_nothing(self):
        server = self.start_with_users()
        ops, app = self.login(server, "ops"), self.login(server, "app")
        before = ops.call("ACL", "LIST")
        for text, why in BAD_FILES:
            with self.subTest(text[:60]):
                path = self.write("users", text)
                error = ops.call("ACL", "LOAD")
                self.assertRegex(error, f"^ERR {path}{why}")
                self.assertNotIn(SECRET, error)
                self.assertEqual(ops.call("ACL", "LIST"), before)
        os.unlink(path)
        self.assertEqual(
            ops.call("ACL", "LOAD"),
            f"ERR cannot read the users file {path}: No such file or directory",
        )
        self.assertEqual(ops.call("ACL", "LIST"), before)
        self.assertEqual(app.call("ACL", "WHOAMI"), b"app")
        self.assertNotIn(SECRET, server.log())

    # Goal: a file that is loaded counts at each client's next request. Method: users who go, are
    # turned off, and get other rights, while they are there, and come again.
    def test_a_new_file_counts_at_the_next_request(self):
        server = self.start_with_users()
        ops = self.login(server, "ops")
        users = {name: self.login(server, name) for name in ("app", "reader", "most")}
        app_in_transaction = self.login(server, "app")
        app_in_transaction.call("MULTI")
        app_in_transaction.call("RL.ALLOW", "app:k", f"5/{NEVER}")
        self.write(
            "users",
            f"user reader off >{PASSWORDS['reader']} ~* +@read\n"
            f"user most on >new ~other* +rl.allow +acl|whoami\n"
            f"user ops on >{PASSWORDS['ops']} ~* +@all\n",
        )
        self.assertEqual(ops.call("ACL", "LOAD"), "OK")
        self.assertEqual(users["app"].call("PING"), NOAUTH)
        self.assertEqual(users["reader"].call("RL.PEEK", "k", "5/s"), NOAUTH)
        self.assertEqual(
            app_in_transaction.call("EXEC"), f"EXECABORT Transaction discarded because of: {NOAUTH}"
        )
        self.assertEqual(app_in_transaction.call("PING"), NOAUTH)
        self.assertEqual(ops.call("DBSIZE"), 0)
        # The password has changed, so the client must log in again, and then has the present
        # rights.
        self.assertEqual(users["most"].call("ACL", "WHOAMI"), NOAUTH)
        self.assertEqual(users["most"].call("AUTH", "most", "new"), "OK")
        self.assertEqual(verdict(users["most"].call("PING")), "command")
        self.assertEqual(users["most"].call("RL.ALLOW", "k", "5/s"), NOPERM_KEY)
        self.assertEqual(users["most"].call("RL.ALLOW", "other", "5/s")[0], 1)
        for name in users:
            self.assertEqual(users[name].call("AUTH", name, PASSWORDS[name]), WRONGPASS)
        self.assertEqual(users["most"].call("AUTH", "most", "new"), "OK")
        # And back.
        self.write("users", USERS)
        self.assertEqual(ops.call("ACL", "LOAD"), "OK")
        self.assertEqual(users["most"].call("PING"), NOAUTH)
        self.assertEqual(users["app"].call("PING"), NOAUTH)
        self.assertEqual(users["app"].call("AUTH", "app", PASSWORDS["app"]), "OK")
        self.assertEqual(users["app"].call("PING"), "PONG")

    # A file may let clients in without AUTH, as `default`, and shut them out again.
    def test_strangers_are_default(self):
        server = self.start_with_users()
        ops, stranger = self.login(server, "ops"), self.connect(server)
        self.assertEqual(stranger.call("PING"), NOAUTH)
        self.write("users", f"{USERS}user default on nopass ~public:* +@limit\n")
        self.assertEqual(ops.call("ACL", "LOAD"), "OK")
        self.assertEqual(stranger.call("ACL", "WHOAMI"), b"default")
        self.assertEqual(stranger.call("RL.ALLOW", "public:k", "5/s")[0], 1)
        self.assertEqual(stranger.call("RL.ALLOW", "app:k", "5/s"), NOPERM_KEY)
        self.write("users", USERS)
        self.assertEqual(ops.call("ACL", "LOAD"), "OK")
        self.assertEqual(stranger.call("PING"), NOAUTH)

    def test_requirepass(self):
        server = self.start("--requirepass", SECRET)
        client = self.connect(server)
        self.assertEqual(client.call("PING"), NOAUTH)
        self.assertEqual(client.call("AUTH", "wrong"), WRONGPASS)
        self.assertEqual(client.call("AUTH", SECRET), "OK")
        self.assertEqual(client.call("ACL", "WHOAMI"), b"default")
        self.assertRegex(client.call("ACL", "LOAD"), "^ERR there is no users file")
        self.assertEqual(client.call("CONFIG", "GET", "requirepass"), [b"requirepass", b""])
        self.assertNotIn(SECRET.encode(), repr(client.call("CONFIG", "GET", "*")).encode())
        self.assertEqual(server.stop(), 0)
        self.assertNotIn(SECRET, server.log())

    def test_refusals_at_the_start(self):
        path = self.write("users", USERS)
        self.assertEqual(
            self.refused("--requirepass", SECRET, "--users-file", path),
            "weir-server: requirepass and users-file: give one of them; "
            "the file can set the default user's password",
        )
        self.assertEqual(
            self.refused("--users-file", path + ".absent"),
            f"weir-server: cannot read the users file {path}.absent: No such file or directory",
        )
        self.assertEqual(
            self.refused("--users-file", self.directory),
            f"weir-server: cannot read the users file {self.directory}: Is a directory",
        )
        for text, why in BAD_FILES:
            with self.subTest(text[:60]):
                line = self.refused("--users-file", self.write("users", text))
                self.assertNotIn(SECRET, line)
                self.assertRegex(line, f"^weir-server: {path}{why}")

    # Goal: the logs say who was refused, but not with what, nor which keys were asked for. Method:
    # passwords right and wrong, in all places where one can stand, also the wrong ones.
    def test_no_password_is_in_the_log(self):
        for log_format in ("text", "json"):
            with self.subTest(log_format):
                server = self.start_with_users("--log-level=debug", f"--log-format={log_format}")
                self.say_passwords(server)
                log = server.log()
                for secret in (*PASSWORDS.values(), SECRET, "app:somebody"):
                    self.assertNotIn(secret, log)
                if log_format == "json":
                    for line in log.splitlines():
                        self.assertEqual(list(json.loads(line)), ["time", "level", "message"])

    def say_passwords(self, server):
        client = self.connect(server)
        secrets = [*PASSWORDS.values(), SECRET]
        for secret in secrets:
            client.call("AUTH", "app", secret)
            client.call("AUTH", secret)
            client.call("AUTH", secret, "x")
            client.call("HELLO", 3, "AUTH", "app", secret)
            client.call("HELLO", 3, "AUTH", secret)
            client.call("AUTH", "app", secret, "more")
            client.call("PASS", secret)
        client.send(f"AUTH app {SECRET}\r\n".encode())
        self.assertEqual(client.reply(), WRONGPASS)
        other = self.connect(server)
        other.send(b"AUTH app '" + SECRET.encode() + b"\r\n")  # a quote that is not closed
        other.rest()
        # A line a minute and address: the second one is of a name that may be a password.
        server.wait_for_log(r"refused client 127\.0\.0\.1:\d+ as user 'default': wrong password")
        there, here = ("127.0.0.1", server.port), ("127.0.0.2", 0)
        with socket.create_connection(there, DEADLINE, source_address=here) as stranger:
            stranger.sendall(encode("AUTH", SECRET, "x"))
            server.wait_for_log(r"refused client 127\.0\.0\.2:\d+ as an unknown user: wrong pass")
        told = repr(self.login(server, "ops").call("ACL", "LOG", 128))
        for user in ("app", "default", "(unknown)"):
            self.assertIn(f"b'username', {user.encode()!r}", told)
        for secret in secrets:
            self.assertNotIn(secret, told)
        app = self.login(server, "app")
        self.assertEqual(app.call("RL.ALLOW", "app:somebody", "1/h")[0], 1)
        self.assertEqual(app.call("RL.ALLOW", "app:somebody", "1/h")[0], 0)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
