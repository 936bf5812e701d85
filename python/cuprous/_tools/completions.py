"""`cuprous completions`: scripts with which shells complete commands and options, written from the help of each."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cuprous import cli

SHELLS = {
    "bash": 'eval "$(cuprous completions bash)" in ~/.bashrc',
    "zsh": 'cuprous completions zsh > "${fpath[1]}/_cuprous"',
    "fish": "cuprous completions fish > ~/.config/fish/completions/cuprous.fish",
}
#: Commands that take files beside options.
_FILES = ("doctor", "kernels", "profile", "run")


@dataclass
class Option:
    """An option of a command."""

    names: list[str]
    summary: str
    takes_value: bool
    choices: list[str] = field(default_factory=list)


@dataclass
class Command:
    """A command and what it takes."""

    name: str
    summary: str
    options: list[Option]


def main(argv: Sequence[str]) -> int:
    """Prints the script for a shell."""
    uses = "\n".join(f"  {shell:<5} {use}" for shell, use in SHELLS.items())
    parser = argparse.ArgumentParser(
        prog="cuprous completions", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Prints a script with which a shell completes\ncommands and options.", epilog=f"To use it:\n{uses}",
    )  # fmt: skip
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    try:
        shell = parser.parse_args(list(argv)).shell
    except SystemExit as stop:
        return int(stop.code or 0)
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](list(commands())), end="")
    return 0


def commands() -> Iterator[Command]:
    """Returns the commands with their options."""
    listed = re.findall(r"^  (\w+) {2,}(.*)$", _printed(cli.main, ["--help"]), re.MULTILINE)
    found = {name: summary for name, summary in listed if name != "help"}
    for name in sorted({*found, *cli.MODULES}):
        text = _printed(cli.main, [name, "--help"])
        yield Command(name, found.get(name) or _first_sentence(text), list(options(text)))


def _printed(function: Callable[[Sequence[str]], object], argv: Sequence[str]) -> str:
    """Returns what a function prints, in Python or in the extension."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        text = io.StringIO()
        try:
            with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
                function(argv)
        finally:
            os.dup2(before, 1)
            os.close(before)
        file.seek(0)
        return file.read().decode() + text.getvalue()


def _first_sentence(text: str) -> str:
    """Returns the description in the help of a command."""
    described = re.search(r"^usage: .*?\n\n(.+?)(?:\n\n|\Z)", text, re.DOTALL)
    return " ".join(described[1].split()).partition(". ")[0].rstrip(".") if described else ""


def options(text: str) -> Iterator[Option]:
    """Returns the options in the text of `--help`, of clap's or argparse's format."""
    entries = re.findall(r"^ {2,6}(-{1,2}\w.*(?:\n {8,}.*|\n(?=\n {8,}))*)", text, re.MULTILINE)
    for entry in entries:
        signature, _, summary = re.sub(r"\n\s*", "  ", entry).partition("  ")
        names = re.findall(r"(?<![\w-])--?\w[\w-]*", signature)
        summary = " ".join(summary.split())
        listed = re.search(r"\{([\w.,-]+)\}", signature) or re.search(r"possible values: ([\w., -]+)", summary)
        choices = re.split(r",\s*", listed[1]) if listed else []
        value = re.search(r"<|\{|[A-Z]{2,}|(?<=\s)[A-Z](?=$|[,\s])", signature) is not None
        short = re.sub(r"\s*\[(?:default|possible values)[^]]*\]", "", summary).split(". ")[0].rstrip(".")
        yield Option(list(dict.fromkeys(names)), short, value, choices)


def _bash(found: Sequence[Command]) -> str:
    options = "\n".join(
        f'    {c.name}) options="{" ".join(name for o in c.options for name in o.names)}" ;;'
        for c in found
        if c.name != "completions"
    )
    values = "\n".join(
        f'    "{c.name} {name}") choices="{" ".join(o.choices)}" ;;'
        for c in found for o in c.options if o.choices for name in o.names
    )  # fmt: skip
    taking = " | ".join(f'"{c.name} {n}"' for c in found for o in c.options if o.takes_value and not o.choices
                        for n in o.names)  # fmt: skip
    return f"""\
_cuprous() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
  local options="" choices=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(c.name for c in found)} --help --version" -- "$current"))
    return
  fi
  case "$command $before" in
{values or "    '') ;;"}
    {taking}) return ;;
  esac
  if [ -n "$choices" ]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
    return
  fi
  case "$command" in
    completions) options="{" ".join(SHELLS)}" ;;
{options}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) [ "$command" = completions ] && COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
  esac
}}
complete -o default -F _cuprous cuprous
"""


def _quoted(text: str) -> str:
    """Returns a text in single quotes, as bash and zsh read it."""
    return "'" + text.replace("'", "'\\''") + "'"


def _zsh(found: Sequence[Command]) -> str:
    names = "\n".join(f"    {_quoted(f'{c.name}:{c.summary}')}" for c in found)
    cases = []
    for c in found:
        specs = []
        for o in c.options:
            value = f":value:({' '.join(o.choices)})" if o.choices else ":value:_files" if o.takes_value else ""
            specs += [_quoted(f"{name}[{o.summary.replace(': ', ', ').translate(_ZSH)}]{value}") for name in o.names]
        if c.name == "completions":
            specs.append(f"'1:shell:({' '.join(SHELLS)})'")
        elif c.name in _FILES:
            specs.append("'*:file:_files'")
        lines = " \\\n        ".join(specs)
        cases.append(f"      {c.name}) _arguments \\\n        {lines} ;;")
    joined = "\n".join(cases)
    return f"""\
#compdef cuprous
_cuprous() {{
  local -a commands=(
{names}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
  else
    local command="${{words[2]}}"
    shift words
    (( CURRENT-- ))
    case "$command" in
{joined}
    esac
  fi
}}
if [ "$funcstack[1]" = _cuprous ]; then
  _cuprous "$@"
else
  compdef _cuprous cuprous
fi
"""


#: Characters that have a meaning in zsh's descriptions of options.
_ZSH = str.maketrans({"[": "(", "]": ")", ":": " "})


def _fish(found: Sequence[Command]) -> str:
    lines = ["complete -c cuprous -f"]
    for c in found:
        start = f"complete -c cuprous -n __fish_use_subcommand -a {c.name}"
        lines.append(f"{start} -d {_fish_quoted(c.summary)}")
        used = f"complete -c cuprous -n '__fish_seen_subcommand_from {c.name}'"
        if c.name == "completions":
            lines.append(f"{used} -a '{' '.join(SHELLS)}'")
        elif c.name in _FILES:
            lines.append(f"{used} -F")
        for o in c.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in o.names)
            value = f" -x -a '{' '.join(o.choices)}'" if o.choices else " -r" if o.takes_value else ""
            lines.append(f"{used} {names}{value} -d {_fish_quoted(o.summary)}")
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
