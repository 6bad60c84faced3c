"""The picture of the rooms at the top of ARCHITECTURE.md, drawn from the #include lines.

    rooms.py           writes it
    rooms.py --check   fails if it is not up to date

A room is a folder of core/, module/ or server/, or all of another folder. An arrow says
that a room includes another; arrows that follow from others are left out.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
FOLDERS = ("manual", "check", "server", "module", "replay", "replication", "persistence",
           "protocol", "http2", "rls", "edge", "core")
BEGIN, END = "<!-- rooms.py draws from here -->\n", "<!-- to here -->\n"


def room_of(path):
    """"core/rules" of "core/rules/limit.h", "protocol" of "protocol/glob.h"."""
    parts = path.split("/")
    return "/".join(parts[:-1]) if parts[0] in FOLDERS else None


def arrows():
    """Which rooms each room includes."""
    found = {}
    for folder in FOLDERS:
        for source in sorted((ROOT / folder).rglob("*")):
            if source.suffix not in (".h", ".cc"):
                continue
            room = room_of(source.relative_to(ROOT).as_posix())
            to = found.setdefault(room, set())
            for included in re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE):
                if (other := room_of(included)) and other != room:
                    to.add(other)
    return found


def reachable(found, room):
    """The rooms that a room includes, and those that these include, and so on."""
    seen, todo = set(), list(found[room])
    while todo:
        if (other := todo.pop()) not in seen:
            seen.add(other)
            todo += found[other]
    return seen


def picture():
    found = arrows()
    below = {room: reachable(found, room) for room in found}
    circles = [room for room in found if room in below[room]]
    if circles:
        sys.exit(f"rooms that include each other: {', '.join(circles)}")
    lines = ["```mermaid", "flowchart TD"]
    for folder in FOLDERS:
        rooms = [room for room in found if room.split("/")[0] == folder]
        if rooms == [folder]:
            lines.append(f"  {folder}[{folder}/]")
            continue
        lines.append(f"  subgraph {folder}/")
        lines += [f"    {name(room)}[{label(room)}]" for room in rooms]
        lines.append("  end")
    for room in found:
        direct = {to for to in found[room] if not any(to in below[by] for by in found[room])}
        lines += [f"  {name(room)} --> {name(to)}" for to in sorted(direct)]
    return "\n".join(lines + ["```", ""])


def label(room):
    """The room's own name; of a folder that has rooms, the programs that lie beside them."""
    if "/" in room:
        return room.split("/")[-1]
    return ", ".join(sorted(source.stem for source in (ROOT / room).glob("*.cc")))


def name(room):
    return room.replace("/", "_")


def main():
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    drawn = before + BEGIN + picture() + END + after
    if "--check" in sys.argv and drawn != page:
        sys.exit("the rooms in ARCHITECTURE.md have changed: run `./dev docs`")
    PAGE.write_text(drawn)


if __name__ == "__main__":
    main()
