# SPDX-License-Identifier: Apache-2.0
"""The test programs, on the device."""
import os
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field

from .conformance import judge
from .run import is_vulkan, tail

# Test programs that use no device under test. The bundle leaves them out, and the proof does not run them.
HOST_ONLY = {
    "amdgpu_driver_test": "the AMDGPU driver on the HIP simulator",
    "cache_interruption_tests": "the compile cache",
    "cache_tests": "the compile cache",
    "communicator_conformance_test": "the conformance suite itself",
    "communicator_mpi_test": "the communicator mpi on the CPU",
    "communicator_rccl_test": "the communicator rccl on the HIP simulator",
    "communicator_start_test": "starting ranks as processes",
    "communicator_test": "finding and loading communicators",
    "compilation_agreement_test": "the process that compiles",
    "compilation_ending_test": "the process that compiles",
    "compilation_test": "the process that compiles",
    "codegen_test": "x86-64 code and text of code generation",
    "conformance_suite_test": "the conformance suite itself",
    "cpu_driver_test": "the CPU driver itself",
    "debugger_test": "kernels of the CPU driver in a debugger",
    "cuda_driver_test": "the CUDA driver on a libcuda of the tests' own; cuda_driver_gpu_test has the real one",
    "driver_tests": "finding and loading drivers",
    "files_test": "arrays in files",
    "exact_arithmetic_test": "passes of code generation on the host",
    "fuzz_replay_test": "the reader of kernels",
    "layers_native_test": "the AMDGPU driver on the HIP simulator, under the fault layer",
    "hsaco_test": "code generation for AMD GPUs",
    "hsaco_run_test": "the HIP simulator",
    "hipsim_api_test": "the HIP simulator",
    "hipsim_config_test": "the HIP simulator",
    "hipsim_isa_test": "the HIP simulator",
    "hipsim_kernel_test": "the HIP simulator",
    "hipsim_math_test": "the HIP simulator",
    "hipsim_tool_test": "the HIP simulator",
    "instructions_test": "the HIP simulator",
    "ir_test": "the kernel IR",
    "machine_code_test": "the compile cache, over a driver of the tests' own",
    "math_test": "the CPU's math against MPFR; bits_test compares devices",
    "passes_test": "plans",
    "ptx_test": "text of code generation",
    "random_kernels_test": "random kernels on the CPU; the bundle runs more of them on a GPU",
    "sdk_test": "the SDK's helpers for drivers",
    "test_demo_host": "terrain and maps",
    "security_test": "what elevated processes ignore",
    "layers_test": "the layers, over drivers of the tests' own",
    "layers_open_test": "layers that are asked for in code, over the CPU driver",
    "layers_lost_code_test": "code of a device that a layer loses",
    "layers_lost_test": "a device that a layer loses",
    "layers_annotations_test": "a layer of the tests' own",
    "layers_api_test": "the layers, over the CPU driver",
    "layers_sweep_test": "failing calls, over the CPU driver",
    "tools_tests": "the command line",
    "spirv_modules_test": "code generation for Vulkan",
    "spirv_test": "code generation for Vulkan",
    "vulkan_driver_test": "the Vulkan driver on Mesa's device",
    "weir-dsl-test": "tracing",
}
# Test programs with ready kernels, which exist for the CPU, CUDA and AMD GPUs.
READY_KERNELS = {"graph_test", "reuse_test", "runtime_test"}
VULKAN_ONLY = {"vulkan_faults_test"}  # faults of Vulkan drivers
TEST_NAME = re.compile(r"^test_|[_-]tests?$")
SHARDS = {"algorithms_test": 2, "runtime_test": 3, "graph_test": 3, "language_test": 2, "test_demo_river": 2}
LIMIT = 150  # seconds for one program
LONGER = {"bits_test": 300}


@dataclass
class Outcome:
    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)  # (test, reason)
    ended: list = field(default_factory=list)  # unexpected ends of the program
    seconds: float = 0

    def executed(self):
        return self.passed + len(self.failed)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.ended += other.ended
        self.seconds = max(self.seconds, other.seconds)


def read_results(path, outcome):
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None:
            outcome.failed.append(name)
        elif skip is not None:
            reason = skip.get("message") or skip.text or ""
            outcome.skipped.append((name, re.sub(r"^\S+:\d+\s*", "", reason).strip()))
        elif case.get("status") == "run" and case.get("result", "completed") == "completed":
            outcome.passed += 1


def tests_of(proof, name, filter_words):
    """The names of a program's tests, in its order."""
    listed = proof.run([proof.program(name), "--gtest_list_tests", *filter_words], 60)
    names, suite = [], ""
    for line in listed.text.splitlines():
        word = line.split("#")[0].rstrip()
        if word.endswith(".") and not word.startswith(" "):
            suite = word
        elif word.startswith("  ") and suite:
            names.append(suite + word.strip())
    return names


