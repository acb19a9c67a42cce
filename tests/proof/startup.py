# SPDX-License-Identifier: Apache-2.0
"""Breaks down the time from the start of a process to its first result, by the dynamic loader's timestamped output."""
import os
import re
import subprocess
import time

PROGRAMS = {"Weir": "weir-bench-first-result", "NVRTC": "weir-bench-first-nvrtc"}
RUNS = 9
SHORTEST = 1.0  # ms; shorter steps between two lines of the loader are not reported
LIMIT = 20
# Each line of the loader begins with the process, as children print too, and ends with a name.
WORDS = re.compile(rb"\s*(\d+):\s+(calling init|calling fini|file=\S+ \[0\];  generating link map)(?:: (\S+))?")


def timeline(proof, program):
    """[(ms since the start, the loader's step)], the last at the end of the process; empty if it failed."""
    environment = dict(os.environ, WEIR_DEVICE=proof.device, CUDA_CACHE_DISABLE="1", LD_DEBUG="files")
    began = time.monotonic()
    child = subprocess.Popen([proof.program(program)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env=environment, cwd=proof.logs)
    events = []
    for line in child.stderr:
        at = (time.monotonic() - began) * 1000
        words = WORDS.match(line)
        if not words or int(words[1]) != child.pid:
            continue
        if words[2].startswith(b"file="):
            name = words[2].split(b" ")[0].removeprefix(b"file=")
            events.append((at, f"{os.path.basename(name.decode())} mapped"))
        else:
            ended = "starts" if words[2] == b"calling init" else "ends"
            events.append((at, f"{os.path.basename((words[3] or b'').decode())} {ended}"))
    status = child.wait(LIMIT)
    return [*events, ((time.monotonic() - began) * 1000, "process has ended")] if status == 0 else []


def prove(proof):
    lines = ["## Process start to first result", "",
             f"Steps of the dynamic loader (LD_DEBUG=files) in the median of {RUNS} runs: the time from one line of it to the next, "
             f"if that took {SHORTEST:.0f} ms or more. Its output takes time as well.", "",
             "| program | from, ms | takes, ms | after | until |", "|---|---|---|---|---|"]
    for name, program in PROGRAMS.items():
        try:
            runs = sorted(filter(None, (timeline(proof, program) for _ in range(RUNS))), key=lambda run: run[-1][0])
        except (OSError, subprocess.TimeoutExpired) as error:
            proof.add("profile", program, False, f"{type(error).__name__}: {error}")
            continue
        proof.add("profile", program, runs, f"{len(runs)} runs, {runs[len(runs) // 2][-1][0]:.0f} ms" if runs else "failed")
        before = (0.0, "the start")
        for event in runs[len(runs) // 2] if runs else ():
            if event[0] - before[0] >= SHORTEST:
                lines.append(f"| {name} | {before[0]:.1f} | {event[0] - before[0]:.1f} | {before[1]} | {event[1]} |")
            before = event
    proof.sections.append("\n".join(lines) + "\n")
