# SPDX-License-Identifier: Apache-2.0
"""Runs programs with limits, and records their results."""
import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Result:
    status: int  # the exit status, negative for a signal
    text: str
    seconds: float
    timed_out: bool

    def words(self):
        """The program's end, for a table."""
        if self.timed_out:
            return f"stopped after {self.seconds:.0f} s"
        return f"signal {-self.status}" if self.status < 0 else f"exit status {self.status}"


@dataclass
class Row:
    part: str
    what: str
    passed: bool
    words: str


@dataclass
class Proof:
    prefix: Path
    device: str
    out: Path
    logs: Path
    seconds: float
    jobs: int
    part: list | None
    rows: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)  # versions and devices of the run
    skipped: list = field(default_factory=list)  # (program, test, reason)
    sections: list = field(default_factory=list)  # Markdown, after the table

    def __post_init__(self):
        self.prefix = self.prefix.resolve()
        self.logs = self.logs.resolve()
        self.out = self.out.resolve()
        self.logs.mkdir(parents=True, exist_ok=True)
        self.began = time.monotonic()
        self.pool = ThreadPoolExecutor(self.jobs)

    def left(self):
        """Seconds left of the total limit."""
        return self.began + self.seconds - time.monotonic()

    def add(self, part, what, passed, words=""):
        self.rows.append(Row(part, what, bool(passed), words))
        print(f"{'PASS' if passed else 'FAIL'}  {part}: {what}: {words}", flush=True)

    def failed(self):
        return not self.rows or any(not row.passed for row in self.rows)

    def program(self, name):
        return self.prefix / "bin" / name

    def run(self, command, limit, log=None, environment=None, device=None):
        """Runs a command for at most `limit` seconds, or less if the total limit is near."""
        limit = max(1.0, min(limit, self.left()))
        variables = dict(os.environ, WEIR_DEVICE=device or self.device, **(environment or {}))
        began = time.monotonic()
        try:
            child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                     stderr=subprocess.STDOUT, env=variables, cwd=self.logs, start_new_session=True)
        except OSError as error:
            return Result(127, str(error), 0, False)
        timed_out = False
        try:
            output, _ = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(child.pid, signal.SIGKILL)
            output, _ = child.communicate()
        text = output.decode(errors="replace")
        if log:
            with open(self.logs / log, "a") as file:
                file.write(f"$ {' '.join(str(word) for word in command)}\n{text}\n")
        return Result(child.returncode, text, time.monotonic() - began, timed_out)


def is_vulkan(proof):
    return proof.device.partition(":")[0] == "vulkan"


def cuda_tool(name):
    """Path of a program of the CUDA toolkit, or None."""
    return shutil.which(name) or shutil.which(f"/usr/local/cuda/bin/{name}")


def tail(text, lines=3):
    """The last lines that are not empty, for a table."""
    kept = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(kept[-lines:]).replace("|", "\\|")[:300]
