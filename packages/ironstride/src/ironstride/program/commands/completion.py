"""The command `completion`: what a shell sources to complete commands and options, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

PROGRAM: Final = "ironstride"


class Option(NamedTuple):
    """An option, or the values of a positional argument where it has no names."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]
    takes_value: bool


class Command(NamedTuple):
    """A command as a shell sees it."""

    name: str
    help: str
    options: tuple[Option, ...]


def completion(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for a shell.

    >>> from ironstride.program.arguments import parser_of
    >>> "complete -F _ironstride " in completion("bash", parser_of(print))
    True
    """
    return SHELLS[shell](list(commands_of(parser)))


def commands_of(parser: argparse.ArgumentParser) -> Iterator[Command]:
    """Commands and their options; argparse has no public way to list them, but its attributes of actions are old.

    >>> from ironstride.program.arguments import parser_of
    >>> [one.name for one in commands_of(parser_of(print))][:2]
    ['contract', 'plan']
    """
    (group,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    helps = {action.dest: action.help or "" for action in group._choices_actions}
    for name, command in group.choices.items():
        options = [
            Option(
                tuple(action.option_strings),
                " ".join((action.help or "").split()),
                tuple(map(str, action.choices or ())),
                action.nargs != 0,
            )
            for action in command._actions
        ]
        yield Command(name, helps.get(name, ""), tuple(options))


def _bash(commands: list[Command]) -> str:
    lines = [f"_{PROGRAM}() {{", '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"']
    names = " ".join(command.name for command in commands)
    lines += [
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$word")); return',
        "    fi",
        '    case "${COMP_WORDS[1]}" in',
    ]
    for command in commands:
        lines.append(f"    {command.name})")
        chosen = [one for one in command.options if one.names and one.values]
        if chosen:
            lines.append('        case "$before" in')
            for one in chosen:
                words = f'COMPREPLY=($(compgen -W "{" ".join(one.values)}" -- "$word"))'
                lines.append(f"        {'|'.join(one.names)}) {words}; return ;;")
            lines.append("        esac")
        free = [value for one in command.options if not one.names for value in one.values]
        words = " ".join([*free, *(name for one in command.options for name in one.names)])
        condition = "true" if free else '[[ "$word" == -* ]]'
        lines += [f'        {condition} && COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;']
    lines += ["    esac", "}", f"complete -F _{PROGRAM} -o bashdefault -o default {PROGRAM}"]
    return "\n".join(lines) + "\n"


def _zsh(commands: list[Command]) -> str:
    lines = [f"#compdef {PROGRAM}", f"_{PROGRAM}() {{", "    local -a commands=("]
    lines += [f"        {_quoted(f'{command.name}:{command.help}')}" for command in commands]
    lines += [
        "    )",
        "    local -a options=('-h:show help' '--help:show help' '--version:show versions')",
        "    if (( CURRENT == 2 )); then _describe command commands -- options; return; fi",
        "    case $words[2] in",
    ]
    for command in commands:
        lines.append(f"    {command.name}) shift words; (( CURRENT-- )); _arguments \\")
        for one in command.options:
            value = "" if not one.takes_value else f":value:({' '.join(one.values)})" if one.values else ":file:_files"
            text = one.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
            if one.names:
                lines += [f"        {_quoted(f'{name}[{text}]{value}')} \\" for name in one.names]
            else:
                lines.append(f"        {_quoted(f'*{value}')} \\")
        lines[-1] = lines[-1][:-2] + " ;;"
    lines += ["    esac", "}"]
    # In a folder of fpath the file is the function, which completes; sourced, it only says whom it completes.
    lines += [f'if [[ "$funcstack[1]" = "_{PROGRAM}" ]]; then _{PROGRAM} "$@"; else compdef _{PROGRAM} {PROGRAM}; fi']
    return "\n".join(lines) + "\n"


def _fish(commands: list[Command]) -> str:
    lines = [
        f"complete -c {PROGRAM} -n __fish_use_subcommand -s h -l help -d 'show help'",
        f"complete -c {PROGRAM} -n __fish_use_subcommand -l version -d 'show versions'",
    ]
    for command in commands:
        lines.append(f"complete -c {PROGRAM} -f -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}")
        here = f'complete -c {PROGRAM} -n "__fish_seen_subcommand_from {command.name}"'
        for one in command.options:
            flags = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in one.names]
            values = f"-f -a {_quoted(' '.join(one.values))}" if one.values else ""
            if one.names and one.takes_value:
                values = f"-x -a {_quoted(' '.join(one.values))}" if one.values else "-r"
            told = f"-d {_quoted(one.help)}" if one.names else ""
            if flags or values:
                lines.append(" ".join(filter(None, [here, *flags, values, told])))
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Text as one word of any of the shells, an apostrophe being a typographic one."""
    return "'" + text.replace("'", "’") + "'"


SHELLS: Final[dict[str, Callable[[list[Command]], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
