# SPDX-License-Identifier: Apache-2.0
"""Random kernels on the device, on the CPU driver and in the interpreter of the IR."""
import os
import re

from .run import tail

ASKED = 50_000  # kernels, if this part is requested
SHARE = 45  # seconds for this part in a run of all parts


def prove(proof):
    program = proof.program("random_kernels")
    asked = "random" in (proof.part or [])
    coverage = proof.logs / "random-kernels.md"
    command = [program, "--device", proof.device, "--kernels", ASKED, "--jobs", os.cpu_count() or 1, "--coverage", coverage]
    if not proof.device.startswith("cpu"):
        command.append("--cpu")
    command += ["--complete", "--seconds", proof.left() - 60] if asked else ["--seconds", SHARE]
    # A driver's cache of compiled code would keep kernels that never occur again.
    result = proof.run(command, proof.left() if asked else SHARE + 60, "random_kernels.log", {"CUDA_CACHE_DISABLE": "1"})
    for line in result.text.splitlines():
        if line.startswith(("seed ", "not met: ")):
            print(line)
    counts = re.search(r"^random kernels: (\d+) ran, (\d+) left out", result.text, re.M)
    tried = sum(map(int, counts.groups())) if counts else 0
    proof.add("random", "kernels against the CPU and the interpreter",
              result.status == 0 and tried >= (ASKED if asked else 1), tail(result.text, 1))
    if asked and coverage.exists():
        proof.sections.append("## Random kernels\n\n" + coverage.read_text())
