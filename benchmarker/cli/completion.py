"""Print the script that lets a shell complete commands, options and names."""

from __future__ import annotations

import argparse
import sys

_BASH = r"""# benchmarker: eval "$(benchmarker completion bash)"
_benchmarker() {
    local found
    found=$(benchmarker completion bash --line "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    COMPREPLY=()
    if [[ $found == :files ]]; then
        compopt -o default
        return
    fi
    local IFS=$'\n'
    COMPREPLY=($found)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -F _benchmarker benchmarker
"""
_ZSH = r"""#compdef benchmarker
# benchmarker: eval "$(benchmarker completion zsh)", after compinit
_benchmarker() {
    local -a found open closed
    found=("${(@f)$(benchmarker completion zsh --line "$LBUFFER" 2>/dev/null)}")
    if [[ $found[1] == :files ]]; then
        compset -P '*='
        _files
        return
    fi
    open=(${(M)found:#*=})
    closed=(${found:#*=})
    (( $#open )) && compadd -S '' -a open
    (( $#closed )) && compadd -a closed
}
compdef _benchmarker benchmarker
"""
_FISH = r"""# benchmarker: benchmarker completion fish | source
function __benchmarker_complete
    set -l found (benchmarker completion fish --line (commandline -cp | string collect) 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct | string replace -r '^--[^=]*=' '')
    else
        printf '%s\n' $found
    end
end
complete -c benchmarker -f -a '(__benchmarker_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_BREAKS = "=:"
"""Characters after which bash begins a new word."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``completion``."""
    parser.epilog = (
        'bash: eval "$(benchmarker completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, after '
        "compinit; fish: benchmarker completion fish > ~/.config/fish/completions/benchmarker.fish"
    )
    parser.add_argument("shell", choices=SCRIPTS, metavar="SHELL", help=", ".join(SCRIPTS))
    parser.add_argument("--line", help=argparse.SUPPRESS)


def main(arguments: argparse.Namespace) -> int:
    if arguments.line is None:
        print(SCRIPTS[arguments.shell], end="")
        return 0
    from benchmarker.cli.candidates import FILES, candidates

    current, found = candidates(arguments.line)
    # Of a word in which it breaks others off, bash wants what stands after the last break.
    kept = max(map(current.rfind, _BREAKS)) + 1 if arguments.shell == "bash" else 0
    words = [word if word == FILES else word[kept:] for word in found if word.isprintable()]
    sys.stdout.write("".join(f"{word}\n" for word in words))
    return 0
