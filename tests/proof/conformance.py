# SPDX-License-Identifier: Apache-2.0
"""The driver's conformance, checked by weir-conformance."""
from pathlib import Path

from .run import tail

# Of NVIDIA's driver: the proof runs on its GPUs.
EXPECTATIONS = Path(__file__).resolve().parent.parent / "conformance/vulkan/nvidia.expectations.json"


def judge(proof):
    """Must have the GPU to itself. The suite takes all of its memory. Beside another process, NVIDIA's Vulkan driver runs
    no copy while a kernel that waits for one runs (tests/evidence/vulkan.md)."""
    driver, _, index = proof.device.partition(":")
    report = proof.logs / "conformance"
    known = ["--expectations", EXPECTATIONS] if driver == "vulkan" else []
    result = proof.run([proof.program("weir-conformance"), "--driver", driver, "--device", index or "0", "--quiet",
                        "--report", report, *known], 300, "conformance.log")
    proof.add("conformance", f"driver {driver}, all levels", result.status == 0,
              tail(result.text, 5) if not result.timed_out else f"{result.words()}: {tail(result.text)}")
