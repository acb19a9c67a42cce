#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen input filter: prints a header without parameters that callers never pass, and without constraints, which Sphinx's
C++ parser does not read in all places."""
import re
import sys


def without_requires(text):
    """Removes `requires` clauses: a parenthesised expression, or names joined by && and ||."""
    out, at = [], 0
    for found in re.finditer(r"\brequires\b", text):
        if found.start() < at or text[:found.start()].rpartition("\n")[2].lstrip().startswith("//"):
            continue
        before = text[:found.start()].rstrip()
        if before.endswith("="):  # the definition of a concept
            continue
        out.append(text[at:found.start()])
        end = found.end()
        while True:
            end += len(text[end:]) - len(text[end:].lstrip())
            if text.startswith("!", end):
                end += 1
            name = re.compile(r"[A-Za-z_][\w:]*").match(text, end)
            end = name.end() if name else end
            for opening, closing in ("<>", "()", "{}"):
                if text.startswith(opening, end):
                    depth = 0
                    while True:
                        depth += {opening: 1, closing: -1}.get(text[end], 0)
                        end += 1
                        if depth == 0:
                            break
            joined = re.compile(r"\s*(&&|\|\|)").match(text, end)
            if not joined:
                break
            end = joined.end()
        at = end
    out.append(text[at:])
    return "".join(out)


def without_locations(text):
    """Removes the last parameter of functions that record their caller's line."""
    return re.sub(r"(,\s*\\?\s*|(?<=\())(detail::)?Where where = (detail::)?Where::current\(\)", "", text)


sys.stdout.write(without_locations(without_requires(open(sys.argv[1], encoding="utf-8").read())))
