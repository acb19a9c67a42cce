# SPDX-License-Identifier: Apache-2.0
"""Compiles a component's files with all mutants, and links its library and test programs with them. Neither the build's
files nor the sources are written."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from mutants import add_ordinals

HERE = pathlib.Path(__file__).resolve().parent
CLANG = "clang++-22"
# Debug information gives each instruction its line. -O1 keeps the tests fast. Warnings say nothing about mutants. Results
# that a mutant makes null are really used: otherwise the compiler concludes that the mutant is never selected.
COMPILE_OPTIONS = ["-w", "-O1", "-g", "-fno-discard-value-names", "-fno-delete-null-pointer-checks"]
# Programs and libraries of every system, which differ between systems.
OF_THE_SYSTEM = re.compile(r"/(ld-linux|libc\.|libm\.|libpthread\.|libdl\.|librt\.|linux-vdso|libresolv\.|libutil\.)")


class Failed(Exception):
    pass


class NoPlugin(Failed):
    pass


def run(command, cwd=None, **options):
    made = subprocess.run(command, cwd=cwd, text=True, timeout=1800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if made.returncode != 0:
        raise Failed(f"'{' '.join(command) if isinstance(command, list) else command}' ended with {made.returncode}; "
                     f"expected 0:\n{made.stdout[-3000:]}")
    return made.stdout


class Place:
    """A folder with the build's layout: links to all of its files, in whose place mutated ones can be written."""

    def __init__(self, built, folder):
        self.folder = folder
        real = {"bin", "lib", "lib/weir", "lib/weir/drivers"}
        for path in [""] + sorted(real):
            (folder / path).mkdir(parents=True, exist_ok=True)
            for entry in (built / path).iterdir() if (built / path).is_dir() else []:
                name = f"{path}/{entry.name}".lstrip("/")
                if name not in real and not (folder / name).exists():
                    (folder / name).symlink_to(entry.resolve())

    def own(self, name):
        """The path `name`, which holds a file instead of a link from now on: programs find their folder by it."""
        path = self.folder / name
        if path.is_symlink():
            target = path.resolve()
            path.unlink()
            shutil.copy2(target, path)
        return path


