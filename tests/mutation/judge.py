# SPDX-License-Identifier: Apache-2.0
"""Runs tests until the first failure."""
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
BEGUN = re.compile(r"^\[ RUN      \] (\S+)|^\S+\s+(C\d\.\d+ \S+)")


def restrict(cores):
    os.setsid()
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if cores:
        os.sched_setaffinity(0, cores)


def run(command, environment, limit, cwd, cores=None, silence=None):
    """None if the program passes; otherwise the test that failed, or after which the program hung or crashed. It hangs
    after `limit` seconds, or `silence` seconds without a line."""
    program = subprocess.Popen(command, env=dict(os.environ, **environment), cwd=cwd, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=lambda: restrict(cores))
    end = time.monotonic() + limit
    last, rest = "the start", b""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(program.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, min(end - time.monotonic(), silence or limit))):
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


class Program:
    """A test program of a component, in a folder of the build's layout."""

    def __init__(self, description, environment, place):
        self.name = description["name"]
        self.only = description.get("for", [])  # texts in the paths of the only files whose mutants it judges
        self.is_suite = description.get("kind") == "suite"
        self.runs = description.get("runs", [])  # arguments: each run of the program is one test
        # Programs and their files are found by absolute paths; a program may change its folder.
        self.command = [str(place / word) if word.startswith(("bin/", "lib/")) else word for word in description["command"]]
        self.environment = dict(environment, **description.get("environment", {}), LD_LIBRARY_PATH=str(place / "lib"))
        for name, value in self.environment.items():
            if value.startswith(("lib/", "tests/")):
                self.environment[name] = str(place / value)

    def tests(self):
        if self.runs:
            return self.runs
        command = self.command + ["--list" if self.is_suite else "--gtest_list_tests"]
        listed = subprocess.run(command, env=dict(os.environ, **self.environment), text=True, timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if listed.returncode != 0:
            raise SystemExit(f"'{' '.join(command)}' ended with {listed.returncode}; expected a list of tests:\n"
                             f"{listed.stderr[-2000:]}")
        return names_in(listed.stdout, self.is_suite)

    def run(self, names, limit, silence, cwd, cores=None, **variables):
        variables = dict(self.environment, **variables)
        for arguments in self.runs and names:
            if failed := run(self.command + arguments.split(), variables, limit, cwd, cores):
                return failed
        if self.runs:
            return None
        if self.is_suite:
            # A run of which the device supports nothing is no pass; it supports the first of these.
            command = self.command + ["--filter", ",".join(dict.fromkeys(["C0.01", *names]))]
        else:
            command = self.command + ["--gtest_fail_fast", "--gtest_filter=" + ":".join(names)]
        return run(command, variables, limit, cwd, cores, silence)


def names_in(text, is_suite):
    """The tests in a program's list of them, without disabled ones."""
    if is_suite:
        return re.findall(r"^(C\d\.\d+) ", text, flags=re.M)
    names, group = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if not word.startswith(" "):
            group = word.strip()
        elif "DISABLED_" not in group + word:
            names.append(group + word.strip())
    return names


def test_of(failure, names):
    """Which of `names` a failure is about; None for the start or the end of the program."""
    words = failure.split()
    return next((word for word in words if word in names), None)
