"""Calls and answers of the rate limit service, as data: rules, and rows of calls.

A row has its number, the name of its rules, and steps: `CALL -> STATUSES | OVERALL`, in the
notation of rls_client.py, `n x` before a call that is made n times with the same answer, and behind
the answer, in brackets, what current_limit says of the first status that has one.
"""

import pathlib

RULES_FOLDER = pathlib.Path(__file__).parents[2] / "rls" / "rules"


def rules_in(name):
    """The rules of a file that the tests of the matching read, too."""
    return (RULES_FOLDER / f"{name}.yaml").read_text()


DOMAINS = {"E": "rl"}  # of calls that name none; else test-domain

RULES = {
    "B": rules_in("basic"),
    "W": rules_in("wildcards"),
    "S": """
domain: test-domain
descriptors:
- {key: files, value: files/*, share_threshold: true,
   rate_limit: {unit: minute, requests_per_unit: 100}}
- key: route
  value: api/*
  share_threshold: true
  descriptors: [{key: method, rate_limit: {unit: minute, requests_per_unit: 60}}]
- key: path
  value: path/*
  share_threshold: true
  descriptors:
  - key: file
    value: file/*
    descriptors: [{key: type, rate_limit: {unit: minute, requests_per_unit: 120}}]
- {key: own, value: own/*, rate_limit: {unit: hour, requests_per_unit: 10}}
""",
    "E": rules_in("envoy"),
    "deny": """
domain: test-domain
on_no_match: deny
descriptors: [{key: key2, rate_limit: {unit: minute, requests_per_unit: 20}}]
""",
    "ask": """
domain: test-domain
hits: ask
descriptors: [{key: key2, rate_limit: {unit: minute, requests_per_unit: 20}}]
""",
    "own": """
domain: test-domain
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 3, algorithm: bucket}}
- {key: b, rate_limit: {limits: ["2/h", "3/d"]}}
- {key: c, rate_limit: {unit: hour, unit_multiplier: 12, requests_per_unit: 4294967295}}
""",
}

FOO_BANNED = "foo=b/bar=banned"
PROXY = "source_cluster=proxy/destination_cluster"
SERVICES = "service=service_1; service=service_2"
LONG = "x" * 2000

