# SPDX-License-Identifier: Apache-2.0
"""The result of a run as a page of tests/evidence."""
import collections
import os
import pathlib
import platform

OUTCOMES = ["killed", "by chance", "survived", "not reached", "equivalent"]


def machine():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.split(': ', 1)[1]}, {os.cpu_count()} cores"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def share(report):
    """Percent of the mutants that tests could notice which they did notice; those that no test reaches count."""
    counts = collections.Counter(one["outcome"] for one in report["mutants"])
    judged = sum(counts.values()) - counts["equivalent"]
    return 100 * counts["killed"] / judged if judged else 100.0


def code(text):
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def table(report):
    counts = collections.Counter(one["outcome"] for one in report["mutants"])
    lines = [f"## {report['component']}", "", "| | |", "|---|---|", f"| commit | {report['commit']} |",
             f"| begun, ended | {report['begun']}; {report['ended']} |",
             f"| machine | {report['machine']}, load {report['load']}, {report['jobs']} jobs |",
             f"| tests | {report['tests']}, of {report['programs']}; {len(report['left out'])} left out, which fail without mutants |",
             f"| mutants | {len(report['mutants'])} of {report['generated']}, seed {report['seed']} |",
             *(f"| {outcome} | {counts[outcome]} |" for outcome in OUTCOMES),
             f"| killed of all but the equivalent | {share(report):.1f} % |", ""]
    lines += ["| file | " + " | ".join(OUTCOMES) + " |", "|---" * (1 + len(OUTCOMES)) + "|"]
    for file in sorted({one["file"] for one in report["mutants"]}):
        of_file = collections.Counter(one["outcome"] for one in report["mutants"] if one["file"] == file)
        lines.append(f"| {file} | " + " | ".join(str(of_file[outcome]) for outcome in OUTCOMES) + " |")
    by_program = collections.Counter(one["program"] for one in report["mutants"] if one["outcome"] == "killed")
    lines += ["", "| killed by | mutants |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in by_program.most_common()]
    for outcome in ("survived", "by chance", "not reached"):
        found = [one for one in report["mutants"] if one["outcome"] == outcome]
        if found:
            lines += ["", f"| {outcome} | kind | change | line |", "|---|---|---|---|"]
            lines += [f"| {one['file']}:{one['line']}:{one['column']} | {one['kind']} | {one['change']} | {code(one['text'])} |"
                      for one in found]
    return "\n".join(lines) + "\n"
