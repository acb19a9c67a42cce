# SPDX-License-Identifier: Apache-2.0
"""The versions and the machine of a proof."""
import datetime
import platform
from pathlib import Path

from .run import cuda_tool, tail


def prove(proof):
    facts = proof.facts
    commit = proof.prefix / "share" / "weir" / "commit"
    facts["commit"] = commit.read_text().strip() if commit.exists() else "unknown: this is no bundle"
    facts["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    facts["system"] = f"{platform.system()} {platform.release()}, glibc {platform.libc_ver()[1]}"
    smi = proof.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], 30)
    facts["GPU"] = "; ".join(smi.text.split("\n")[:-1]) if smi.status == 0 else f"nvidia-smi: {smi.words()}"
    version = proof.run([cuda_tool("nvcc") or "nvcc", "--version"], 30)
    facts["nvcc"] = tail(version.text, 1) if version.status == 0 else "none"
    proof.add("machine", "commit", commit.exists() and "uncommitted" not in facts["commit"], facts["commit"])

    info = proof.run([proof.program("weir"), "info"], 60, "info.log")
    driver, _, number = proof.device.partition(":")
    usable = any(line.startswith(driver + " ") and line.rstrip().endswith("usable") for line in info.text.splitlines())
    heading = f"  {driver}:{number or 0} "
    named = [line.strip() for line in info.text.splitlines() if line.startswith(heading)]
    proof.add("machine", "weir info", info.status == 0 and usable and named, named[0] if named else tail(info.text))
    facts["device"] = named[0] if named else "not found"
    text = info.text.strip().replace(str(proof.prefix), "PREFIX").replace(f"{Path.home()}/", "~/")
    proof.sections.append("## weir info\n\n```\n" + text + "\n```\n")
