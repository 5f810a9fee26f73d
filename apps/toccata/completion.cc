// `toccata completion SHELL`: the scripts ask the program itself for its commands and options at completion time,
// so they never go stale.
#include <cstdio>
#include <cstring>

#include "commands.h"

namespace toccata::cli {
namespace {

// What the scripts rely on: the lines between "Commands:" and the next empty line of `toccata --help` begin with a
// command's name, and `toccata COMMAND --help` shows every long option as --name, and behind the names of an option
// its choices as one|two.
#define CHOICES_OF                                                                                                   \
  "awk -v option=\"$option\" '/^  -/ { found = 0; for (i = 1; i < NF; i++) { name = $i; sub(/,$/, \"\", name); "     \
  "if (name == option) found = 1; if ($i ~ /,$/) continue; if (found && $(i + 1) ~ /^[a-z0-9_]+([|][a-z0-9_]+)+$/) " \
  "{ gsub(/[|]/, \"\\n\", $(i + 1)); print $(i + 1) } next } }'"

constexpr const char* kBash = R"sh(# bash completion for toccata; load with: source <(toccata completion bash)
_toccata() {
  local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} words
  local help=(toccata "${COMP_WORDS[1]}")
  case "${COMP_WORDS[*]:1:2}" in simulate\ [a-z]* | "bench serve" | "bench ablate") help+=("${COMP_WORDS[2]}") ;; esac
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ] || [ "${COMP_WORDS[1]}" = help ]; then
    words=$(toccata --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    [ "$COMP_CWORD" -eq 1 ] && words+=" --help --version"
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [ "${COMP_WORDS[1]}" = completion ]; then
    COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur"))
  elif [ "${COMP_WORDS[1]}" = simulate ] && [ "$COMP_CWORD" -eq 2 ]; then
    words=$(toccata simulate --help 2>/dev/null | sed -n '/^Simulations:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    COMPREPLY=($(compgen -W "$words --help" -- "$cur"))
  elif [[ $cur == -* ]]; then
    words=$("${help[@]}" --help 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u)
    COMPREPLY=($(compgen -W "$words --help" -- "$cur"))
  elif [[ $option == -* ]] && words=$("${help[@]}" --help 2>/dev/null | )sh" CHOICES_OF
                              R"sh() && [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ $option == -m || $option == --model || ${COMP_WORDS[1]} == inspect ]]; then
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -X '!*.gguf' -- "$cur") $(compgen -d -S / -- "$cur"))
    compopt -o nospace -o filenames 2>/dev/null
  else
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$cur"))
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _toccata toccata
)sh";

constexpr const char* kZsh = R"sh(#compdef toccata
# zsh completion for toccata; load with: source <(toccata completion zsh)
_toccata() {
  local -a list
  local option=$words[CURRENT-1]
  local -a help=(toccata $words[2])
  [[ $words[2,3] == (simulate\ [a-z]*|bench\ serve|bench\ ablate) ]] && help+=($words[3])
  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
    list=(${(f)"$(toccata --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
    _describe command list
    (( CURRENT == 2 )) && compadd -- --help --version
  elif [[ $words[2] == completion ]]; then
    compadd bash zsh fish
  elif [[ $words[2] == simulate ]] && (( CURRENT == 3 )); then
    list=(${(f)"$(toccata simulate --help 2>/dev/null | sed -n '/^Simulations:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
    _describe simulation list
  elif [[ $PREFIX == -* ]]; then
    list=(${(f)"$($help --help 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u)"})
    compadd -- $list --help
  elif [[ $option == -* ]] && list=(${(f)"$($help --help 2>/dev/null | )sh" CHOICES_OF
                             R"sh()"}) && (( $#list )); then
    compadd -- $list
  elif [[ $option == (-m|--model) || $words[2] == inspect ]]; then
    _files -g '*.gguf'
  else
    _files
  fi
}
compdef _toccata toccata
)sh";

constexpr const char* kFish = R"sh(# fish completion for toccata; load with: toccata completion fish | source
function __toccata_commands
  toccata --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end
function __toccata_help
  set -l words (commandline -opc)
  switch "$words[2..3]"
    case 'simulate *' 'bench serve' 'bench ablate'
      toccata $words[2..3] --help 2>/dev/null
    case '*'
      toccata $words[2] --help 2>/dev/null
  end
end
function __toccata_simulations
  toccata simulate --help 2>/dev/null | sed -n '/^Simulations:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end
function __toccata_options
  set -l words (commandline -opc)
  test (count $words) -gt 1; and __toccata_help | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u
  echo --help
end
function __toccata_choices
  set -l words (commandline -opc)
  test (count $words) -gt 2; or return
  set -l option $words[-1]
  string match -q -- '-*' $option; and __toccata_help | )sh" CHOICES_OF R"sh(
end
complete -c toccata -n __fish_use_subcommand -f -a '(__toccata_commands) --help --version'
complete -c toccata -n '__fish_seen_subcommand_from help' -f -a '(__toccata_commands)'
complete -c toccata -n 'not __fish_use_subcommand; and count (__toccata_choices) >/dev/null' -f -a '(__toccata_choices)'
complete -c toccata -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__toccata_options)'
complete -c toccata -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'
complete -c toccata -n '__fish_seen_subcommand_from simulate; and test (count (commandline -opc)) -eq 2' -f -a '(__toccata_simulations)'
)sh";

constexpr const char* kUsage =
    "Prints a completion script for a shell.\n"
    "Usage: toccata completion bash|zsh|fish\n"
    "\n"
    "  bash: source <(toccata completion bash)     in ~/.bashrc\n"
    "  zsh:  source <(toccata completion zsh)      in ~/.zshrc, after compinit\n"
    "  fish: toccata completion fish | source      in ~/.config/fish/config.fish\n";

const char* script_for(const char* shell) {
  if (std::strcmp(shell, "bash") == 0) return kBash;
  if (std::strcmp(shell, "zsh") == 0) return kZsh;
  if (std::strcmp(shell, "fish") == 0) return kFish;
  return nullptr;
}

}  // namespace

int completion_main(int argc, char** argv) {
  if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const char* script = argc == 2 ? script_for(argv[1]) : nullptr;
  if (script == nullptr) {
    std::fputs("toccata completion: name one shell, bash, zsh or fish\n", stderr);
    return 2;
  }
  std::fputs(script, stdout);
  return 0;
}

}  // namespace toccata::cli
