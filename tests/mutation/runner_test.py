# SPDX-License-Identifier: Apache-2.0
"""Tests of the runner that need neither universalmutator nor a build."""
import json
import pathlib
import sys
import tempfile
import unittest

import judge
import mutants
import run

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


class Equivalents(unittest.TestCase):
    def test_each_quotes_a_line_of_its_file(self):
        """An entry for code that has changed since hides a mutant that nobody has looked at."""
        for one in json.loads((run.HERE / "equivalent.json").read_text()):
            with self.subTest(one["line"]):
                lines = [line.strip() for line in (SOURCE / one["file"]).read_text().splitlines()]
                wanted = one["line"].split("\n")
                self.assertTrue(any(lines[i:i + len(wanted)] == wanted for i in range(len(lines))),
                                f"'{one['line']}' is no line of {one['file']}; look at the mutant again")
                self.assertGreater(len(one["reason"]), 20, "the reason says why no test can notice the mutation")


class HandMade(unittest.TestCase):
    def test_each_changes_the_present_source(self):
        components = json.loads((run.HERE / "components.json").read_text())
        for path in sorted((run.HERE / "hand_made").glob("*.json")):
            root = SOURCE / components[path.stem.split("_")[0]]["root"]
            for one in json.loads(path.read_text()):
                with self.subTest(one["old"]):
                    self.assertEqual(1, (root / one["file"]).read_text().count(one["old"]))


class Changes(unittest.TestCase):
    def test_a_changed_line(self):
        self.assertEqual((2, "b = 1;", "b = 0;"), mutants.changed_lines("a;\n  b = 1;\nc;\n", "a;\n  b = 0;\nc;\n"))

    def test_an_added_line_belongs_to_the_line_before(self):
        self.assertEqual((1, "a;", "a;\nbreak;"), mutants.changed_lines("a;\nb;\n", "a;\nbreak;\nb;\n"))

    def test_comments_and_texts_are_no_code(self):
        self.assertEqual(mutants.normalized("a = 1;  // one"), mutants.normalized("a  = 1; /* 1 */"))
        self.assertEqual(mutants.normalized('fail("size is \\"%u\\"", 1);'), mutants.normalized('fail("", 1);'))
        self.assertNotEqual(mutants.normalized("a = 1;"), mutants.normalized("/*a = 1;*/"))


class Choice(unittest.TestCase):
    def setUp(self):
        self.all = [mutants.Mutant("f", line, f"{line}", f"{line} {n}", "")
                    for line in range(10) for n in range(line + 1)]

    def test_takes_each_line_before_one_twice(self):
        self.assertEqual(set(range(10)), {one.line for one in mutants.choose(self.all, 10, 3)})

    def test_depends_on_the_seed_alone(self):
        self.assertEqual(mutants.choose(self.all, 20, 1), mutants.choose(self.all, 20, 1))
        self.assertNotEqual(mutants.choose(self.all, 20, 1), mutants.choose(self.all, 20, 2))

    def test_a_larger_choice_begins_with_the_smaller_one(self):
        self.assertEqual(mutants.choose(self.all, 15, 1), mutants.choose(self.all, 40, 1)[:15])


class Judge(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
