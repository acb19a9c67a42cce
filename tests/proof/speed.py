# SPDX-License-Identifier: Apache-2.0
"""weir-bench's GPU part, compared with its twins, or its Vulkan part."""
import json

from .run import cuda_tool, is_vulkan, tail

TWIN = "libweir-bench-twin.so"
SKIPPED = "skipped: "  # begins the message of a case that cannot run on the machine

# Floors on an H200, in addition to each case's bar. A floor is the bar or slightly less where the bar is met,
# and about 5 % below the measured figure where it is missed. Launch costs are those of a slow, busy host. The
# bar defines the figure's meaning and direction.
FLOORS_FOR = "H200"
FLOORS = {
    "launch_ready_kernel/0_arguments": 0.7,
    "launch_ready_kernel/4_arguments": 0.8,
    "launch_ready_kernel/19_arguments": 0.9,
    "launch_kernel/4_arguments": 1.2,
    "launch_kernel/19_arguments": 1.4,
    "chain_of_1000_launches": 1.10,
    "region_over_streams/2_blocks": 1.10,
    "region_over_streams/4_blocks": 1.15,
    "region_over_streams/8_blocks": 1.15,
    "region_as_graph_new_arguments/2_blocks": 0.55,
    "region_as_graph_new_arguments/4_blocks": 0.50,
    "region_as_graph_new_arguments/8_blocks": 0.50,
    "region_automatic_new_arguments/2_blocks": 1.15,
    "region_automatic_new_arguments/4_blocks": 1.10,
    "region_automatic_new_arguments/8_blocks": 1.10,
    "graph_of_tasks/10": 1.15,
    "graph_of_tasks/100": 1.10,
    "graph_of_tasks/1000": 1.10,
    "pool_allocate_and_free_random_sizes": 0.3,
    "four_one_block_kernels_in_four_blocks": 3.5,
    "kernels_that_fill_the_device_in_blocks": 0.98,
    "loops_of_8_Mi_elements_in_blocks": 0.95,
    "loops_of_256_elements_in_blocks": 0.93,  # the loops without blocks are merged
    "stream_lease": 0.1,
    "process_start_to_first_result/cold": 1.25,  # HIP's library, if installed, is also loaded at each start
    "process_start_to_first_result/warm": 1.25,
    "first_result_of_one_loop/cold": 1.0,
    "first_result_of_one_loop/warm": 5,
    "first_result_of_20_loops/cold": 200,
    "first_result_of_20_loops/warm": 10,
    "first_result_of_robots/cold": 350,
    "first_result_of_robots/warm": 10,
    "copy_3_GiB": 0.98,
    "triad_3_GiB": 0.98,
    "triad_3_GiB_terabytes_per_second": 4.1,
    "dot_3_GiB": 0.94,
    "sum_1_GiB": 0.92,
    "stencil_5_point_16384x16384": 0.96,
    "nbody_65536_fast": 1.10,
    "solve_16_Mi_systems_3x3_fast": 0.96,
    "matrix_product_by_groups_4096": 0.95,
    "histogram_256_bins": 0.92,
    "histogram_1_Mi_bins": 0.96,
    "sort_u32_1Mi": 0.95,
    "sort_u32_16Mi": 0.86,
    "sort_u32_256Mi": 0.84,
    "sort_by_key_u32_1Mi": 0.90,
    "sort_by_key_u32_16Mi": 0.90,
    "sort_by_key_u32_256Mi": 0.90,
    "exclusive_scan_u32_256Mi": 0.82,
    "compact_256Mi_10_percent": 0.95,
    "compact_256Mi_50_percent": 0.95,
    "compact_256Mi_90_percent": 0.95,
    "histogram_of_range_256_bins": 3.2,
    "histogram_of_range_64Ki_bins": 4.0,
    "reduce_by_key_256Mi": 0.86,
    "robots_against_loops_apart/4096": 0.18,
    "robots_against_loops_apart/65536": 0.36,
    "robots_against_one_kernel/1024": 1.8,
    "robots_against_one_kernel/4096": 1.75,
    "robots_against_one_kernel/16384": 1.05,
    "robots_against_one_kernel/65536": 1.12,
    "robots_against_one_kernel/262144": 1.0,
    "independent_groups_of_5_loops/4096": 1.1,
    "chain_of_100_loops_of_256_elements": 0.25,
    "six_maps_of_64_Mi/against_loops_apart": 0.5,
    "six_maps_of_64_Mi/against_one_kernel": 1.03,
    "compile_31_loops": 1.3,
    "conjugate_gradients_in_one_launch/128": 0.60,
    "conjugate_gradients_in_one_launch/512": 0.62,
    "conjugate_gradients_in_one_launch/4096": 1.35,
    "conjugate_gradients_in_launches_of_64/128": 2.0,
    "conjugate_gradients_in_launches_of_64/512": 1.65,
    "conjugate_gradients_in_launches_of_16/4096": 1.05,
}


