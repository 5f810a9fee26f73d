"""What the documents name exists: paths, tests and flags in OPTIMIZATIONS.md, commands in README.md."""

import os
import re
import shlex

OPTIMIZATIONS = "docs/OPTIMIZATIONS.md"
TICKED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"^[\w.-]+(/[\w.-]+)+/?$")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def known_flags(context):
    """All long options that the program's sources name."""
    return set(FLAG.findall("\n".join(context.read(p) for p in context.files(".cc", under="apps"))))


def check_optimizations(context):
    if not context.exists(OPTIMIZATIONS):
        return [f"{OPTIMIZATIONS}: is missing"]
    text, flags, problems = context.read(OPTIMIZATIONS), known_flags(context), []
    for ticked in TICKED.findall(text):
        if PATH.match(ticked) and not context.exists(ticked):
            problems.append(f"{OPTIMIZATIONS}: names {ticked}, which does not exist")
        for flag in FLAG.findall(ticked):
            if flag not in flags:
                problems.append(f"{OPTIMIZATIONS}: names {flag}, which no source in apps/ has")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    widths = {line.count("|") for line in (re.sub(r"\\\||`[^`]*`", "", row) for row in rows)}
    if len(widths) > 1:
        problems.append(f"{OPTIMIZATIONS}: table rows of different widths")
    return problems


def commands(text):
    """The command lines of the shell blocks; continued lines joined."""
    for block in re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"^\$ ", "", line.strip())
            if line and not line.startswith("#"):
                yield line


def subcommands(context):
    main = "apps/toccata/main.cc"
    text = context.read(main) if context.exists(main) else ""
    return set(re.findall(r'^\s*\{"(\w+)", \w+_main', text, re.MULTILINE))


def check_readme(context):
    if not context.exists("README.md"):
        return ["README.md: is missing"]
    text, problems = context.read("README.md"), []
    flags, names = known_flags(context), subcommands(context)
    for line in commands(text):
        words = shlex.split(line, comments=True)
        program = words[0]
        if program.startswith("./") and not program.startswith("./build/"):
            if not os.access(context.path(program), os.X_OK):
                problems.append(f"README.md: '{line}': {program} is not an executable file of the tree")
        if os.path.basename(program) == "toccata" and len(words) > 1:
            if words[1] not in names and not words[1].startswith("-"):
                problems.append(f"README.md: '{line}': '{words[1]}' is not a subcommand")
            problems += [f"README.md: '{line}': no source in apps/ has {flag}" for flag in FLAG.findall(line)
                         if flag not in flags]
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target) and not context.exists(target):
            problems.append(f"README.md: links to {target}, which does not exist")
    return problems


_MAIN = {"apps/toccata/main.cc": '    {"run", run_main, "x"},\n"--model"\n'}

OPTIMIZATIONS_SAMPLES = [
    ({OPTIMIZATIONS: "| `src/a.cc` | `--model` | 1/2 |\n", "src/a.cc": "\n", **_MAIN}, None),
    ({OPTIMIZATIONS: "| `src/b.cc` |\n"}, "src/b.cc, which does not exist"),
    ({OPTIMIZATIONS: "| `--gone` |\n", **_MAIN}, "--gone, which no source"),
    ({OPTIMIZATIONS: "| a | b |\n| c |\n"}, "different widths"),
    ({"a": ""}, "is missing"),
]

README_SAMPLES = [
    ({"README.md": "```sh\n./go x\ntoccata run --model m  # why\n```\n[a](docs/a.md#b)\n", "go": "#!/bin/sh\n",
      "docs/a.md": "", **_MAIN}, None),
    ({"README.md": "```sh\n./gone\n```\n"}, "./gone is not an executable"),
    ({"README.md": "```sh\n./build/release/apps/toccata/toccata fly\n```\n", **_MAIN}, "'fly' is not a subcommand"),
    ({"README.md": "```sh\ntoccata run \\\n  --gone\n```\n", **_MAIN}, "no source in apps/ has --gone"),
    ({"README.md": "[a](docs/gone.md)\n"}, "links to docs/gone.md"),
]