class Build:
    def __init__(self, component, source, build, folder, jobs):
        self.component, self.build, self.folder, self.jobs = component, build.resolve(), folder, jobs
        self.root = source / component["root"]
        self.objects = folder / "objects"
        self.objects.mkdir(parents=True)
        self.plugin = self.build / "lib/weir/mutation/weir_mutation_plugin.so"
        found = set()
        for pattern in component["files"]:
            found.update(self.root.glob(pattern))
        for pattern in component.get("without", []):
            found.difference_update(self.root.glob(pattern))
        self.files = sorted(str(path) for path in found)

    def make(self):
        """Builds what the component's tests need: a finished build takes no time here."""
        make = ["cmake", "--build", str(self.build), "--parallel", str(self.jobs), "--target"]
        try:
            run([*make, "weir_mutation_plugin"])
        except Failed as failure:
            raise NoPlugin(str(failure))
        # A build without a driver, or without the simulator of AMD GPUs, lacks what needs it.
        known = {line.split(":")[0] for line in run(["ninja", "-t", "targets", "all"], cwd=self.build).splitlines()}
        run([*make, *[target for target in self.component["needs"] if target in known]])

    def commands(self, target):
        """The commands that build `target`, from the build's own description."""
        return run(["ninja", "-t", "commands", target], cwd=self.build).splitlines()

    def units(self):
        """(command, object) of each object with files of the component."""
        files = set(self.files)
        for command in self.commands(next(iter(self.component["link"]))):
            if not (match := re.search(r" -o (\S+\.o) -c (\S+)$", command)):
                continue
            unit = pathlib.Path(match[2])
            if "/Unity/" in match[2]:
                parts = re.findall(r'#include "([^"]+)"', unit.read_text())
            else:
                parts = [match[2]]
            if files.intersection(parts):
                yield command, match[1]

    def compile(self, number, command):
        """The object and the list of its mutants."""
        made = self.objects / f"{number}.o"
        listed = self.objects / f"{number}.json"
        words = shlex.split(command)
        unit, kept, skip = words[-1], [], 0
        start = next(i for i, word in enumerate(words) if word.startswith("-"))
        for i, word in enumerate(words[start:], start):
            if skip:
                skip -= 1
            elif word == "-include" and "cmake_pch" in words[i + 1]:
                skip = 1  # precompiled for another compiler; every file includes its headers itself
            elif word == "-Xclang":
                skip = 1
            elif word in ("-MT", "-MF", "-o", "-c"):
                skip = 1
            elif word not in ("-MD", "-fpch-preprocess", "-Winvalid-pch"):
                kept.append(word)
        environment = dict(os.environ, WEIR_MUTATION_FILES=str(self.objects / "files"), WEIR_MUTATION_LIST=str(listed))
        run([CLANG, *kept, *COMPILE_OPTIONS, f"-fpass-plugin={self.plugin}", "-o", str(made), "-c", unit], cwd=self.build,
            env=environment)
        return made, json.loads(listed.read_text())

    def link(self, target, output, replaced):
        """Links `target` as `output`. `replaced`: object of the build -> the object used in its place."""
        # A library's link may be followed by a command that makes its links by name.
        command = next((one for one in reversed(self.commands(target)) if " -o " in one and " -c " not in one), None)
        if not command:
            raise Failed(f"no command of target {target} links anything; expected a program or a library")
        match = re.search(r" -o (\S+)", command)
        given = [str(self.selector)]
        for unit, made in replaced.items():
            if f" {unit} " in command:
                command = command.replace(f" {unit} ", f" {made} ")
            else:
                given.append(str(made))
        # The first of an archive's objects defines a symbol: the archive's own object is then not linked.
        command = command.replace(match[0], f" -o {output} {' '.join(given)}", 1)
        # Steps after the link, such as looking for the program's tests, concern the build's own program.
        command = re.sub(r"^: && ", "", command).split(" && ")[0]
        if shutil.which("ld.lld"):
            command += " -fuse-ld=lld"
        output.unlink(missing_ok=True)
        run(command, cwd=self.build, shell=True)

    def prepare(self):
        """Fills the folder: `place` has the programs and libraries with mutants. Returns the list of mutants."""
        (self.objects / "files").write_text("\n".join(self.files) + "\n")
        self.selector = self.objects / "selector.o"
        run([CLANG, "-std=c++20", "-O1", "-fPIC", "-c", str(HERE / "pass/selector.cpp"), "-o", str(self.selector)])
        replaced, mutants = {}, {}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            units = list(self.units())
            for (_, unit), (made, found) in zip(units, pool.map(lambda one: self.compile(one[0], one[1][0]), enumerate(units))):
                replaced[unit] = made
                for one in found:
                    # A place in a header or a template has one number in all objects.
                    mutants.setdefault(one["id"], dict(one, marks=[]))["marks"].append(one["mark"])
        place = Place(self.build, self.folder / "place")
        for target, output in self.component["link"].items():
            part = self.component.get("parts", {}).get(target, "")  # the text in the names of a target's objects
            place.own(output)
            self.link(target, place.folder / output, {unit: one for unit, one in replaced.items() if part in unit})
        self.component["programs"] = [one for one in self.component["programs"] if (place.folder / one["command"][0]).exists()]
        for program in self.component["programs"]:
            for word in program["command"]:
                if word.startswith(("bin/", "lib/")):
                    place.own(word)
        # Tests start these, which look for the library beside them.
        for path in list((place.folder / "bin").iterdir()):
            if not path.name.endswith("_test"):
                place.own(f"bin/{path.name}")
        shutil.rmtree(self.objects)
        lines = {}
        for one in mutants.values():
            path = one["file"]
            if path not in lines:
                lines[path] = pathlib.Path(path).read_text().splitlines()
            one["text"] = lines[path][one["line"] - 1].strip()
            one["file"] = f"{self.component['root']}/{os.path.relpath(path, self.root)}"
            one["marks"] = sorted(set(one["marks"]))
            del one["mark"]
        add_ordinals(mutants.values())
        return sorted(mutants.values(), key=lambda one: (one["file"], one["line"], one["column"], one["kind"], one["ordinal"]))


def make_portable(folder):
    """Replaces the links in `folder` by files, and adds the libraries that the programs need from this system."""
    place = folder / "place"
    component = json.loads((folder / "prepared.json").read_text())["component"]
    for path in list(place.iterdir()):
        if path.is_symlink():
            built = path.resolve()
            path.unlink()
            for kept in component.get("carries", []):  # what the tests read
                if kept.split("/")[0] == path.name:
                    for file in (built.parent / kept).iterdir():
                        if file.is_file() and not file.suffix == ".cmake":
                            (place / kept).mkdir(parents=True, exist_ok=True)
                            shutil.copy2(file, place / kept / file.name)
    unused = [path for path in place.glob("bin/*_test") if path.is_symlink()]  # of other components
    unused += [*place.glob("lib/*.a"), *place.glob("bin/weir-mathlib")]
    if "weir_codegen" not in component["needs"]:
        unused += place.glob("lib/libweir-codegen*")  # it needs LLVM, which is larger than all the rest
    for path in unused:
        path.unlink()
    for path in [one for one in place.rglob("*") if one.is_symlink()]:
        target = path.resolve()
        path.unlink()
        if target.is_dir():
            shutil.copytree(target, path)
        else:
            shutil.copy2(target, path)
    needed = set()
    for path in [one for one in place.rglob("*") if one.is_file()]:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        subprocess.run(["strip", "--strip-debug", str(path)], stderr=subprocess.DEVNULL)
        listed = subprocess.run(["ldd", str(path)], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                env=dict(os.environ, LD_LIBRARY_PATH=str(place / "lib"))).stdout
        needed.update(re.findall(r"=> (/\S+)", listed))
    for library in needed:
        path = pathlib.Path(library)
        if place not in path.parents and not OF_THE_SYSTEM.search(library) and not (place / "lib" / path.name).exists():
            shutil.copy2(path, place / "lib" / path.name)
    for path in [*HERE.glob("*.py"), *HERE.glob("*.json")]:
        shutil.copy2(path, folder / path.name)
