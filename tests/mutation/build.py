# SPDX-License-Identifier: Apache-2.0
"""Compiles and links single files of a finished build, from a copy of the sources. Neither the build's files nor the
sources are written."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess

# Warnings about a mutant are no reason to reject it. Faster code would only cost time.
COMPILE_OPTIONS = ["-w", "-O1"]


class Build:
    """The objects of one component: a folder of sources that the target `owner` compiles."""

    def __init__(self, build, root, scratch):
        self.build, self.root, self.scratch = build.resolve(), root.resolve(), scratch
        self.sources = scratch / "source"
        self.objects = scratch / "objects"
        shutil.copytree(self.root, self.sources)
        self.objects.mkdir()
        self.plain = {}  # object of the build -> objects of the same files, compiled one by one
        self.links = {}

    def run(self, command, shell=False, cwd=None):
        environment = dict(os.environ, CCACHE_DISABLE="1")
        return subprocess.run(command, shell=shell, cwd=cwd or self.build, env=environment, text=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def commands(self, target):
        """The commands that build `target`, from the build's own description."""
        if target not in self.links:
            self.links[target] = self.run(["ninja", "-t", "commands", target]).stdout.splitlines()
        return self.links[target]

    def unit_of(self, target, file):
        """The command whose object contains `file`, its object, and all files of the component in that object."""
        path = str(self.root / file)
        for command in self.commands(target):
            if not (match := re.search(r" -o (\S+\.o) -c (\S+)$", command)):
                continue
            unit = pathlib.Path(match[2])
            if unit.suffix == ".cxx" and "/Unity/" in match[2]:
                files = re.findall(r'#include "([^"]+)"', unit.read_text())
            else:
                files = [match[2]]
            if path in files:
                return command, match[1], [os.path.relpath(one, self.root) for one in files]
        raise SystemExit(f"no command of target {target} compiles {path}; expected {self.build} to be a build of this "
                         "tree with ninja")

    def compile(self, command, file, object_file):
        """Compiles the copy of `file`; None, or the compiler's messages."""
        arguments = shlex.split(re.sub(r" -MD -MT \S+ -MF \S+ -o \S+ -c \S+$", "", command))
        arguments = [one.replace(f"-I{self.root}", f"-I{self.sources}") for one in arguments]
        made = self.run(arguments + COMPILE_OPTIONS + ["-o", str(object_file), "-c", str(self.sources / file)])
        return None if made.returncode == 0 else made.stdout

    def object_bytes(self, object_file):
        """What the object contributes to a program: without symbols of local use, debug data and comments."""
        stripped = object_file.with_suffix(".stripped")
        made = self.run(["objcopy", "--strip-unneeded", "--remove-section=.comment", str(object_file), str(stripped)])
        if made.returncode != 0:
            raise SystemExit(f"objcopy of {object_file} failed: {made.stdout}")
        return stripped.read_bytes()

    def plain_objects(self, target, file):
        """The unmutated objects of all files that share an object with `file`: a dictionary from file to object."""
        command, unit, files = self.unit_of(target, file)
        if unit not in self.plain:
            objects = {}
            for one in files:
                objects[one] = self.objects / (one.replace("/", "+") + ".o")
                if errors := self.compile(command, one, objects[one]):
                    raise SystemExit(f"{one} does not compile on its own:\n{errors[-3000:]}")
            self.plain[unit] = objects
        return command, unit, self.plain[unit]

    def link(self, target, output, replaced):
        """Links `target` as `output`. `replaced`: object of the build -> the objects used in its place."""
        # A library's link may be followed by a command that makes its links by name.
        command = next((one for one in reversed(self.commands(target)) if " -o " in one and " -c " not in one), None)
        if not command:
            raise SystemExit(f"no command of target {target} links anything; expected a program or a library")
        match = re.search(r" -o (\S+)", command)
        command = command.replace(match[0], f" -o {output}", 1)
        given = []
        for unit, objects in replaced.items():
            text = " ".join(map(str, objects))
            if f" {unit} " in command:
                command = command.replace(f" {unit} ", f" {text} ")
            else:
                given.append(text)
        # The first of an archive's objects defines a symbol: the archive's own object is then not linked.
        command = command.replace(f" -o {output}", f" -o {output} {' '.join(given)}", 1)
        # Steps after the link, such as looking for the program's tests, concern the build's own program.
        command = re.sub(r"^: && ", "", command).split(" && ")[0]
        if shutil.which("ld.lld"):
            command += " -fuse-ld=lld"
        made = self.run(command, shell=True)
        if made.returncode != 0:
            return made.stdout
        return None
