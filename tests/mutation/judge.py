# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one mutant until the first failure."""
import os
import re
import resource
import selectors
import signal
import subprocess
import time

# A mutant may write without end, or allocate: when memory runs out, the system ends it before other processes. A limit
# of the address space would also refuse tests that reserve much and use little.
FILE_LIMIT = 1 << 30

FAILED = re.compile(r"^(?:failed|unexpected pass)\s+(\S+ \S+)|^\[  FAILED  \] (\S+?)(?: \(|,|$)")
PASSED = re.compile(r"^passed\s+(C\d\.\d+) \S+ \(([\d.]+) ms\)")
BEGUN = re.compile(r"^\[ RUN      \] (\S+)|^\S+\s+(C\d\.\d+ \S+)")


def restrict():
    os.setsid()
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, environment, limit, cwd, times=None):
    """None if the program passes; otherwise the test that failed, or after which the program hung or crashed. An empty
    value in `environment` removes the variable. `times` receives the milliseconds of each requirement that passed."""
    values = {name: value for name, value in dict(os.environ, **environment).items() if environment.get(name, "set")}
    program = subprocess.Popen(command, env=values, cwd=cwd, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=restrict)
    end = time.monotonic() + limit
    last, rest = "the start", b""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(program.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, end - time.monotonic())):
                    return f"hang after {last}"
                data = os.read(program.stdout.fileno(), 65536)
                if not data:
                    break
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                for line in lines:
                    text = line.decode(errors="replace")
                    if match := FAILED.match(text):
                        return match[1] or match[2]
                    if times is not None and (match := PASSED.match(text)):
                        times[match[1]] = float(match[2])
                    if match := BEGUN.match(text):
                        last = match[1] or match[2]
        try:
            code = program.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return f"hang at exit, after {last}"
        return None if code == 0 else f"exit code {code} after {last}"
    finally:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        program.stdout.close()
        program.wait()
