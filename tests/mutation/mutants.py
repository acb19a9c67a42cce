# SPDX-License-Identifier: Apache-2.0
"""The mutants of a component: which are judged, and which are known to change nothing."""
import collections
import json
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent


def name_of(mutant):
    """The same in each build of one source."""
    return f"{mutant['file']}:{mutant['line']}:{mutant['column']}:{mutant['kind']}:{mutant['ordinal']}"


def choose(mutants, count, seed):
    """`count` mutants, evenly over the lines: no line has two before every line has one. The first N of a larger choice
    of the same seed are the choice of N, so that a run can be extended."""
    dice = random.Random(seed)
    lines = {}
    for mutant in mutants:
        lines.setdefault((mutant["file"], mutant["line"]), []).append(mutant)
    for of_line in lines.values():
        dice.shuffle(of_line)
    places = sorted(lines)
    chosen = []
    while places and len(chosen) < count:
        dice.shuffle(places)
        chosen += [lines[place].pop() for place in places]
        places = sorted(place for place in places if lines[place])
    return chosen[:count]


def add_ordinals(mutants):
    """Numbers the equal changes of one line from 1, from left to right."""
    seen = collections.Counter()
    for mutant in sorted(mutants, key=lambda one: one["column"]):
        place = mutant["file"], mutant["line"], mutant["kind"], mutant["change"]
        seen[place] += 1
        mutant["nth"] = seen[place]


class Equivalents:
    """equivalent.json. An entry without `nth`, `change` or `kind` holds for all of its line that it does not exclude. Each
    may be a list."""

    def __init__(self, path=HERE / "equivalent.json"):
        self.entries = {}
        for one in json.loads(path.read_text()):
            self.entries.setdefault((one["file"], one["line"]), []).append(one)

    def reason_for(self, mutant):
        for one in self.entries.get((mutant["file"], mutant["text"]), []):
            if all(self.holds(one.get(name, mutant[name]), mutant[name]) for name in ("kind", "change", "nth")):
                return one["reason"]
        return None

    @staticmethod
    def holds(expected, found):
        return found in expected if isinstance(expected, list) else found == expected
