#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation of one component's sources: which changes do its tests notice? See README.md."""
import argparse
import collections
import concurrent.futures
import datetime
import json
import mmap
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import build
import judge
import mutants
import results

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
MARKS = 1 << 20  # bytes, as in pass/selector.cpp
CORES_PER_JOB = 2  # tests of concurrency need two
PRINTED = ["file", "line", "column", "kind", "ordinal", "change", "nth", "text"]
BATCH_SECONDS = 0.5  # of the first batch of a mutant's tests; each later one takes twice as long


def limit(seconds):
    """For tests that take `seconds` without a mutant."""
    return 5 * seconds + 5


class Jobs:
    """Runs functions of (item, cores, folder) on several cores at once; each job has its own cores and folder."""

    def __init__(self, count, scratch):
        self.count, self.places = count, queue.Queue()
        cores = sorted(os.sched_getaffinity(0))
        for number in range(count):
            first = number * CORES_PER_JOB
            folder = scratch / f"job{number}"
            folder.mkdir()
            self.places.put(({cores[(first + i) % len(cores)] for i in range(CORES_PER_JOB)}, folder))

    def run(self, function, items):
        """The results in the order in which they come."""
        def with_place(item):
            place = self.places.get()
            try:
                return function(item, *place)
            finally:
                self.places.put(place)
        with concurrent.futures.ThreadPoolExecutor(self.count) as pool:
            waiting = [pool.submit(with_place, item) for item in items]
            try:
                for one in concurrent.futures.as_completed(waiting):
                    yield one.result()
            finally:
                for one in waiting:
                    one.cancel()


class Tests:
    """The tests of the unmutated component: how long each takes, and which places it reaches."""

    def __init__(self, component, folder, jobs):
        self.programs = {one["name"]: judge.Program(one, component["environment"], folder / "place")
                         for one in component["programs"]}
        self.seconds, self.marks, self.left_out = {}, {}, []
        self.killed = collections.Counter()  # mutants of (file, test)
        measured = folder / "measured.json"
        if measured.exists():
            known = json.loads(measured.read_text())
            self.left_out = known["left out"]
            for program, name, seconds, marks in known["tests"]:
                self.seconds[program, name], self.marks[program, name] = seconds, set(marks)
            return
        names = [(program.name, name) for program in self.programs.values() for name in program.tests()]
        for test, seconds, marks, failed in jobs.run(self.measure, names):
            if failed:
                self.left_out.append(f"{test[0]} {failed}")
            else:
                self.seconds[test], self.marks[test] = seconds, marks
        measured.write_text(json.dumps({"left out": self.left_out, "tests": [
            [*test, round(seconds, 3), sorted(self.marks[test])] for test, seconds in self.seconds.items()]}))

    def measure(self, test, cores, folder):
        path = folder / "marks"
        for _ in range(2):
            with open(path, "wb") as file:
                file.truncate(MARKS)
            began = time.monotonic()
            failed = self.programs[test[0]].run([test[1]], 300, None, folder, cores, WEIR_MUTATION_MARKS=str(path))
            seconds = time.monotonic() - began
            if not failed:
                break
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            marks = {found.start() for found in re.finditer(rb"[^\0]", data)}
        return test, seconds, marks, failed

    def learn(self, generated):
        """Which tests are about which file: they reach places of it that few others reach."""
        reached_by = collections.Counter(mark for marks in self.marks.values() for mark in marks)
        of_file = collections.defaultdict(set)
        for mutant in generated:
            of_file[mutant["file"]].update(mutant["marks"])
        self.about = {(file, test): sum(1 / reached_by[mark] for mark in marks & reached)
                      for file, marks in of_file.items() for test, reached in self.marks.items()}

    def of(self, mutant):
        """The tests that reach the mutant. Fast ones come first, those about its file, and those that killed others of it."""
        wanted, file = set(mutant["marks"]), mutant["file"]
        found = []
        for test, marks in self.marks.items():
            only = self.programs[test[0]].only
            if wanted.isdisjoint(marks) or not (not only or any(text in file for text in only)):
                continue
            worth = (1 + 4 * self.killed[file, test]) * (0.1 + self.about.get((file, test), 0)) * (100 if only else 1)
            found.append((self.seconds[test] / worth, test))
        return [test for _, test in sorted(found)]

    def batches(self, tests):
        """(program, names): parts of `tests` that one process runs."""
        total, part, batch = 0, BATCH_SECONDS, {}
        for program, name in tests:
            if batch and total > part:
                yield from batch.items()
                batch, part = {}, 2 * part
            batch.setdefault(program, []).append(name)
            total += self.seconds[program, name]
        yield from batch.items()

    def run_batch(self, program, names, mutant, cores, folder):
        seconds = [self.seconds[program, name] for name in names]
        return self.programs[program].run(names, limit(sum(seconds)), limit(max(seconds)), folder, cores, WEIR_MUTANT=str(mutant["id"]))

    def judge(self, mutant, cores, folder, rounds=1, budget=0):
        """(outcome, program, detail)."""
        tests = self.of(mutant)
        if not tests:
            return "not reached", "", ""
        chance = None
        spent = 0
        for program, names in [one for _ in range(rounds) for one in self.batches(tests)]:
            seconds = sum(self.seconds[program, name] for name in names)
            if budget and spent + seconds > budget and spent:
                return "survived", "", f"the tests of {spent:.0f} s; later ones were not run"
            spent += seconds
            if not (failed := self.run_batch(program, names, mutant, cores, folder)):
                continue
            # A test that fails by chance, also without the mutant, proves nothing.
            test = judge.test_of(failed, names)
            if ("exit code -" in failed or (test and self.run_batch(program, [test], mutant, cores, folder)) or
                    self.run_batch(program, names, mutant, cores, folder)):
                self.killed[mutant["file"], (program, test)] += 1
                return "killed", program, failed
            chance = program, failed
        return ("by chance", *chance) if chance else ("survived", "", "")


