"""Lays out Markdown: a paragraph or list item with a line of more than 100 columns is filled again.

    markdown.py [--check] FILE ...    rewrites the files, or lists the paragraphs that it would fill

Tables, code in fences, headings, comments of a line, front matter and link definitions stay as they
are, and so does a paragraph whose lines are short enough. No line is broken within `code`.
"""

import re
import sys
from pathlib import Path

COLUMNS = 100
MARKER = re.compile(r" *(?:[-*+]|\d+[.)]) +")
# A line of these is no prose, or is a block of its own: a table, a heading, HTML, a quotation.
BLOCK = re.compile(r" *(?:[|#<>]|\[[^]]+\]: |---+$|$)")
FENCE = re.compile(r" *```")
# A word of a paragraph: blanks within code do not end it.
WORD = re.compile(r"(?:`+[^`]*`+|[^\s`]|`)+")
# A line must not begin with a word that would begin a block or an item there.
OPENING = re.compile(r"(?:[-*+|#>]|#+|---+|\d+[.)])$|[|<>]")


def filled(lines):
    """The lines of one paragraph or list item, none longer than COLUMNS if its words allow it."""
    marker = MARKER.match(lines[0])
    head = marker[0] if marker else re.match(" *", lines[0])[0]
    indent = " " * len(head)
    words = WORD.findall(" ".join([lines[0][len(head) :], *lines[1:]]))
    result = [head + words[0]]
    for word, following in zip(words[1:], [*words[2:], ""]):
        room = COLUMNS - len(result[-1]) - 1 - len(word)
        if OPENING.match(following):
            room -= 1 + len(following)
        if room >= 0 or OPENING.match(word):
            result[-1] += " " + word
        else:
            result.append(indent + word)
    return result


def paragraphs(lines):
    """The slices of the lines that are paragraphs or list items of prose."""
    begin = None
    is_code = False
    is_front_matter = lines[:1] == ["---"]
    for i, line in enumerate([*lines, ""]):
        fence = FENCE.match(line) is not None
        stays = is_code or fence or is_front_matter or BLOCK.match(line) is not None
        if begin is not None and (stays or MARKER.match(line)):
            yield slice(begin, i)
            begin = None
        if not stays and begin is None:
            begin = i
        is_code ^= fence
        is_front_matter &= i == 0 or line != "---"


def main(arguments):
    check = arguments[:1] == ["--check"]
    found = False
    for name in arguments[check:]:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
        laid_out = list(lines)
        for part in reversed(list(paragraphs(lines))):
            text = lines[part]
            if max(map(len, text)) > COLUMNS and filled(text) != text:
                laid_out[part] = filled(text)
                if check:
                    print(f"{name}:{part.start + 1}: a line of more than {COLUMNS} columns")
                    found = True
        if laid_out != lines and not check:
            Path(name).write_text("\n".join(laid_out) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
