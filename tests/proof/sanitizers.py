# SPDX-License-Identifier: Apache-2.0
"""compute-sanitizer over the tests: memcheck, initcheck, synccheck, racecheck."""
import re

from .run import cuda_tool, tail
from .tests import Outcome, run_tests, tell, tests_of

# Each tool slows kernels down many times over and may run them one after the other, so these are the tests that reach
# every kind of generated code and the runtime's paths, without those in which a kernel waits for the host or for another
# kernel. The differential tests run a few of their seeds.
PROGRAMS = {
    "language_test": [],
    "runtime_program_test": ["--gtest_filter=-*NeedNoHostWait:*IsUnloadedBehindItsWork"],
    "runtime_test": ["--gtest_filter=Array.*:Module.*:Region.TasksOfOneBlock*:Region.Mixes*:Region.MoreBlocks*:Failure.*-"
                     "Array.CopiesBetween*:Module.IsUnloaded*"],
    "differential_test": [],
}
# compute-sanitizer ends the processes that a program starts, such as the one that tries a driver.
ENVIRONMENT = {"WEIR_DIFFERENTIAL_SEEDS": "0:20", "WEIR_PROBE": "off"}
TOOLS = {
    "memcheck": ["--padding", "32", "--report-api-errors", "no"],
    "initcheck": [],
    "synccheck": [],
    "racecheck": ["--racecheck-report", "all"],
}
ERROR = 86
LIMIT = 130


def run_demo(proof, before, tool):
    """A few steps of the demo; as an outcome of one test."""
    result = proof.run([*before, proof.program("weir"), "demo", "river", "--device", proof.device, "--steps", 6, "--out",
                        proof.logs / f"river-{tool}"], LIMIT, f"demo.{tool}.log", ENVIRONMENT)
    outcome = Outcome(seconds=result.seconds)
    if result.status == 0:
        outcome.passed = 1
    else:
        outcome.ended.append(result.words())
    return outcome, result


def prove(proof):
    sanitizer = cuda_tool("compute-sanitizer")
    if not sanitizer:
        proof.add("sanitizers", "compute-sanitizer", False, "is not on this machine")
        return
    jobs = []
    tests = {name: tests_of(proof, name, words) for name, words in PROGRAMS.items() if proof.program(name).exists()}
    for tool, options in TOOLS.items():
        # Tests check refusals of the driver's API as well; its errors are theirs to judge, the kernels' are the tool's.
        before = [sanitizer, "--tool", tool, *options, "--error-exitcode", ERROR, "--print-limit", "20"]
        for name in PROGRAMS:
            if tests.get(name):
                jobs.append((tool, name, proof.pool.submit(run_tests, proof, name, tests[name], ENVIRONMENT, before, LIMIT,
                                                           f".{tool}")))
            else:
                proof.add("sanitizers", f"{tool} {name}", False, "is not in the bundle, or has none of these tests")
        jobs.append((tool, "demo", proof.pool.submit(run_demo, proof, before, tool)))
    for tool, name, job in jobs:
        outcome, result = job.result()
        summary = re.findall(r"=+ (ERROR SUMMARY: .*|RACECHECK SUMMARY: .*)", result.text)
        if not summary:
            outcome.ended.append(f"no summary of {tool}: {tail(result.text)}")
        elif result.status == ERROR or not re.search(r"SUMMARY: 0 (errors|hazards)", summary[-1]):
            outcome.ended.append(summary[-1])
        tell(proof, "sanitizers", f"{tool} {name}", outcome)
