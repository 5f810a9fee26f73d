#!/usr/bin/env python3
"""`toccata completion SHELL`: what the shells offer at the cursor. fish is asked where it is installed."""

import os
import shutil
import subprocess
import unittest

from cli import SECONDS, TOCCATA, CliTest, main

BASH = """source <(toccata completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _toccata; printf '%s\\n' "${COMPREPLY[@]}" """
FISH = "toccata completion fish | source; complete -C \"$argv\" | string replace -r '\\t.*' ''; true"

# Words before the cursor, the last one in part: (what is offered, what is not).
CASES = [
    (["toccata", ""], {"run", "serve", "inspect", "completion"}, {"model.gguf"}),
    (["toccata", "tok"], {"tokenize"}, {"run"}),
    (["toccata", "help", ""], {"run", "bench"}, {"model.gguf", "--version"}),
    (["toccata", "run", "--te"], {"--temp"}, {"--top-k"}),
    (["toccata", "run", "--"], {"--prompt", "--help", "--cache-type-k"}, {"--cases"}),
    (["toccata", "eval", "--c"], {"--cases", "--ctx-size"}, {"--prompt"}),
    (["toccata", "run", "--attention", ""], {"flash", "naive"}, {"model.gguf", "f16"}),
    (["toccata", "serve", "-ctk", ""], {"f16", "bf16", "q8_0"}, {"model.gguf"}),
    (["toccata", "bench", "--cache-type-v", "b"], {"bf16"}, {"f16"}),
    (["toccata", "simulate", ""], {"speculative", "scheduling"}, {"model.gguf"}),
    (["toccata", "simulate", "speculative", "--tr"], {"--trials"}, {"--tokens"}),
    (["toccata", "bench", "serve", "--conc"], {"--concurrency"}, {"--cases"}),
    (["toccata", "completion", ""], {"bash", "zsh", "fish"}, {"model.gguf"}),
    (["toccata", "run", "-f", "n"], {"notes.txt"}, {"model.gguf"}),
    (["toccata", "run", "-m", ""], {"model.gguf", "my model.gguf"}, {"flash"}),
    (["toccata", "inspect", "m"], {"model.gguf", "my model.gguf"}, {"notes.txt"}),
]


class Completion(CliTest):
    def setUp(self):
        for name in ["model.gguf", "my model.gguf", "notes.txt"]:
            self.path(name, "")
        os.makedirs(self.path("bin"), exist_ok=True)
        if not os.path.exists(self.path("bin/toccata")):
            os.symlink(os.path.abspath(shutil.which(TOCCATA)), self.path("bin/toccata"))

    def offered(self, *command):
        environment = {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"], "HOME": self.folder}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, timeout=SECONDS, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return set(done.stdout.splitlines())

    def check(self, ask):
        for words, some, none in CASES:
            with self.subTest(words=words):
                offered = ask(words)
                self.assertLessEqual(some, offered)
                self.assertFalse(none & offered, offered)

    def test_bash(self):
        self.check(lambda words: self.offered("bash", "--norc", "-c", BASH, "bash", *words))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        # An argument that reads as a file name comes with the file's own quoting.
        self.check(lambda words: {w.replace("\\ ", " ") for w in self.offered("fish", "-c", FISH, " ".join(words))})

    def test_every_command_is_offered(self):
        shown = self.call("--help").stdout.decode().split("Commands:\n")[1].split("\n\n")[0]
        commands = {line.split()[0] for line in shown.splitlines()}
        offered = self.offered("bash", "--norc", "-c", BASH, "bash", "toccata", "")
        self.assertEqual(offered, commands | {"--help", "--version"})

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_can_load_it(self):
        self.offered("zsh", "-f", "-c", "autoload -Uz compinit; compinit -u -D; source <(toccata completion zsh); "
                                        "[[ $_comps[toccata] == _toccata ]]")

    def test_other_shells_are_refused(self):
        self.refused(2, ["bash", "zsh", "fish"], "completion", "tcsh")
        self.refused(2, ["bash", "zsh", "fish"], "completion")


if __name__ == "__main__":
    main()