# (number, rules, steps)
ROWS = [
    (1, "B", ["foo_domain|key1=value1 -> - | OK"]),
    (2, "B", ["key1=value1 -> - | OK", "key1=something -> - | OK",
              "key2=value2/subkey=subvalue -> - | OK", "key5=value5/subkey5=subvalue -> - | OK"]),
    (3, "B", ["key1=value1/subkey1=something -> r4 | OK [5 SECOND]"]),
    (4, "B", ["key1=value1/subkey1=subvalue1 -> r9 | OK [10 SECOND]"]),
    (5, "B", ["key2=something -> r19 | OK", "key2=value2 -> r29 | OK", "key2=value3 -> - | OK"]),
    (6, "B", ["key2= -> r19 | OK"]),
    (7, "B", [f"key2=a -> r{left} | OK" for left in range(19, -1, -1)]
             + ["5 x key2=a -> OVER | OVER [20 MINUTE]"]),
    (8, "B", ["key3=foo -> r0 | OK [1 HOUR]", "key3=foo -> OVER | OVER [1 HOUR]"]),
    (9, "B", ["key4=foo -> r0 | OK [1 DAY key4_rate_limit]", "key5=value5 -> r14 | OK [15 DAY]",
              "key5=value5/subkey5=subvalue5 -> r24 | OK [25 DAY]"]),
    (10, "B", ["key6=foo -> inf | OK"]),
    (11, "B", ["key7=x -> r69 | OK", "key7=y -> r69 | OK"]),
    (12, "B", ["none -> - | OK"]),
    (13, "B", ["key2=a; key3=a -> r19 r0 | OK", "14 x key2=a; key3=a -> r19 OVER | OVER"]),
    (14, "B", [f"key2=a; ten=a -> r{left + 10} r{left} | OK" for left in range(9, -1, -1)]
              + ["5 x key2=a; ten=a -> r10 OVER | OVER"]),
    (15, "B", ["key2=a; key9=x -> r19 - | OK", "key2=b #3 -> r17 | OK"]),
    (16, "B", ["key2=a #25 -> OVER | OVER", "key2=a -> OVER | OVER"]),
    (17, "B", ["key2=a +5 -> r15 | OK", "key2=a -> r14 | OK"]),
    (18, "B", ["key3=a +0 -> r1 | OK", "key3=a +1 -> r0 | OK", "key3=a +0 -> r0 | OK",
               "key3=a +1 -> OVER | OVER", "key3=a +0 -> OVER | OVER"]),
    (19, "B", ["key3=a +1 -> r0 | OK", "2 x key3=a +1 -> OVER | OVER", "key3=a -1 -> r0 | OK",
               "key3=a +0 -> r0 | OK", "key3=a -> OVER | OVER"]),
    (20, "B", ["key3=a -5 -> r1 | OK"]),
    (21, "B", ["key2=a +18; key3=a -> r2 r0 | OK", "key2=a +1; key3=a -> r1 OVER | OVER"]),
    (22, "B", ["key3=a; key3=a -> OVER OVER | OVER", "key3=a -> r0 | OK"]),
    (23, "B", ["key2=a; key2=a #1 -> r18 r18 | OK"]),
    (24, "B", ["key2=a; key2=a +2; key2=a -1 -> r18 r18 r18 | OK"]),
    (25, "B", ["key1=value1/subkey1=something @10/DAY -> r9 | OK [10 DAY]"]),
    (26, "B", ["key1=value1/subkey1=something @10/DAY -> r9 | OK",
               "key1=value1/subkey1=something @4/DAY -> r2 | OK [4 DAY]",
               "key1=value1/subkey1=something @42/HOUR -> r41 | OK [42 HOUR]",
               "key1=value1/subkey1=something_else @42/HOUR -> r41 | OK"]),
    (27, "B", ["foo_domain|key1=value1 @10/DAY -> - | OK"]),
    (28, "B", ["key2=a @0/DAY -> OVER | OVER [0 DAY]", "key2=a @5/UNKNOWN -> !3",
               "key2=b @10/5*MINUTE -> r9 | OK [10 MINUTE x 5]",
               "key2=b @10/5*MINUTE -> r8 | OK", "key2=b @8/0*DAY -> !3"]),
    (29, "W", ["wild=foo1 -> r19 | OK", "wild=foo2 -> r19 | OK", "wild=bar -> - | OK",
               "noWild=foo1 -> - | OK", "noVal=x -> r19 | OK"]),
    (30, "W", ["midWild=barab -> r19 | OK", "midWild=barb -> r19 | OK", "midWild=bara -> - | OK",
               "midWild=xbarb -> - | OK", "midWild=bar -> - | OK"]),
    (31, "W", ["any= -> r2 | OK", "any=x -> r2 | OK"]),
    (32, "W", ["path=%a%b%z -> r3 | OK", "ph=%a%%z -> r3 | OK", "path=%a%z -> - | OK",
               "pth=%b%c%z -> - | OK"]),
    (33, "W", ["pre=aab -> r4 | OK", "pre=ab -> r5 | OK", "pre=b -> r6 | OK"]),
    (34, "S", ["files=files%a.pdf -> r99 | OK", "files=files%a.pdf #99 -> r0 | OK",
               "files=files%b.csv -> OVER | OVER"]),
    (35, "S", ["own=own%a -> r9 | OK", "own=own%b -> r9 | OK"]),
    (36, "S", ["route=api%v1/method=GET -> r59 | OK", "route=api%v2/method=GET -> r58 | OK",
               "route=api%v1/method=PUT -> r59 | OK"]),
    (37, "S", ["path=path%a/file=file%x/type=t -> r119 | OK",
               "path=path%b/file=file%x/type=t -> r118 | OK",
               "path=path%a/file=file%y/type=t -> r119 | OK"]),
    (38, "E", [f"foo=pelle/baz=not-so-shady -> r{left} | OK" for left in (2, 1, 0)]
              + ["2 x foo=pelle/baz=not-so-shady -> OVER | OVER"]),
    (39, "E", [f"foo=pelle/baz=shady -> r{left} | OK" for left in (2, 1, 0, 0, 0, 0)]),
    (40, "E", ["foo=pelle/bay=x -> inf | OK"]),
    (41, "E", [f"{FOO_BANNED} -> OVER | OVER [0 MINUTE banned_limit]"]),
    (42, "E", [f"2 x {FOO_BANNED}; {PROXY}=mock -> OVER r1 | OVER", f"{PROXY}=mock -> r0 | OK"]),
    (43, "E", [f"{FOO_BANNED}; {PROXY}=override -> - r1 | OK",
               f"{FOO_BANNED}; {PROXY}=override -> - r0 | OK",
               f"{FOO_BANNED}; {PROXY}=override -> - OVER | OVER"]),
    (44, "E", [f"foo=m/bar=bkthomps; {PROXY}=bkthomps -> - r1 | OK",
               f"foo=m/bar=bkthomps; {PROXY}=bkthomps -> - r0 | OK",
               f"foo=m/bar=bkthomps; {PROXY}=bkthomps -> - OVER | OVER",
               f"foo=m/bar=bkthomps; {PROXY}=other -> r0 - | OK",
               f"foo=m/bar=bkthomps; {PROXY}=other -> OVER - | OVER"]),
    (46, "E", ["foo=m/bar=bkthomps; qux=x -> - inf | OK"]),
    (47, "E", [f"{PROXY}=bkthomps; foo=n/bar=bkthomps -> r1 - | OK"]),
    (48, "E", [f"{SERVICES} -> r0 r1 | OK", f"{SERVICES} -> OVER r0 | OK",
               f"2 x {SERVICES} -> OVER OVER | OVER"]),
    (49, "E", ["service=service_1 +0; service=service_2 +0 -> r1 r2 | OK",
               "service=service_2 +1 -> r1 | OK",
               "service=service_1 +0; service=service_2 +0 -> r1 r1 | OK",
               "service=service_2 +1 -> r0 | OK",
               "service=service_1 +0; service=service_2 +0 -> r1 r0 | OK",
               "service=service_2 +1 -> OVER | OVER",
               "service=service_1 +0; service=service_2 +0 -> r1 OVER | OK"]),
    (51, "E", [f"{SERVICES}; foo=x -> r0 r1 r1 | OK", f"{SERVICES}; foo=x -> OVER r0 r0 | OK",
               f"{SERVICES}; foo=x -> OVER OVER OVER | OVER"]),
    (52, "E", ["service=service_1; foo=x/bar=banned -> r1 OVER | OVER",
               "service=service_1 -> r0 | OK"]),
    (53, "E", ["service=service_1; service=service_9 -> r0 - | OK",
               "service=service_1; service=service_9 -> OVER - | OVER"]),
    (54, "E rls-quota", ["service=service_1; service=service_9 -> r0 - | OK",
                         "service=service_1; service=service_9 -> OVER - | OK"]),
    (55, "E rls-quota", ["foo=q -> r1 | OK", "foo=q -> r0 | OK", "foo=q -> OVER | OVER"]),
    (56, "E rls-shadow", ["foo=s -> r1 | OK", "foo=s -> r0 | OK", "2 x foo=s -> OVER | OK"]),
    (61, "B", ["|key2=a -> !3", " -> !3", "key2=a;" * 65 + " -> !3",
               "/".join(["a=b"] * 17) + " -> !3", f"key2={LONG} -> r19 | OK"]),
    (62, "deny", ["key9=x; key2=a -> OVER- r20 | OVER", "key2=a -> r19 | OK"]),
    (63, "ask", ["key2=a +15 -> r5 | OK", "key2=a +6 -> OVER | OVER", "key2=a +5 -> r0 | OK"]),
    (64, "own", ["a=1 -> r2 | OK [3 MINUTE]", "a=1 -> r1 | OK", "a=1 -> r0 | OK",
                 "a=1 -> OVER | OVER"]),
    (65, "own", ["b=1 -> r1 | OK [2 HOUR]", "b=1 -> r0 | OK", "b=1 -> OVER | OVER [2 HOUR]",
                 "c=1 -> r2147483646 | OK [4294967295 HOUR x 12]"]),
    (68, "B", ["key3=a -> r0 | OK", "key3=a -> OVER | OVER", "key3=a +0 -> OVER | OVER"]),
]