def compile_twin(proof):
    """Compiles the nvcc twins in the background; the last part needs them."""
    if is_vulkan(proof):
        return
    source = next((path for path in (proof.prefix / "tests/bench/gpu/twin.cu",
                                     proof.prefix / "../../tests/bench/gpu/twin.cu") if path.exists()), None)
    nvcc = cuda_tool("nvcc")
    proof.twin = None
    if source and nvcc:
        command = [nvcc, "-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o",
                   proof.logs / TWIN, *sorted(source.parent.glob("twin*.cu"))]
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
    cases = "--vulkan" if is_vulkan(proof) else "--gpu"
    result = proof.run([proof.program("weir-bench"), cases, "--json", figures], 200, "bench.log", environment)
    if result.status or not figures.exists():
        proof.add("speed", "weir-bench", False, f"{result.words()}: {tail(result.text)}")
    if not figures.exists():
        return
    try:
        cases = json.loads(figures.read_text())["benchmarks"]
    except ValueError as error:
        proof.add("speed", "weir-bench", False, f"its figures cannot be read: {error}")
        return
    judge(proof, cases, result.seconds)


def judge(proof, cases, seconds):
    """Adds a row for each case that failed or missed its floor, one row for all cases, and the table."""
    floors_of = {} if is_vulkan(proof) else FLOORS
    with_floors = floors_of and FLOORS_FOR in proof.facts.get("device", "")
    lines = ["## Speed", "", f"gpu-proof fails below a floor, on an {FLOORS_FOR}; bars are the targets of the cases.", "",
             "| case | ours | peer | figure | floor | bar | |", "|---|---|---|---|---|---|---|"]
    met, fallen, skipped, seen = 0, 0, 0, set()
    for case in cases:
        name = case["name"].removesuffix("/manual_time").split("/iterations:")[0]
        seen.add(name)
        words, figure, bar, floor = case.get("error_message"), case.get("figure", 0), case.get("label", ""), floors_of.get(name)
        ok = not words and case.get("met", 0) == 1
        met += ok
        without = words and words.startswith(SKIPPED)
        lines.append(f"| {name} | {unit(case.get('ours_us'))} | {unit(case.get('peer_us'))} | "
                     f"{words or format(figure, '.3f')} | {'-' if floor is None else floor} | {bar} | "
                     f"{'met' if ok else 'skipped' if without else 'failed' if words else 'missed'} |")
        if without:
            skipped += 1
            proof.skipped.append(("weir-bench", name, words.removeprefix(SKIPPED)))
        elif words:
            proof.add("speed", name, False, words)
        elif with_floors and floor is None:
            proof.add("speed", name, False, "has no floor; write one into tests/proof/speed.py")
        elif with_floors and (figure > floor if "at most" in bar else figure < floor):
            fallen += 1
            proof.add("speed", name, False, f"{figure:.3f}, the floor is {floor}; the bar is {bar}")
    for name in floors_of.keys() - seen if with_floors else ():
        proof.add("speed", name, False, "did not run")
    proof.sections.append("\n".join(lines) + "\n")
    ran = len(cases) - skipped
    proof.facts["bars met"] = f"{met} of {ran}"
    floors = (f"{fallen} under their floors" if with_floors else "no floors for Vulkan" if is_vulkan(proof) else
              f"no floors for a GPU that is no {FLOORS_FOR}")
    proof.add("speed", "weir-bench", ran and not fallen, f"{met} of {ran} bars met, {floors}, {seconds:.0f} s")


def unit(microseconds):
    if microseconds is None:
        return "-"
    return f"{microseconds / 1000:.3f} ms" if microseconds >= 1000 else f"{microseconds:.3f} us"
