"""The one line of a command that fails: `tablefuse: CAUSE -- STEP`, or `CAUSE: do this`."""
import re

IN_THE_CAUSE = re.compile(r": (unset|remove|put|append|write|leave)\b|\bleave out\b|\bSOURCE stands before DIR$")


def cause(text):
    """What is wrong, without the program's name and the next step. There must be one."""
    (line,) = text.splitlines()
    said, _, step = line.removeprefix("tablefuse: ").partition(" -- ")
    assert line.startswith("tablefuse: ") and (step or IN_THE_CAUSE.search(said)), line
    return said
