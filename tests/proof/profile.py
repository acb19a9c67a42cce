# SPDX-License-Identifier: Apache-2.0
"""Nsight Compute over kernels of weir-bench and over their twins: where the time of a case goes. Only on request."""
import csv
import statistics

from .run import cuda_tool, tail
from .speed import TWIN

CASES = ["stencil_5_point_16384x16384", "dot_3_GiB", "sum_1_GiB", "histogram_256_bins"]
# Weir's kernels have plain names, those of nvcc mangled ones.
KERNELS = "regex:^(stencil|dot|sum|histogram)|_Z.*(stencil_|sum_kernel|histogram_)"
LAUNCHES = 330  # the trials of all shapes of a twin come first, and then both sides in turn
METRICS = {
    "gpu__time_duration.sum": "time, us",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory, % of peak",
    "lts__t_sector_hit_rate.pct": "hits in L2, %",
    "sm__inst_executed.avg.per_cycle_elapsed": "instructions per cycle",
    "smsp__inst_executed.sum": "instructions, million",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy, %",
    "launch__registers_per_thread": "registers",
}
SCALES = {"gpu__time_duration.sum": 1e-3, "smsp__inst_executed.sum": 1e-6}  # of nanoseconds, of one


def runs_of(text):
    """What Nsight Compute measured: for each kernel, grid and block, a list of runs."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    kernels = {}
    for row in csv.DictReader(lines):
        if not row.get("Kernel Name"):
            continue  # the row of units
        key = (row["Kernel Name"], row["Grid Size"], row["Block Size"])
        kernels.setdefault(key, []).append({name: float(row[name].replace(",", "")) * SCALES.get(name, 1)
                                            for name in METRICS})
    return kernels


def median(runs, metric):
    return statistics.median(run[metric] for run in runs)


def prove(proof):
    ncu = cuda_tool("ncu")
    if not ncu:
        proof.add("profile", "ncu", False, "is not on this machine")
        return
    twin = getattr(proof, "twin", None)
    if twin:
        twin.result()
    lines = ["## Profile", "", "Medians of the runs that Nsight Compute saw, with clocks and caches left alone; of the twin's "
             "launch shapes the fastest. A reduction of Weir's is two kernels, and a third stores its result.", "",
             "| case | kernel | grid, block | runs | " + " | ".join(METRICS.values()) + " |",
             "|---" * (4 + len(METRICS)) + "|"]
    for case in CASES:
        command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled",
                   "--clock-control", "none", "--cache-control", "none", "--kernel-name-base", "mangled", "--kernel-name",
                   KERNELS, "--launch-count", LAUNCHES, "--metrics", ",".join(METRICS), proof.program("weir-bench"), "--gpu",
                   f"--benchmark_filter=^{case}"]
        environment = {"WEIR_BENCH_TWIN": str(proof.logs / TWIN), "WEIR_PROBE": "off"}
        result = proof.run(command, 200, f"profile.{case}.log", environment)
        try:
            kernels = runs_of(result.text)
        except (KeyError, ValueError) as error:
            kernels = {}
            result.text += f"\n{type(error).__name__}: {error}"
        ours = [key for key in kernels if not key[0].startswith("_Z")]
        theirs = [key for key in kernels if key[0].startswith("_Z")]
        seen = f"{len(ours)} kernels, {len(theirs)} shapes of the twin, {result.seconds:.0f} s"
        proof.add("profile", case, ours and theirs,
                  seen if ours and theirs else f"{result.words()}: {tail(result.text)}")
        fastest = sorted(theirs, key=lambda key: median(kernels[key], "gpu__time_duration.sum"))[:1]
        for key in ours + fastest:
            figures = " | ".join(f"{median(kernels[key], metric):.4g}" for metric in METRICS)
            lines.append(f"| {case} | {key[0]} | {key[1]}, {key[2]} | {len(kernels[key])} | {figures} |")
    proof.sections.append("\n".join(lines) + "\n")
