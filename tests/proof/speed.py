# SPDX-License-Identifier: Apache-2.0
"""weir-bench's GPU part, against its twins."""
import json

from .run import cuda_tool, tail

TWIN = "libweir-bench-twin.so"


def compile_twin(proof):
    """Compiles the nvcc twins in the background; they are needed last."""
    source = next((path for path in (proof.prefix / "tests/bench/gpu/twin.cu",
                                     proof.prefix / "../../tests/bench/gpu/twin.cu") if path.exists()), None)
    nvcc = cuda_tool("nvcc")
    proof.twin = None
    if source and nvcc:
        command = [nvcc, "-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o",
                   proof.logs / TWIN, source]
        proof.twin = proof.pool.submit(proof.run, command, 180, "twin.log")
    else:
        proof.add("speed", "nvcc twin", False, f"nvcc: {nvcc}, source: {source}")


def prove(proof):
    twin = getattr(proof, "twin", None)
    if twin:
        result = twin.result()
        if result.status:
            proof.add("speed", "nvcc twin", False, f"{result.words()}: {tail(result.text)}")
    figures = proof.logs / "bench.json"
    environment = {"WEIR_BENCH_TWIN": str(proof.logs / TWIN)}
    result = proof.run([proof.program("weir-bench"), "--gpu", "--json", figures], 200, "bench.log", environment)
    if result.status or not figures.exists():
        proof.add("speed", "weir-bench", False, f"{result.words()}: {tail(result.text)}")
    if not figures.exists():
        return
    try:
        cases = json.loads(figures.read_text())["benchmarks"]
    except ValueError as error:
        proof.add("speed", "weir-bench", False, f"its figures cannot be read: {error}")
        return
    lines = ["## Speed", "", "| case | ours | peer | figure | bar | |", "|---|---|---|---|---|---|"]
    met = 0
    for case in cases:
        name = case["name"].removesuffix("/manual_time").split("/iterations:")[0]
        words = case.get("error_message")
        ok = not words and case.get("met", 0) == 1
        met += ok
        lines.append(f"| {name} | {unit(case.get('ours_us'))} | {unit(case.get('peer_us'))} | "
                     f"{words or format(case.get('figure', 0), '.3f')} | {case.get('label', '')} | "
                     f"{'met' if ok else 'failed' if words else 'missed'} |")
        if words:
            proof.add("speed", name, False, words)
    proof.sections.append("\n".join(lines) + "\n")
    proof.add("speed", "weir-bench", len(cases) > 0, f"{met} of {len(cases)} bars met, {result.seconds:.0f} s")


def unit(microseconds):
    if microseconds is None:
        return "-"
    return f"{microseconds / 1000:.3f} ms" if microseconds >= 1000 else f"{microseconds:.3f} us"
