# SPDX-License-Identifier: Apache-2.0
"""The demo: its water balance, and its maps bit for bit as on the CPU driver."""
import hashlib
import re

from .run import tail

STEPS = 1000
MAPS = ("water.png", "sediment.png", "dye.png")


def prove(proof):
    command = [proof.program("weir"), "demo", "river", "--steps", STEPS]
    folders = {name: proof.logs / f"river-{name}" for name in ("device", "cpu")}
    runs = {name: proof.pool.submit(proof.run, [*command, "--device", proof.device if name == "device" else "cpu",
                                                "--out", folder], 200, f"river-{name}.log")
            for name, folder in folders.items()}
    results = {name: run.result() for name, run in runs.items()}
    for name, result in results.items():
        balance = re.search(r"off by (\S+) of all \(at most (\S+)\)", result.text)
        speed = re.search(r"speed +(.*)", result.text)
        words = f"{STEPS} steps; water off by {balance[1]} of all (at most {balance[2]}); {speed[1]}" \
            if result.status == 0 and balance and speed else f"{result.words()}: {tail(result.text)}"
        proof.add("demo", f"river on {proof.device if name == 'device' else 'cpu'}",
                  result.status == 0 and balance and float(balance[1]) <= float(balance[2]), words)
    for name in MAPS:
        sums = []
        for folder in folders.values():
            path = folder / name
            sums.append(hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None)
        same = sums[0] is not None and sums[0] == sums[1]
        proof.add("demo", f"{name} bit for bit as on the CPU", same,
                  f"sha256 {sums[0][:16]}" if same else f"{sums[0] and sums[0][:16]} and {sums[1] and sums[1][:16]}")
