# SPDX-License-Identifier: Apache-2.0
"""Tests of the runner. Those of the compiler's plugin need clang++-22 and the built plugin, whose path is the argument."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import build
import judge
import mutants
import run

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PLUGIN = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else None


def mutant(line, kind="constant", change="0 is 1", column=1):
    return {"file": "f", "line": line, "kind": kind, "change": change, "column": column, "text": f"line {line}", "marks": [line],
            "id": line}


class EquivalentMutants(unittest.TestCase):
    def test_each_quotes_a_line_of_its_file(self):
        """An entry for code that has changed since hides a mutant that nobody has looked at."""
        for one in json.loads((run.HERE / "equivalent.json").read_text()):
            with self.subTest(one["line"]):
                lines = [line.strip() for line in (SOURCE / one["file"]).read_text().splitlines()]
                self.assertIn(one["line"], lines, f"this is no line of {one['file']}; look at the mutant again")
                self.assertGreater(len(one["reason"]), 20, "the reason says why no test can notice the mutation")

    def test_an_entry_holds_for_what_it_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "equivalent.json"
            path.write_text(json.dumps([{"file": "f", "line": "line 1", "kind": "constant", "nth": 2, "reason": "a"},
                                        {"file": "f", "line": "line 2", "reason": "b"},
                                        {"file": "f", "line": "line 3", "nth": [1, 3], "reason": "c"}]))
            known = mutants.Equivalents(path)
            two = [mutant(1, column=9), mutant(1, column=5)]
            mutants.add_ordinals(two)
            self.assertEqual(["a", None], [known.reason_for(one) for one in two])
            self.assertEqual("b", known.reason_for(dict(mutant(2, "call"), nth=1)))
            self.assertEqual(["c", None, "c"], [known.reason_for(dict(mutant(3), nth=nth)) for nth in (1, 2, 3)])
            self.assertIsNone(known.reason_for(dict(mutant(4), nth=1)))


class Choice(unittest.TestCase):
    def setUp(self):
        self.all = [mutant(line, change=f"{n}") for line in range(10) for n in range(line + 1)]

    def test_takes_each_line_before_one_twice(self):
        self.assertEqual(set(range(10)), {one["line"] for one in mutants.choose(self.all, 10, 3)})

    def test_depends_on_the_seed_alone(self):
        self.assertEqual(mutants.choose(self.all, 20, 1), mutants.choose(self.all, 20, 1))
        self.assertNotEqual(mutants.choose(self.all, 20, 1), mutants.choose(self.all, 20, 2))

    def test_a_larger_choice_begins_with_the_smaller_one(self):
        self.assertEqual(mutants.choose(self.all, 15, 1), mutants.choose(self.all, 40, 1)[:15])


class Output(unittest.TestCase):
    def run_program(self, text, limit=20):
        with tempfile.TemporaryDirectory() as folder:
            return judge.run([sys.executable, "-uc", text], {}, limit, folder)

    def test_names_the_first_failure_and_stops_there(self):
        program = "import time; print('[ RUN      ] A.B'); print('[  FAILED  ] A.B (1 ms)'); time.sleep(60)"
        self.assertEqual("A.B", self.run_program(program))
        self.assertEqual("C1.02 Name", self.run_program("print('failed              C1.02 Name (1.0 ms)')"))

    def test_passes(self):
        self.assertIsNone(self.run_program("print('[  PASSED  ] 3 tests.')"))

    def test_names_the_test_of_a_crash_and_of_a_hang(self):
        begun = "import os, time; print('[ RUN      ] A.B'); "
        self.assertEqual("exit code -6 after A.B", self.run_program(begun + "os.abort()"))
        self.assertEqual("hang after A.B", self.run_program(begun + "time.sleep(60)", limit=1))

    def test_lists_tests(self):
        self.assertEqual(["A.x", "B/0.y/1"], judge.names_in("A.\n  x\n  DISABLED_z\nB/0.  # TypeParam = int\n  y/1  # GetParam() = 3\n",
                                                            False))
        self.assertEqual(["C0.01"], judge.names_in("C0.01 ExportsTheEntryPoint\n      It is C0.02 that\n", True))


class FakeTests(run.Tests):
    """Programs of tests that fail as a table says: (test, mutant) -> number of runs that fail."""

    def __init__(self, seconds, failures):
        self.seconds = {("p", name): value for name, value in seconds.items()}
        self.marks = {("p", name): {1} for name in seconds}
        self.killed = run.collections.Counter()
        self.runs, self.only, self.about = [], [], {}
        self.programs = {"p": self}
        self.failures = failures

    def run(self, names, *_, **__):
        self.runs.append(names)
        for name in names:
            if self.failures.get(name, 0) > 0:
                self.failures[name] -= 1
                return name
        return None


class Judgement(unittest.TestCase):
    def judge(self, tests, **options):
        return tests.judge(mutant(1), None, None, **options)[0]

    def test_without_a_test_that_reaches_it(self):
        tests = FakeTests({"a": 1}, {})
        self.assertEqual("not reached", tests.judge(mutant(2), None, None)[0])
        self.assertEqual([], tests.runs)

    def test_fast_tests_run_first_and_a_failure_ends_it(self):
        tests = FakeTests({"slow": 10, "fast": 0.1, "half": 0.7}, {"half": 9})
        self.assertEqual("killed", self.judge(tests))
        self.assertEqual([["fast", "half"], ["half"]], tests.runs)

    def test_a_test_that_killed_another_of_the_file_runs_earlier(self):
        tests = FakeTests({"slow": 2, "fast": 1.9}, {"slow": 2})
        self.judge(tests)
        tests.runs.clear()
        self.judge(tests)
        self.assertEqual(["slow"], tests.runs[0])

    def test_a_test_about_the_file_runs_earlier(self):
        tests = FakeTests({"slow": 2, "fast": 1}, {})
        tests.marks["p", "slow"] = {1, 2}
        tests.learn([mutant(1), mutant(2)])
        self.judge(tests)
        self.assertEqual(["slow"], tests.runs[0])

    def test_a_program_may_judge_some_files_only(self):
        tests = FakeTests({"a": 1}, {"a": 9})
        tests.only = ["code/"]
        self.assertEqual("not reached", self.judge(tests))
        tests.only = ["f"]
        self.assertEqual("killed", self.judge(tests))

    def test_a_failure_that_does_not_recur_is_chance(self):
        self.assertEqual("by chance", self.judge(FakeTests({"a": 1}, {"a": 1})))

    def test_survives_the_tests_of_its_budget(self):
        tests = FakeTests({"a": 1, "b": 5}, {"b": 9})
        self.assertEqual("survived", self.judge(tests, budget=2))
        self.assertEqual([["a"]], tests.runs)
        self.assertEqual("killed", self.judge(tests))


SAMPLE = """
#include <cstdio>
#include <vector>
static int calls;
void note() { ++calls; }
int larger(int a, int b) { return a < b ? b : a; }
int never(int a) { return a * 3; }
int main(int argc, char**) {
  note();
  std::vector<int> all;
  all.push_back(larger(argc, 4));
  int total = 10 - argc;
  if (argc > 5) total = never(argc);
  std::printf("%d %d %d\\n", calls, all.empty() ? 0 : all[0], total);
}
"""


@unittest.skipUnless(PLUGIN and PLUGIN.exists() and shutil.which(build.CLANG), "needs clang++-22 and the built plugin")
class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        source = cls.folder / "sample.cpp"
        source.write_text(SAMPLE)
        (cls.folder / "files").write_text(f"{source}\n")
        environment = dict(os.environ, WEIR_MUTATION_FILES=str(cls.folder / "files"), WEIR_MUTATION_LIST=str(cls.folder / "list"))
        build.run([build.CLANG, "-std=c++20", *build.COMPILE_OPTIONS, f"-fpass-plugin={PLUGIN}", "-c", str(source), "-o",
                   str(cls.folder / "sample.o")], env=environment)
        build.run([build.CLANG, "-std=c++20", str(cls.folder / "sample.o"), str(run.HERE / "pass/selector.cpp"), "-o",
                   str(cls.folder / "sample")])
        cls.mutants = json.loads((cls.folder / "list").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def output(self, **environment):
        return subprocess.run([str(self.folder / "sample")], env=dict(os.environ, **environment), stdout=subprocess.PIPE,
                              text=True, timeout=20).stdout.strip()

    def of(self, change):
        found = [one for one in self.mutants if one["change"] == change]
        self.assertTrue(found, f"no mutant '{change}' among {[one['change'] for one in self.mutants]}")
        return found[0]

    def test_without_a_number_the_program_is_the_source(self):
        self.assertEqual("1 4 9", self.output())

    def test_a_number_selects_one_change(self):
        for change, output in [("no call of note", "0 4 9"), ("< is >=", "1 1 9"), ("sub is add", "1 4 11"), ("4 is 5", "1 5 9"),
                               ("no call of push_back", "1 0 9"), ("larger() is 0", "1 0 9"), ("empty() is true", "1 0 9")]:
            with self.subTest(change):
                self.assertEqual(output, self.output(WEIR_MUTANT=str(self.of(change)["id"])))

    def test_numbers_are_those_of_one_change_each(self):
        self.assertEqual(len(self.mutants), len({one["id"] for one in self.mutants}))

    def test_places_that_run_are_marked(self):
        marks = self.folder / "marks"
        marks.write_bytes(bytes(run.MARKS))
        self.output(WEIR_MUTATION_MARKS=str(marks))
        data = marks.read_bytes()
        self.assertEqual((1, 0), (data[self.of("no call of note")["mark"]], data[self.of("mul is add")["mark"]]))

    def test_only_the_named_files_have_mutants(self):
        self.assertEqual({str(self.folder / "sample.cpp")}, {one["file"] for one in self.mutants})


if __name__ == "__main__":
    unittest.main()
