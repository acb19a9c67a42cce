# SPDX-License-Identifier: Apache-2.0
"""Profiles kernels of weir-bench and their twins with Nsight Compute, and the time to a first result. Only on request."""
import csv
import statistics

from . import startup
from .run import cuda_tool, tail
from .speed import TWIN

CASES = ["triad_3_GiB", "stencil_5_point_16384x16384", "dot_3_GiB", "sum_1_GiB", "histogram_256_bins"]
# Weir's kernels have plain names, nvcc's have mangled ones.
KERNELS = "regex:^(triad|stencil|dot|sum|histogram)|_Z.*(triad_|stencil_|sum_kernel|histogram_)"
# Both sides launch the same kernel, so its GPU time shows whether the host or the GPU limits the rate.
CHAIN, CHAIN_KERNELS = "chain_of_1000_launches", "regex:^bump$"
# Concurrent kernels: one profiler range per sample, first of one side and then of the other.
CONCURRENT = ["loops_of_8_Mi_elements_in_blocks"]
LAUNCHES = 330  # first the trials of all shapes of a twin, then both sides in turn
METRICS = {
    "gpu__time_duration.sum": "time, us",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory, % of peak",
    "lts__t_sector_hit_rate.pct": "hits in L2, %",
    "sm__inst_executed.avg.per_cycle_elapsed": "instructions per cycle",
    "smsp__inst_executed.sum": "instructions, million",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy, %",
    "launch__registers_per_thread": "registers",
}
OF_RANGES = ["gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes.sum",
             "lts__t_sector_hit_rate.pct"]
SCALES = {"dram__bytes.sum": 1e-9, "gpu__time_duration.sum": 1e-3, "smsp__inst_executed.sum": 1e-6}  # of nanoseconds, of one


def runs_of(text):
    """Nsight Compute's measurements: a list of runs for each kernel, grid and block."""
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


def measure(proof, ncu, case, options, environment=None):
    """Nsight Compute's output for one case."""
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
               *options, proof.program("weir-bench"), "--gpu", f"--benchmark_filter=^{case}"]
    environment = {"WEIR_BENCH_TWIN": str(proof.logs / TWIN), "WEIR_PROBE": "off", **(environment or {})}
    return proof.run(command, 200, f"profile.{case}.log", environment)


def of_kernels(pattern, count):
    return ["--print-kernel-base", "mangled", "--kernel-name-base", "mangled", "--kernel-name", pattern, "--launch-count",
            count, "--metrics", ",".join(METRICS)]


def prove_chain(proof, ncu):
    result = measure(proof, ncu, CHAIN, of_kernels(CHAIN_KERNELS, 200))
    try:
        times = [run["gpu__time_duration.sum"] for runs in runs_of(result.text).values() for run in runs]
    except (KeyError, ValueError) as error:
        times = []
        result.text += f"\n{type(error).__name__}: {error}"
    proof.add("profile", CHAIN, times, f"{len(times)} kernels, {result.seconds:.0f} s" if times
              else f"{result.words()}: {tail(result.text)}")
    if times:
        proof.sections.append(f"## The kernel of {CHAIN}\n\nIt runs for {statistics.median(times):.3f} us on the GPU, median "
                              f"of {len(times)} runs; where a launch takes longer than that, the GPU waits for the host.\n")


def ranges_of(text):
    """The measurements of each range of a program."""
    rows = []
    for row in csv.DictReader(line for line in text.splitlines() if line.startswith('"')):
        try:
            rows.append({name: float(row[name].replace(",", "")) * SCALES.get(name, 1) for name in OF_RANGES})
        except ValueError:
            continue  # the row of units
    return rows


def prove_concurrent(proof, ncu):
    lines = ["## Profile of kernels that run at the same time", "",
             "Each range is one sample of weir-bench, with all kernels of it as they run.", "",
             "| case | side | ranges | time, us | memory, % of peak | memory, GB | hits in L2, % |", "|---" * 7 + "|"]
    for case in CONCURRENT:
        for side in ("ours", "peer"):
            result = measure(proof, ncu, case, ["--replay-mode", "app-range", "--metrics", ",".join(OF_RANGES)],
                             {"WEIR_BENCH_RANGE": side})
            try:
                ranges = ranges_of(result.text)
            except (KeyError, TypeError, AttributeError) as error:
                ranges = []
                result.text += f"\n{type(error).__name__}: {error}"
            proof.add("profile", f"{case} {side}", ranges, f"{len(ranges)} ranges, {result.seconds:.0f} s" if ranges
                      else f"{result.words()}: {tail(result.text)}")
            if ranges:
                figures = " | ".join(f"{median(ranges, metric):.4g}" for metric in OF_RANGES)
                lines.append(f"| {case} | {side} | {len(ranges)} | {figures} |")
    proof.sections.append("\n".join(lines) + "\n")


def prove(proof):
    startup.prove(proof)
    ncu = cuda_tool("ncu")
    if not ncu:
        proof.add("profile", "ncu", False, "is not on this machine")
        return
    twin = getattr(proof, "twin", None)
    if twin:
        twin.result()
    prove_chain(proof, ncu)
    prove_concurrent(proof, ncu)
    lines = ["## Profile", "", "Medians of the runs that Nsight Compute saw, with clocks and caches left alone; of the twin's "
             "launch shapes the fastest. A reduction of Weir's is two kernels, the second of which stores its result.", "",
             "| case | kernel | grid, block | runs | " + " | ".join(METRICS.values()) + " |",
             "|---" * (4 + len(METRICS)) + "|"]
    for case in CASES:
        result = measure(proof, ncu, case, of_kernels(KERNELS, LAUNCHES))
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
