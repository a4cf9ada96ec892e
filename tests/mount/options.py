"""What the help says about the program's options."""
import re

from harness import TABLEFUSE, run


def of_mount():
    """{name: (the word for its value or None, its default or None)}"""
    lines = run(TABLEFUSE, "help", "mount").stdout.split("The options of -o", 1)[1].split("\n\n")[0].splitlines()[1:]
    found = {}
    for line in lines:
        name, value, initial = re.fullmatch(r"  (\w+)(?:=([A-Z]+))? +.*?(?: \((\w+)\))?", line).groups()
        found[name] = (value, initial)
    return found