def run_tests(proof, name, left, environment=None, before=(), limit=LIMIT, label=""):
    """Tests of one GoogleTest program. After a crash or a hang, the remaining tests run in a new process, a limited number of times."""
    outcome = Outcome()
    base = f"{name}{label}"
    for attempt in range(4):
        results = proof.logs / f"{base}.{attempt}.xml"
        command = [*before, proof.program(name), f"--gtest_filter={':'.join(left)}", f"--gtest_output=xml:{results}"]
        result = proof.run(command, limit, f"{base}.log", environment)
        outcome.seconds += result.seconds
        if results.exists() and not result.timed_out and (result.status in (0, 1) or before):
            read_results(results, outcome)
            return outcome, result
        # It ended early; its output lists the tests that ran.
        begun = re.findall(r"^\[ RUN      \] (\S+)", result.text, re.M)
        passed = set(re.findall(r"^\[       OK \] (\S+)", result.text, re.M))
        failed = set(re.findall(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)", result.text, re.M))
        skipped = set(re.findall(r"^\[  SKIPPED \] (\S+)", result.text, re.M))
        broken = [test for test in begun if test not in passed | failed | skipped]
        outcome.passed += len(passed)
        outcome.failed += sorted(failed) + broken
        outcome.skipped += [(test, "see the log") for test in sorted(skipped)]
        outcome.ended.append(f"{result.words()} in {broken[-1] if broken else 'no test: ' + tail(result.text, 1)}")
        left = [test for test in left if test not in begun]
        if not left:
            return outcome, result
        if not broken or proof.left() < 20:
            break
    outcome.ended.append(f"given up: {len(left)} tests did not run")
    return outcome, result


def programs(proof):
    return sorted(path.name for path in proof.program("").iterdir()
                  if path.is_file() and os.access(path, os.X_OK) and TEST_NAME.search(path.name)
                  and path.name not in HOST_ONLY
                  and path.name not in (READY_KERNELS if is_vulkan(proof) else VULKAN_ONLY))


def report_outcome(proof, part, what, outcome):
    counts = f"{outcome.executed()} run, {len(outcome.failed)} failed, {len(outcome.skipped)} skipped"
    details = "; ".join(outcome.failed[:8] + outcome.ended)
    passed = not outcome.failed and not outcome.ended and outcome.executed() > 0
    proof.add(part, what, passed, f"{counts}, {outcome.seconds:.0f} s{': ' + details if details else ''}")
    proof.skipped += [(what, test, reason) for test, reason in outcome.skipped]


def prove(proof):
    judge(proof)
    jobs = []
    for name in sorted(programs(proof), key=lambda name: (name not in LONGER, -SHARDS.get(name, 1))):
        names, shards = tests_of(proof, name, ()), SHARDS.get(name, 1)
        for shard in range(shards if names else 0):
            jobs.append((name, proof.pool.submit(run_tests, proof, name, names[shard::shards],
                                                 limit=LONGER.get(name, LIMIT), label=f".{shard}")))
        if not names:
            proof.add("tests", name, False, "names no tests")
    outcomes = {}
    for name, job in jobs:
        outcomes.setdefault(name, Outcome()).add(job.result()[0])
    for name in sorted(outcomes):
        report_outcome(proof, "tests", name, outcomes[name])
    if not outcomes:
        proof.add("tests", "test programs", False, f"there are none in {proof.program('')}")
    if "bits_test" not in outcomes:
        proof.add("tests", "bits_test", False, "is not in the bundle")


LEFT_OUT = {
    "foreign_task_list": "its compiler makes x86-64 code for the CPU driver, with the C compiler of the build",
    "packed_kernels": "holds the kernels of packed",
}
LEFT_OUT_ON_VULKAN = {"ready_kernel": "its code objects are for the CPU, CUDA and AMD GPUs"}


def prove_examples(proof):
    folder = proof.prefix / "examples" / "bin"
    if not folder.exists():
        folder = proof.prefix / "sdk" / "examples"
    sources = next(path for path in (proof.prefix / "examples", proof.prefix / "../../sdk/examples")
                   if (path / "saxpy.cpp").exists())
    left_out = {**LEFT_OUT, **(LEFT_OUT_ON_VULKAN if is_vulkan(proof) else {})}
    ran = 0
    for name in sorted(path.stem for path in sources.glob("*.cpp")):
        if name in left_out:
            proof.skipped.append(("examples", name, left_out[name]))
            continue
        environment = {}
        if name == "ready_kernel" and proof.device.startswith("cuda"):
            environment["CODE_OBJECT"] = str((sources / "ready_kernel_code.ptx").resolve())
        result = proof.run([folder / name], 60, "examples.log", environment)
        proof.add("examples", name, result.status == 0,
                  tail(result.text, 1) if result.status == 0 else f"{result.words()}: {tail(result.text)}")
        ran += 1
    if not ran:
        proof.add("examples", "examples", False, f"there are none in {folder}")
