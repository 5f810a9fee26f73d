"""What the lint checks share: the files of the tree, C++ text without comments, and the self-test."""

import os
import re
import tempfile

SKIP_DIRS = {".git", ".cache", ".models", "__pycache__", "node_modules"}


class Context:
    """root: the tree to check. build, objects, compiler: what CMake knows. is_sample: a self-test's tree."""

    def __init__(self, root, build="", objects=(), compiler="g++", is_sample=False):
        self.root = root
        self.build = build
        self.objects = list(objects)
        self.compiler = compiler
        self.is_sample = is_sample

    def path(self, relative):
        return os.path.join(self.root, relative)

    def read(self, relative):
        with open(self.path(relative), encoding="utf-8") as file:
            return file.read()

    def exists(self, relative):
        return os.path.exists(self.path(relative))

    def files(self, *suffixes, under=""):
        """Relative paths, sorted, of the files below `under` that end with one of the suffixes."""
        found = []
        for folder, dirs, names in os.walk(self.path(under)):
            inside_root = os.path.samefile(folder, self.root)
            dirs[:] = [d for d in dirs if d not in SKIP_DIRS and not (inside_root and d.startswith("build"))]
            for name in names:
                if name.endswith(suffixes):
                    found.append(os.path.relpath(os.path.join(folder, name), self.root))
        return sorted(found)

    def cpp_files(self):
        return self.files(".h", ".cc")


LITERALS = re.compile(
    r"""(?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")"""
    r"""|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<char>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE,
)


def blank(text, keep_comments=False):
    """C++ text whose literals (and comments) are blanked; line breaks stay, so line numbers hold."""

    def cover(match):
        if keep_comments and (match.group("line") or match.group("block")):
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))

    return LITERALS.sub(cover, text)


def self_test(name, check, samples):
    """Runs `check` on small trees: each must give exactly one fault that contains the sample's text, or none."""
    problems = []
    for index, (files, expected) in enumerate(samples):
        with tempfile.TemporaryDirectory() as root:
            for path, content in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(content)
                if content.startswith("#!"):
                    os.chmod(full, 0o755)
            found = check(Context(root, build=root, is_sample=True))
        if expected is None and found:
            problems.append(f"self-test: {name} sample {index} is good, but gave: {found}")
        if expected is not None and not (len(found) == 1 and expected in found[0]):
            problems.append(f"self-test: {name} sample {index} should give one fault with '{expected}', gave: {found}")
    return problems
