#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much two drivers have in common once one vendor's names are written like the other's.

Compares files of the same name as diff does, in their order, and counts the lines of the smaller driver that are in
the other one. Comments and lines of punctuation alone are never counted; lines that open namespaces, include files or
only shorten names (using) are counted in a second number, for the record. Prints both and the lines, and exits with 1
when the first is above the limit.
"""
import argparse
import re
import sys
from difflib import SequenceMatcher
from pathlib import Path

NAMES = re.compile(r"cuda|amdgpu|hip|\bcu(?=[A-Z])", re.IGNORECASE)
FRAME = re.compile(r"#include|#pragma|namespace|using |extern \"c\"")


def renamed(text):
    return NAMES.sub("vendor", text).lower()


def lines_of(path, framed):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    lines = (renamed(re.sub(r"\s+", " ", re.sub(r"//.*", "", line)).strip()) for line in text.splitlines())
    return [line for line in lines if re.search(r"\w", line) and (framed or not FRAME.match(line))]


def files_of(folder, framed):
    return {renamed(path.name): lines_of(path, framed) for path in folder.iterdir() if path.suffix in (".cpp", ".hpp")}


def compare(folders, framed):
    """The lines that are the same, each as (file, line), and the number of lines of each driver."""
    first, second = (files_of(folder, framed) for folder in folders)
    same = []
    for name in sorted(first.keys() & second.keys()):
        for block in SequenceMatcher(None, first[name], second[name], autojunk=False).get_matching_blocks():
            same += [(name, line) for line in first[name][block.a : block.a + block.size]]
    return same, [sum(map(len, files.values())) for files in (first, second)]


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("drivers", nargs=2, type=Path)
    words.add_argument("--limit", type=float, default=10, help="per cent")
    arguments = words.parse_args()
    shares = []
    for framed in (True, False):
        same, sizes = compare(arguments.drivers, framed)
        if min(sizes) == 0:
            sys.exit(f"no code in {arguments.drivers[sizes.index(0)]}")
        shares.append(100 * len(same) / min(sizes))
        if not framed:
            for name, line in same:
                print(f"{name}: {line}")
        print(f"{'with' if framed else 'without'} includes, namespaces and using: {len(same)} lines are the same of "
              f"{sizes[0]} and {sizes[1]}, {shares[-1]:.1f} % of the smaller driver")
    return shares[-1] >= arguments.limit


if __name__ == "__main__":
    sys.exit(main())
