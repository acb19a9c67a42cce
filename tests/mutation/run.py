#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation of one component's sources: which changes do its tests notice? See README.md."""
import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import build
import judge
import mutants

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SKIPPED = 77
GROUP_MILLISECONDS = 1500  # of the first group of requirements; later ones take twice as long each
OUTCOMES = ["killed", "by chance", "survived", "equivalent", "same code", "does not compile"]


def known_equivalents():
    return {(one["file"], one["line"], one["mutation"]): one["reason"]
            for one in json.loads((HERE / "equivalent.json").read_text())}


class Place:
    """A folder with the build's layout: links to all of its files, in whose place mutated ones can be written."""

    def __init__(self, built, folder):
        self.folder = folder
        real = {"bin", "lib", "lib/weir", "lib/weir/drivers"}
        for path in [""] + sorted(real):
            (folder / path).mkdir(parents=True, exist_ok=True)
            for entry in (built / path).iterdir():
                name = f"{path}/{entry.name}".lstrip("/")
                if name not in real and not (folder / name).exists():
                    (folder / name).symlink_to(entry.resolve())

    def own(self, name):
        """The path `name`, which holds a file instead of a link from now on: programs find their folder by it."""
        path = self.folder / name
        if path.is_symlink():
            target = path.resolve()
            path.unlink()
            shutil.copy2(target, path)
        return path


class Run:
    def __init__(self, arguments, scratch):
        self.component = json.loads((HERE / "components.json").read_text())[arguments.component]
        self.root = SOURCE / self.component["root"]
        self.build = build.Build(arguments.build, self.root, scratch)
        self.place = Place(arguments.build.resolve(), scratch / "place")
        self.scratch = scratch
        self.judges = [one for one in self.component["judges"] if not arguments.judge or one["name"] in arguments.judge]
        if not self.judges:
            names = ", ".join(f"'{one['name']}'" for one in self.component["judges"])
            raise SystemExit(f"no judge is named {arguments.judge}; {arguments.component} has {names}")
        # The suite reads the manifest beside the mutated library.
        for one in self.judges:
            for name in one["command"]:
                if name.startswith(("bin/", "lib/")):
                    if not self.place.own(name).exists():
                        raise SystemExit(f"{arguments.build} has no {name}, which is a test of {arguments.component}; build "
                                         "it first")

    def files(self):
        found = set()
        for pattern in self.component["files"]:
            found.update(self.root.glob(pattern))
        return sorted(str(path.relative_to(self.root)) for path in found)

    def sort_judges(self, times):
        """Splits each judge with a filter: the requirements that take least time first, of all levels."""
        judges, groups, total, part = [], [], 0, GROUP_MILLISECONDS
        for name in sorted(times, key=times.get):
            if not groups or total > part:
                groups.append([])
                part += part
            groups[-1].append(name)
            total += times[name]
        for one in self.judges:
            if "filter" not in one:
                judges.append(one)
                continue
            for number, names in enumerate(groups):
                judges.append(dict(one, command=one["command"] + [one["filter"], ",".join(names)],
                                   link=one.get("link", {}) if number == 0 else {}))
        self.judges = judges

    def link(self, links, replaced):
        for target, output in links.items():
            path = self.place.folder / output
            path.unlink(missing_ok=True)
            if errors := self.build.link(target, path, replaced):
                return "link", errors[-1000:]
        return None

    def judge(self, replaced, file=None, rounds=1, times=None, name=None):
        """(name of the judge, failed test) of the first failure; None if all pass. `replaced`: as for Build.link;
        `file`: the mutated one, or None for all judges; `name`: of the only judges that run."""
        if failed := self.link(self.component.get("link", {}), replaced):
            return failed
        for number in range(rounds):
            for one in self.judges:
                if (file and file not in one.get("only", [file])) or (name and one["name"] != name):
                    continue
                if number == 0 and (failed := self.link(one.get("link", {}), replaced)):
                    return failed
                environment = dict(self.component["environment"], **one.get("environment", {}))
                environment["LD_LIBRARY_PATH"] = str(self.place.folder / "lib")
                # Programs and their files are found by absolute paths; a program may change its folder.
                command = [str(self.place.folder / word) if word.startswith(("bin/", "lib/")) else word
                           for word in one["command"]]
                if failed := judge.run(command, environment, one["limit"], self.scratch, times):
                    return one["name"], failed
        return None

    def unmutated(self, file):
        command, unit, objects = self.build.plain_objects(self.component["owner"], file)
        return {unit: list(objects.values())}

    def try_mutant(self, mutant, rounds):
        """(outcome, judge, detail)."""
        command, unit, objects = self.build.plain_objects(self.component["owner"], mutant.file)
        copy = self.build.sources / mutant.file
        mutated = self.build.objects / "mutant.o"
        original = copy.read_text()
        copy.write_text(mutant.text)
        try:
            if errors := self.build.compile(command, mutant.file, mutated):
                first = next((line for line in errors.splitlines() if "error" in line), errors[:200])
                return "does not compile", "", first[-200:]
        finally:
            copy.write_text(original)
        if self.build.object_bytes(mutated) == self.build.object_bytes(objects[mutant.file]):
            return "same code", "", ""
        linked = [mutated if file == mutant.file else one for file, one in objects.items()]
        failed = self.judge({unit: linked}, mutant.file, rounds)
        if not failed:
            return "survived", "", ""
        if failed[0] == "link":
            return "does not compile", *failed
        # A test that fails by chance, also without the mutant, proves nothing.
        again = self.judge({unit: linked}, mutant.file, name=failed[0])
        return "killed" if again else "by chance", *failed


