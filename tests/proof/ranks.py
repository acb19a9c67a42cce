# SPDX-License-Identifier: Apache-2.0
"""weir-bench-ranks on two or more GPUs, each case as a process of its own. Only on request."""
import re

from .run import cuda_tool, tail

TWIN = "libweir-bench-twin-ranks.so"
LIMIT = 240  # seconds for a case


def compile_twin(proof):
    """The path of the library with the peers written by hand, or None."""
    source = next((path for path in (proof.prefix / "tests/bench/ranks/twin_ranks.cu",
                                     proof.prefix / "../../tests/bench/ranks/twin_ranks.cu") if path.exists()), None)
    nvcc = cuda_tool("nvcc")
    if not source or not nvcc:
        proof.add("ranks", "nvcc twin", False, f"nvcc: {nvcc}, source: {source}")
        return None
    result = proof.run([nvcc, "-O3", "-std=c++20", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o",
                        proof.logs / TWIN, source, "-lnccl"], 180, "twin-ranks.log")
    if result.status:
        proof.add("ranks", "nvcc twin", False, f"{result.words()}: {tail(result.text)}")
        return None
    return proof.logs / TWIN


def prove(proof):
    program = proof.program("weir-bench-ranks")
    twin = compile_twin(proof)
    common = [program, "--driver", proof.device] + (["--twin", twin] if twin else [])
    cpu = [program, "--driver", "cpu", "--cells", "1000", "--steps", "100"]
    listed = proof.run([*common, "--list"], 30, "ranks.log").text.split()
    lines, met, judged = [], 0, 0
    for case, command in [(case, common) for case in listed] + [("river_cpu", cpu)]:
        result = proof.run([*command, case], LIMIT, "ranks.log")
        rows = [line for line in result.text.splitlines()
                if re.match(rf"{re.escape(case)}\S* +-?[\d.]+ +-?[\d.]+ ", line)]
        lines += rows
        judged += sum(" met " in line or " MISSED " in line for line in rows)
        met += sum(" met " in line for line in rows)
        if result.status or not rows:
            lines.append(f"{case}: {result.words()}: {tail(result.text)}")
            proof.add("ranks", case, False, f"{result.words()}: {tail(result.text)}")
    proof.sections.append("## Speed of ranks\n\nThe columns are those of `weir-bench-ranks`: times or rates of Weir and of "
                          "what it is compared with, the figure, its bar.\n\n```\n" + "\n".join(lines) + "\n```\n")
    proof.add("ranks", "weir-bench-ranks", judged > 0, f"{met} of {judged} bars met")
