"""The commands of a page of docs/, run as typed; what they print is compared with the page.

A block ```console has commands behind the prompt "$ ", and what each prints below it. `...` stands
for any text within a line, and alone on a line for any lines. A command goes on in the next line
after "\\", and up to the line END after <<'END'. A comment <!-- test: COMMAND --> is run, too: it
causes the trouble that the page is about.
"""

import re

BLOCK = re.compile(r"^```console\n(.*?)^```$|^<!-- test: (.*?) -->$", re.DOTALL | re.MULTILINE)
PROMPT = "$ "


def steps(page):
    """The steps of a page in their order: (number of the line, command, output or None)."""
    for block in BLOCK.finditer(page):
        number = page[: block.start()].count("\n") + 1
        if block.group(2):
            yield number, block.group(2), None
            continue
        yield from _commands(block.group(1).splitlines(), number + 1)


def _commands(lines, number):
    command, shown, begin, end_word = None, [], number, None
    for number, line in enumerate(lines, number):
        if end_word or (command and command.endswith("\\")):
            command += "\n" + line
            end_word = None if line == end_word else end_word
        elif line.startswith(PROMPT):
            if command:
                yield begin, command, shown
            command, shown, begin = line[len(PROMPT):], [], number
            end_word = "END" if "<<'END'" in command else None
        else:
            shown.append(line)
    if command:
        yield begin, command, shown


def differs(shown, printed):
    """A description of the first difference, or an empty text."""
    pattern = "\n".join(re.escape(line) for line in shown)
    pattern = re.sub(r"^\\\.\\\.\\\.$", r"(?:.*\\n)*?.*", pattern, flags=re.MULTILINE)
    pattern = pattern.replace(r"\.\.\.", ".*")
    text = re.sub(r" +$", "", printed.replace("\r", ""), flags=re.MULTILINE).strip("\n")
    if re.fullmatch(pattern, text):
        return ""
    return "the page shows\n" + "\n".join(shown) + "\nbut it printed\n" + text


def follow(path, ask):
    """Runs the page by `ask`, which returns what a command prints; raises all differences."""
    found = []
    count = 0
    for number, command, shown in steps(path.read_text(encoding="utf-8")):
        done = ask(command)
        count += 1
        text = ""
        if shown is not None:
            text = differs(shown, done.stdout)
        elif done.returncode != 0:
            text = f"status {done.returncode}\n{done.stdout}"
        if text:
            found.append(f"{path.name}:{number}: {command}: {text}")
    if found:
        raise AssertionError("\n\n".join(found))
    return count
