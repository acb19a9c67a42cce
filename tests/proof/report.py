# SPDX-License-Identifier: Apache-2.0
"""The results, as Markdown and as a table."""
import time


def write(proof):
    failed = [row for row in proof.rows if not row.passed]
    lines = ["# Weir on a GPU", "",
             "Written by tests/gpu-proof, which repeats all of it from the portable bundle.", "",
             "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in proof.facts.items()]
    lines += [f"| took | {time.monotonic() - proof.began:.0f} s |",
              f"| result | {f'{len(failed)} of {len(proof.rows)} failed' if failed else f'all {len(proof.rows)} passed'} |",
              "", "## Results", "", "| part | what | result | |", "|---|---|---|---|"]
    lines += [f"| {row.part} | {row.what} | {'pass' if row.passed else '**FAIL**'} | {row.words} |" for row in proof.rows]
    lines += ["", "## Skipped", ""]
    seen = dict.fromkeys((program.split()[-1], test, reason) for program, test, reason in proof.skipped)
    lines += [f"- {program}: {test}: {reason}" for program, test, reason in seen] or ["Nothing."]
    text = "\n".join(lines) + "\n\n" + "\n".join(proof.sections)
    proof.out.write_text(text)


def show(proof):
    print("\n" + "=" * 100)
    for name, value in proof.facts.items():
        print(f"{name:8} {value}")
    for section in proof.sections:
        if section.startswith("## Speed"):
            print(section)
    for row in proof.rows:
        print(f"{'pass' if row.passed else 'FAIL'}  {row.part:10} {row.what:32} {row.words[:160]}")
    failed = sum(not row.passed for row in proof.rows)
    print(f"{'FAIL' if proof.failed() else 'PASS'}: {failed} of {len(proof.rows)} failed, "
          f"{len(proof.skipped)} skipped, {time.monotonic() - proof.began:.0f} s; {proof.out}")