def commit(source):
    return subprocess.run(["git", "-C", str(source), "describe", "--always", "--dirty"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()


def now():
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def prepare(arguments, folder):
    """Compiles the component with its mutants into `folder`."""
    source = HERE.parent.parent
    component = json.loads((HERE / "components.json").read_text())[arguments.component]
    made = build.Build(component, source, arguments.build, folder, arguments.jobs)
    made.make()
    began = time.monotonic()
    found = made.prepare()
    (folder / "prepared.json").write_text(json.dumps(
        {"name": arguments.component, "component": component, "commit": commit(source), "mutants": found}))
    print(f"{len(found)} mutants compiled in {time.monotonic() - began:.0f} s", flush=True)


def chosen(arguments, generated):
    if arguments.retry:
        earlier = json.loads(arguments.retry.read_text())["mutants"]
        wanted = {mutants.name_of(one) for one in earlier if one["outcome"] in ("survived", "by chance", "not reached")}
        return [one for one in generated if mutants.name_of(one) in wanted]
    return mutants.choose(generated, arguments.count or len(generated), arguments.seed)


def judge_all(arguments, folder, scratch):
    prepared = json.loads((folder / "prepared.json").read_text())
    generated = [one for one in prepared["mutants"] if arguments.files in one["file"]]
    selected = chosen(arguments, generated)
    if not selected:
        raise SystemExit(f"no mutants; expected some in the files of {prepared['name']} with '{arguments.files}' in their path")
    jobs = Jobs(arguments.jobs, scratch)
    began = time.monotonic()
    tests = Tests(prepared["component"], folder, jobs)
    print(f"{len(tests.seconds)} tests measured after {time.monotonic() - began:.0f} s", flush=True)
    tests.learn(prepared["mutants"])
    for one in tests.left_out:
        print(f"LEFT OUT, since it fails without a mutant: {one}")
    report = {"component": prepared["name"], "commit": prepared["commit"], "seed": arguments.seed,
              "generated": len(generated), "begun": now(), "machine": results.machine(), "jobs": arguments.jobs,
              "load": round(os.getloadavg()[0], 1), "tests": len(tests.seconds),
              "programs": ", ".join(tests.programs), "left out": tests.left_out, "mutants": []}
    known = mutants.Equivalents()
    if arguments.resume and arguments.result.exists():
        report["mutants"] = json.loads(arguments.result.read_text())["mutants"]
        done = {mutants.name_of(one) for one in report["mutants"]}
        selected = [one for one in selected if mutants.name_of(one) not in done]

    def judged(mutant, cores, cwd):
        if arguments.minutes and time.monotonic() - began > 60 * arguments.minutes:
            return mutant, None, 0
        start = time.monotonic()
        if reason := known.reason_for(mutant):
            outcome = "equivalent", "", reason
        else:
            outcome = tests.judge(mutant, cores, cwd, arguments.rounds, arguments.budget)
        return mutant, outcome, time.monotonic() - start

    for mutant, outcome, seconds in jobs.run(judged, selected):
        if not outcome:
            continue  # out of time
        report["mutants"].append(dict({name: mutant[name] for name in PRINTED},
                                      outcome=outcome[0], program=outcome[1], detail=outcome[2], seconds=round(seconds, 1)))
        number = len(report["mutants"])
        if outcome[0] in ("survived", "by chance") or number % 100 == 0:
            print(f"{number:5} {outcome[0]:11} {mutants.name_of(mutant)} {mutant['change']} | {mutant['text'][:90]} "
                  f"{' '.join(outcome[1:])[:120]}", flush=True)
        if number % 20 == 0:
            write(arguments, report)
    judged_names = {mutants.name_of(one) for one in report["mutants"]}
    if missing := sum(mutants.name_of(one) not in judged_names for one in selected):
        print(f"out of time: {missing} mutants were not judged; --resume continues with them")
    write(arguments, report)
    return report


def write(arguments, report):
    report["ended"] = now()
    report["mutants"].sort(key=lambda one: (one["file"], one["line"], one["column"], one["kind"], one["ordinal"]))
    arguments.result.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("component", nargs="?", help="a name in components.json; not with --prepared")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build/release", help="folder of a build")
    parser.add_argument("--prepare", type=pathlib.Path,
                        help="only compile, into this new folder, which can be copied to another machine")
    parser.add_argument("--prepared", type=pathlib.Path, help="judge the mutants of such a folder")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // CORES_PER_JOB),
                        help="mutants that are judged at a time; by default one for every two cores")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=0, help="number of mutants; 0: all")
    parser.add_argument("--files", default="", help="only files whose path contains this text")
    parser.add_argument("--retry", type=pathlib.Path, help="only those that an earlier result file lists as not killed")
    parser.add_argument("--rounds", type=int, default=1, help="runs of the tests before a mutant counts as survivor")
    parser.add_argument("--budget", type=float, default=0,
                        help="seconds of tests for one mutant, the fastest tests first; 0: all tests that reach it")
    parser.add_argument("--minutes", type=float, default=0, help="begin no mutant after this time; 0: no limit")
    parser.add_argument("--resume", action="store_true", help="keep the mutants that the result file has already")
    parser.add_argument("--result", type=pathlib.Path, default=pathlib.Path("mutation.json"))
    parser.add_argument("--table", type=pathlib.Path, help="file for the results as a page")
    parser.add_argument("--bar", type=float, default=0, help="fail below this percentage of killed mutants")
    arguments = parser.parse_args()
    # Ends `with` blocks, which remove the scratch folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    if bool(arguments.component) == bool(arguments.prepared):
        parser.error("expected either a component or --prepared FOLDER")
    if arguments.component and not shutil.which(build.CLANG):
        print(f"SKIPPED: no mutant was made, since {build.CLANG} is not installed. Install clang-22 and llvm-22-dev.")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="weir-mutation-") as temporary:
        scratch = pathlib.Path(temporary)
        folder = (arguments.prepared or arguments.prepare or scratch / "prepared").resolve()
        if arguments.component:
            folder.mkdir(parents=True)
            try:
                prepare(arguments, folder)
            except build.NoPlugin as failure:
                print(f"SKIPPED: no mutant was made, since the compiler's plugin cannot be built: {failure}")
                return SKIPPED
            except build.Failed as failure:
                raise SystemExit(str(failure))
        if arguments.prepare:
            build.make_portable(folder)
            print(f"{folder} is complete; run run.py --prepared . in a copy of it")
            return 0
        report = judge_all(arguments, folder, scratch)
    page = results.table(report)
    if arguments.table:
        arguments.table.write_text(page)
    counts = collections.Counter(one["outcome"] for one in report["mutants"])
    print(", ".join(f"{counts[one]} {one}" for one in results.OUTCOMES) + f"; {results.share(report):.1f} % killed")
    return 1 if results.share(report) < arguments.bar else 0


if __name__ == "__main__":
    sys.exit(main())