def commit():
    return subprocess.run(["git", "-C", str(SOURCE), "describe", "--always", "--dirty"], text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.machine()


def table(report):
    """The results as a page of tests/evidence."""
    counts = collections.Counter(one["outcome"] for one in report["mutants"])
    judged = counts["killed"] + counts["by chance"] + counts["survived"]
    lines = [f"## {report['component']}", "", "| | |", "|---|---|", f"| commit | {report['commit']} |",
             f"| begun, ended | {report['begun']}; {report['ended']} |",
             f"| machine | {report['machine']}, {report['cores']} cores, load {report['load']} |",
             f"| mutants | {len(report['mutants'])} of {report['generated']}, seed {report['seed']} |",
             *(f"| {outcome} | {counts[outcome]} |" for outcome in OUTCOMES),
             f"| killed of the others | {100 * counts['killed'] / judged if judged else 0:.1f} % |", ""]
    lines += ["| file | " + " | ".join(OUTCOMES) + " |", "|---" * (1 + len(OUTCOMES)) + "|"]
    for file in sorted({one["file"] for one in report["mutants"]}):
        of_file = collections.Counter(one["outcome"] for one in report["mutants"] if one["file"] == file)
        lines.append(f"| {file} | " + " | ".join(str(of_file[outcome]) for outcome in OUTCOMES) + " |")
    by_judge = collections.Counter(one["judge"] for one in report["mutants"] if one["outcome"] == "killed")
    lines += ["", "| killed by | mutants |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in by_judge.items()]
    code = lambda text: "`" + text.replace("\n", " ⏎ ").replace("|", "\\|").replace("`", "'") + "`"
    listed = [("survivor", [one for one in report["mutants"] if one["outcome"] == "survived"])]
    for name in report["listed"]:
        listed.append((f"killed by {name} only", [one for one in report["mutants"] if one["judge"] == name]))
    for title, found in listed:
        if found:
            lines += ["", f"| {title} | line | mutation |", "|---|---|---|"]
            for one in found:
                lines.append(f"| {one['id']} {one['file']}:{one['line']} | {code(one['old'])} | {code(one['new'])} |")
    return "\n".join(lines) + "\n"


def hand_made(path, run):
    """The mutants of a JSON list of {"file", "old", "new"}; `old` must occur once in the file."""
    for one in json.loads(path.read_text()):
        text = (run.root / one["file"]).read_text()
        if text.count(one["old"]) != 1:
            raise SystemExit(f"{path}: '{one['old']}' occurs {text.count(one['old'])} times in {one['file']}; expected "
                             "once; adapt the entry to the source")
        yield mutants.Mutant(one["file"], text[:text.index(one["old"])].count("\n") + 1, one["old"], one["new"],
                             text.replace(one["old"], one["new"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("component", help="a name in components.json")
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release",
                        help="folder of a finished build")
    parser.add_argument("--mutate", default=os.environ.get("WEIR_MUTATE", "mutate"),
                        help="universalmutator's program; $WEIR_MUTATE, or 'mutate'")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50, help="number of mutants that compile to other code")
    parser.add_argument("--files", default="", help="only files whose path contains this text")
    parser.add_argument("--hand-made", type=pathlib.Path, help="JSON file of mutants, in place of generated ones")
    parser.add_argument("--judge", action="append", help="only this judge; may be repeated")
    parser.add_argument("--retry", type=pathlib.Path, help="only the survivors of an earlier result file")
    parser.add_argument("--rounds", type=int, default=1, help="runs of the tests before a mutant counts as survivor")
    parser.add_argument("--minutes", type=float, default=0, help="begin no mutant after this time; 0: no limit")
    parser.add_argument("--result", type=pathlib.Path, default=pathlib.Path("mutation.json"))
    parser.add_argument("--table", type=pathlib.Path, help="file for the results as a page")
    parser.add_argument("--bar", type=float, default=0, help="fail below this percentage of killed mutants")
    arguments = parser.parse_args()

    tool = shutil.which(arguments.mutate)
    if not tool and not arguments.hand_made:
        print(f"SKIPPED: no mutant was made, since '{arguments.mutate}' is not installed. Install universalmutator "
              "(pip install universalmutator) and name its program in $WEIR_MUTATE or --mutate.")
        return SKIPPED
    # Ends `with` blocks, which remove the scratch folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weir-mutation-") as folder:
        run = Run(arguments, pathlib.Path(folder))
        files = [file for file in run.files() if arguments.files in file]
        if arguments.hand_made:
            generated = chosen = list(hand_made(arguments.hand_made, run))
        else:
            generated = [mutant for file in files for mutant in mutants.generate(tool, file, run.root / file)]
            if arguments.retry:
                earlier = json.loads(arguments.retry.read_text())["mutants"]
                wanted = {one["id"] for one in earlier if one["outcome"] in ("survived", "by chance")}
                chosen = [mutant for mutant in generated if mutant.id in wanted]
            else:
                chosen = mutants.choose(generated, len(generated), arguments.seed)
        if not chosen:
            raise SystemExit(f"no mutants; expected some in the files of {arguments.component} with '{arguments.files}' in "
                             "their path")
        print(f"{len(generated)} mutants; the tests of the unmutated component first", flush=True)
        times = {}
        if failed := run.judge(run.unmutated(chosen[0].file), times=times):
            raise SystemExit(f"the unmutated component fails {failed[0]}: {failed[1]}")
        run.sort_judges(times)
        print(f"passed after {time.monotonic() - begun:.0f} s", flush=True)
        report = {"component": arguments.component, "commit": commit(), "seed": arguments.seed,
                  "generated": len(generated),
                  "begun": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "machine": processor(),
                  "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1),
                  "listed": [one["name"] for one in run.component["judges"] if one.get("listed")], "mutants": []}
        equivalents = known_equivalents()
        judged = 0
        for number, mutant in enumerate(chosen, 1):
            if judged == arguments.count and not (arguments.hand_made or arguments.retry):
                break
            if arguments.minutes and time.monotonic() - begun > 60 * arguments.minutes:
                print(f"out of time after {judged} mutants")
                break
            began = time.monotonic()
            if reason := equivalents.get((f"{run.component['root']}/{mutant.file}", mutant.old, mutant.new)):
                outcome = "equivalent", "", reason
            else:
                outcome = run.try_mutant(mutant, arguments.rounds)
            judged += outcome[0] in ("killed", "by chance", "survived", "equivalent")
            report["mutants"].append({"id": mutant.id, "file": mutant.file, "line": mutant.line, "old": mutant.old,
                                      "new": mutant.new, "outcome": outcome[0], "judge": outcome[1],
                                      "detail": outcome[2], "seconds": round(time.monotonic() - began, 1)})
            report["ended"] = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
            arguments.result.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
            print(f"{number:4} {outcome[0]:16} {mutant.id} {mutant.file}:{mutant.line} {' '.join(outcome[1:])[:120]}",
                  flush=True)
            if outcome[0] in ("survived", "by chance"):
                print(f"       - {mutant.old}\n       + {mutant.new}", flush=True)
    page = table(report)
    if arguments.table:
        arguments.table.write_text(page)
    print(page)
    counts = collections.Counter(one["outcome"] for one in report["mutants"])
    judged = counts["killed"] + counts["by chance"] + counts["survived"]
    return 1 if judged and 100 * counts["killed"] / judged < arguments.bar else 0


if __name__ == "__main__":
    sys.exit(main())
