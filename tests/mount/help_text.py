"""What `tablefuse help` says: the commands, the options of a mount, the exit codes."""
import re

from harness import TABLEFUSE, run

VERBS = "mount unmount drop export import count map diff sync split join tables check version help".split()


def usage():
    """A line for each command."""
    lines = run(TABLEFUSE, "help").stdout.split("\n\n")[0].splitlines()
    return [line.removeprefix("usage:").strip() for line in lines]


def options():
    """{name: (the word for its value or None, its default or None)}"""
    lines = run(TABLEFUSE, "help", "mount").stdout.split("The options of -o", 1)[1].split("\n\n")[0].splitlines()[1:]
    found = {}
    for line in lines:
        name, value, initial = re.fullmatch(r"  (\w+)(?:=([A-Z]+))? +.*?(?: \((\w+)\))?", line).groups()
        found[name] = (value, initial)
    return found


def exit_codes(*verb):
    """{code: what it means} of the verb, or of all"""
    sentence = " ".join(run(TABLEFUSE, "help", *verb).stdout.split("Exit codes: ")[1].split())
    return {int(code): means for code, means in re.findall(r"(\d+) ([^.]*?)(?:, (?=\d)|\.$)", sentence)}
