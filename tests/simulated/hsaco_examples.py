#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples on one simulated AMD GPU, and checks the HSACO files that they load with llvm-readelf.

Each example must exit with 0. llvm-readelf must read each of its code objects without a message. A code object must have
version 5 and be for that processor with the features that the device reports. Its description of each kernel must agree
with the kernel's descriptor and keep the processor's limits. Exits with 1 and a line for each violation.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Values in the ELF header's flags, from LLVM's AMDGPUUsage.
MACHINES = {"gfx906": 0x2F, "gfx908": 0x30, "gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1030": 0x36,
            "gfx1100": 0x41, "gfx1201": 0x4E}
FEATURES = {"xnack-": 0x200, "xnack+": 0x300, "sramecc-": 0x800, "sramecc+": 0xC00}
HAS_XNACK = {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"}
ALL_REGISTERS = {"gfx90a", "gfx942", "gfx950"}  # accumulation registers are numbered after the others
ABI_OF_VERSION_5 = 3


def features_of(processor):
    """The features that hipsim's device reports, set as below."""
    return ["sramecc+", "xnack-"] if processor in HAS_XNACK else []


def limits_of(processor):
    return {
        ".vgpr_count": 512 if processor in ALL_REGISTERS else 256,
        ".sgpr_count": 128,
        ".group_segment_fixed_size": 163840 if processor == "gfx950" else 65536,
        ".kernarg_segment_size": 4096,
        ".max_flat_workgroup_size": 1024,
    }


class HsacoFile:
    def __init__(self, path, readelf):
        self.path, self.readelf = path, readelf
        self.header = dict(line.strip().split(":", 1) for line in self.read("-h").splitlines() if ":" in line)
        self.flags = int(self.header["Flags"].split(",")[0], 16)
        self.symbols = self.read_symbols()
        self.metadata, self.kernels = self.read_notes()

    def read(self, *options):
        done = subprocess.run([self.readelf, *options, str(self.path)], capture_output=True, text=True)
        if done.returncode != 0 or done.stderr.strip():
            raise ValueError(f"llvm-readelf {' '.join(options)} ends with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def read_symbols(self):
        """{name: (address, size, type)} of the dynamic symbols."""
        rows = re.findall(r"^\s*\d+: (\w+)\s+(\d+) (\w+)\s+\w+\s+\w+\s+\S+ (\S+)", self.read("--dyn-syms"), re.M)
        return {name: (int(address, 16), int(size), kind) for address, size, kind, name in rows}

    def read_notes(self):
        text = self.read("--notes")
        kernels, top = [], {}
        for line in text[text.index("amdhsa.kernels:") :].splitlines():
            if match := re.match(r"  - (\.\w+): *(.*)$", line):
                kernels.append({match[1]: match[2]})
            elif kernels and (match := re.match(r"    (\.\w+): *(.*)$", line)):
                kernels[-1][match[1]] = match[2]
            elif kernels and (match := re.match(r"(?:      - |        )(\.offset|\.size): *(\d+)$", line)):
                kernels[-1].setdefault("argument " + match[1], []).append(int(match[2]))
            elif match := re.match(r"(amdhsa\.\w+): *'?([^']*)'?$", line):
                top[match[1]] = match[2]
                version = re.findall(r"^  - (\d+)$", text[text.index("amdhsa.version:") :], re.M)
                top["amdhsa.version"] = ".".join(version)
        return top, kernels

    def descriptor(self, kernel):
        """The first three numbers of the kernel descriptor: LDS, private memory, arguments."""
        address, size, _ = self.symbols[kernel[".symbol"]]
        if size != 64:
            raise ValueError(f"{kernel['.symbol']} has {size} bytes; expected the 64 of a kernel descriptor")
        rows = re.findall(r"^\s*LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", self.read("-l"), re.M)
        for offset, start, length in (tuple(int(n, 16) for n in row) for row in rows):
            if start <= address < start + length:
                place = offset + address - start
                data = self.path.read_bytes()[place : place + 12]
                return [int.from_bytes(data[n : n + 4], "little") for n in (0, 4, 8)]
        raise ValueError(f"{kernel['.symbol']} is in no loaded segment")


def wrong_in_kernel(file, kernel, processor):
    name = kernel.get(".name", "?")
    for key, most in limits_of(processor).items():
        if not 0 <= int(kernel[key]) <= most:
            yield f"{name}: {key} is {kernel[key]}; {processor} has {most}"
    lanes = "64" if processor.startswith("gfx9") else "32"
    if kernel[".wavefront_size"] != lanes:
        yield f"{name}: waves of {kernel['.wavefront_size']} lanes; expected {lanes}"
    if int(kernel[".vgpr_count"]) == 0:
        yield f"{name}: no vector registers"
    if file.symbols.get(name, (0, 0, ""))[2] != "FUNC":
        yield f"{name}: no such function among the dynamic symbols"
    if kernel[".symbol"] != name + ".kd" or file.symbols.get(name + ".kd", (0, 0, ""))[2] != "OBJECT":
        yield f"{name}: no descriptor {name}.kd among the dynamic symbols"
        return
    metadata = [int(kernel[key]) for key in (".group_segment_fixed_size", ".private_segment_fixed_size", ".kernarg_segment_size")]
    if file.descriptor(kernel) != metadata:
        yield f"{name}: LDS, private memory and arguments are {metadata} in the metadata, {file.descriptor(kernel)} in the descriptor"
    arguments = list(zip(kernel.get("argument .offset", []), kernel.get("argument .size", [])))
    end = max((offset + size for offset, size in arguments), default=0)
    if not arguments or not end <= metadata[2] < end + int(kernel[".kernarg_segment_align"]):
        yield f"{name}: {metadata[2]} bytes of arguments, of which the last one ends at {end}"


def wrong_in_file(file, processor):
    features = features_of(processor)
    expected = {"Machine": "EM_AMDGPU", "ABI Version": str(ABI_OF_VERSION_5), "Type": "DYN (Shared object file)",
                "OS/ABI": "AMDGPU - HSA", "Class": "ELF64"}
    for key, value in expected.items():
        if file.header.get(key, "").strip() != value:
            yield f"{key} is {file.header.get(key, 'missing').strip()}; expected {value}"
    flags = MACHINES[processor] + sum(FEATURES[feature] for feature in features)
    if file.flags != flags:
        yield f"the header's flags are 0x{file.flags:x}; expected 0x{flags:x}"
    target = ":".join(["amdgcn-amd-amdhsa--" + processor, *features])
    if file.metadata.get("amdhsa.target") != target:
        yield f"amdhsa.target is {file.metadata.get('amdhsa.target')}; expected {target}"
    if file.metadata.get("amdhsa.version") != "1.2":
        yield f"amdhsa.version is {file.metadata.get('amdhsa.version')}; code object version 5 has 1.2"
    if not file.kernels:
        yield "no kernel in the metadata"
    for kernel in file.kernels:
        yield from wrong_in_kernel(file, kernel, processor)


def run_example(program, arguments, folder):
    """Runs the example with its code objects kept in `folder`; returns the violations."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    device = {"arch": arguments.processor, "sramecc": True, "xnack": False}
    configuration = {"devices": [device], "races": "error", "instruction_limit": 2000000000, "code_objects": str(folder)}
    config = folder / "device.json"
    config.write_text(json.dumps(configuration))
    environment = dict(os.environ, WEIR_DEVICE="amdgpu", WEIR_AMDGPU_LIBRARY=arguments.simulator, HIPSIM_CONFIG=str(config))
    done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return [f"ended with {done.returncode}:\n{done.stdout}"] if done.returncode else []


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("programs", nargs="+")
    words.add_argument("--processor", required=True, choices=MACHINES)
    words.add_argument("--simulator", required=True)
    words.add_argument("--readelf", required=True)
    words.add_argument("--out", required=True, type=Path)
    arguments = words.parse_args()
    failed = False
    for program in arguments.programs:
        name = Path(program).name
        folder = arguments.out / name
        wrong = run_example(program, arguments, folder)
        kernels = []
        for path in sorted(folder.glob("*.hsaco")):
            try:
                file = HsacoFile(path, arguments.readelf)
                file.read("-S", "-l", "--symbols", "--relocations", "--dynamic-table")
                wrong += [f"{path}: {words}" for words in wrong_in_file(file, arguments.processor)]
                kernels += file.kernels
            except (ValueError, KeyError) as error:
                wrong.append(f"{path}: {error!r}")
        if not kernels:
            wrong.append("no kernel was loaded")
        for kernel in kernels:
            print(f"{name}: {kernel['.name']}: {kernel['.vgpr_count']} vector registers, "
                  f"{kernel['.group_segment_fixed_size']} bytes of LDS, {kernel['.kernarg_segment_size']} of arguments")
        for line in wrong:
            print(f"FAILED: {name} on {arguments.processor}: {line}")
        failed |= bool(wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main())
