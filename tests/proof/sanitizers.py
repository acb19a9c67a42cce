# SPDX-License-Identifier: Apache-2.0
"""Runs the tests under compute-sanitizer: memcheck, initcheck, synccheck, racecheck."""
import re
from dataclasses import dataclass, field

from .run import cuda_tool, tail
from .tests import Outcome, report_outcome, run_tests, tests_of

# Each tool slows kernels down many times over and may run them one after the other. These tests therefore
# cover every kind of generated code and the runtime's paths, with four exceptions: tests in which a kernel
# waits for the host or for another kernel, tests that judge times, tests that start processes, and tests that
# launch from several threads, which racecheck does not support. The differential tests run a few of their
# seeds.


@dataclass
class Job:
    program: str
    only: tuple = ("*",)  # patterns of GoogleTest
    without: tuple = ()
    environment: dict = field(default_factory=dict)
    label: str = ""

    def name(self):
        return f"{self.program} {self.label}".strip()

    def filter(self):
        return f"--gtest_filter={':'.join(self.only)}{'-' + ':'.join(self.without) if self.without else ''}"


LANGUAGE = ("IllegalAddress.*", "*SeveralThreads*")
JOBS = [
    Job("language_test", without=LANGUAGE),
    Job("language_test", without=LANGUAGE, environment={"WEIR_LAUNCH": "graph"}, label="as graphs"),
    # A copy of several returned values also holds the gaps between them, which nothing writes.
    Job("runtime_program_test", without=("*NeedNoHostWait", "*IsUnloadedAfterItsWork", "*ReturnedValues.*/copied")),
    Job("atomics_test"),
    Job("runtime_test",
        only=("Array.*", "Module.*", "Failure.*", "TaskList.*", "CurrentStream.*", "Region.TasksOfOneBlock*", "Region.Mixes*",
              "Region.MoreBlocks*", "Region.TwoLaunches*", "Region.AFailureHalfWayLeaves*", "Region.WithoutAStream*",
              "Stream.AForeignHandle*", "Stream.AFailureOfALeasedStream*", "Stream.CallsTheHost*", "Device.*", "Event.*ArePooled",
              "*/Memory.IsReusedOnOneStream*", "*/Memory.ABlockOfAnIdleStream*"),
        without=("Array.CopiesBetween*", "Module.IsUnloaded*", "CurrentStream.BelongsToOneThread", "Device.SynchronizeDrains*",
                 "Device.UnknownNames*", "Device.PinnedArraysThatAreDestroyed*", "Device.IsTheOneThatTheEnvironment*")),
    Job("graph_test",
        without=("Choosing.Takes*", "Choosing.StaysWith*", "Choosing.AGraphWaitsFor*", "*NeverWaitOnTheHost*", "*DoNotWaitForOneAnother*",
                 "*KeepTheirArgumentsWhenTheNext*", "*OutliveThe*", "*BranchesRunAtTheSameTime*", "*LeaveSubmittedRunsAlone*",
                 "*SubmissionLock*", "*ProfilesSee*", "*AreProfiled*")),
    Job("reuse_test", only=("AnyArray.*", "Reuse.ANewStream*", "Reuse.TrimWithoutAnEvent*", "PeerCopy.OfAnArray*", "PeerCopy.ItsMemory*")),
    Job("cuda_driver_gpu_test",
        without=("*IllegalAddress*", "*Cost*", "*Speed*", "*EventsOrder*", "*WorkInFlight*", "*DoNotWait*", "*WhileItRuns*",
                 "*RefusesCode*")),
    Job("test_profile",
        without=("*NothingWaits*", "*OnlyWorkOfItsThread*", "*SideBySide*", "*TimesAreThoseOf*")),
    Job("launch_assumptions_test", without=("*MoreScalarsThanAnI32*",)),
    Job("differential_test"),
]
# compute-sanitizer ends child processes, such as the trial of a driver and the process that compiles.
ENVIRONMENT = {"WEIR_DIFFERENTIAL_SEEDS": "0:20", "WEIR_CHAINS": "0:10", "WEIR_PROBE": "off", "WEIR_CODEGEN": "in-process"}
TOOLS = {
    "memcheck": ["--padding", "32", "--report-api-errors", "no"],
    "initcheck": [],
    "synccheck": [],
    "racecheck": ["--racecheck-report", "all"],
}
# Two concurrent kernels that write adjacent memory can clear each other's initcheck marks. This was observed
# with hand-written launches ordered by events, where processes shared the GPU, and never with one hardware
# queue.
QUEUES = {"initcheck": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}
ERROR = 86
LIMIT = 180


def run_demo(proof, before, tool):
    """Runs a few steps of the demo, reported as one test."""
    result = proof.run([*before, proof.program("weir"), "demo", "river", "--device", proof.device, "--steps", 6, "--out",
                        proof.logs / f"river-{tool}"], LIMIT, f"demo.{tool}.log", {**ENVIRONMENT, **QUEUES.get(tool, {})})
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
    # Tests also check errors of the driver's API. The tests judge those errors; the tool judges errors in
    # kernels.
    before = {tool: [sanitizer, "--tool", tool, *options, "--error-exitcode", ERROR, "--print-limit", "20"]
              for tool, options in TOOLS.items()}
    jobs = []
    for job in JOBS:
        names = tests_of(proof, job.program, [job.filter()]) if proof.program(job.program).exists() else []
        if not names:
            proof.add("sanitizers", job.name(), False, "is not in the bundle, or has none of these tests")
            continue
        for tool in TOOLS:
            label = f".{tool}{job.label and '.' + job.label.replace(' ', '_')}"
            jobs.append((tool, job.name(), proof.pool.submit(run_tests, proof, job.program, names,
                                                             {**ENVIRONMENT, **QUEUES.get(tool, {}), **job.environment},
                                                             before[tool], LIMIT, label)))
    for tool in TOOLS:
        jobs.append((tool, "demo", proof.pool.submit(run_demo, proof, before[tool], tool)))
    for tool, name, job in jobs:
        outcome, result = job.result()
        summary = re.findall(r"=+ (ERROR SUMMARY: .*|RACECHECK SUMMARY: .*)", result.text)
        if not summary:
            outcome.ended.append(f"no summary of {tool}: {tail(result.text)}")
        elif result.status == ERROR or not re.search(r"SUMMARY: 0 (errors|hazards)", summary[-1]):
            outcome.ended.append(summary[-1])
        report_outcome(proof, "sanitizers", f"{tool} {name}", outcome)
