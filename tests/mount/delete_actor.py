"""A process that deletes, writes and renames entities at random, and checks what it sees. Others work beside it in the
same partitions, with names of their own; one more partition is used by it alone.

argv: a table's directory, the actor's number, a seed, how many turns. It ends with an assertion, or prints its
entities: [[PartitionKey, RowKey, N], ...]."""
import json
import os
import random
import shutil
import subprocess
import sys

SHARED = ("p", "q")
ROWS = 40


class Actor:
    def __init__(self, table, number, seed):
        self.table, self.number = table, number
        self.own = f"own{number}"
        self.random = random.Random(100 * seed + number)
        self.partitions = (*SHARED, self.own)
        self.keys = [(p, f"{number}x{row:02}") for p in self.partitions for row in range(ROWS)]
        self.stored = {}
        self.written = 0
        os.mkdir(f"{table}/{self.own}")

    def path(self, key):
        return f"{self.table}/{key[0]}/{key[1]}.json"

    def some(self, most):
        return self.random.sample(self.keys, self.random.randint(1, most))

    def write(self, key):
        self.written += 1
        with open(self.path(key), "w", encoding="utf-8") as file:
            json.dump({"N": self.written}, file)
        self.stored[key] = self.written

    def write_some(self):
        for key in self.some(12):
            self.write(key)

    def remove_some(self):
        for key in self.some(30):
            try:
                os.unlink(self.path(key))
            except FileNotFoundError:
                assert key not in self.stored, key
            else:
                del self.stored[key]

    def list_one(self):
        """So its next deletes there are queued."""
        partition = self.random.choice(self.partitions)
        listed = {name for name in os.listdir(f"{self.table}/{partition}") if name.startswith(f"{self.number}x")}
        assert listed == {f"{row}.json" for p, row in self.stored if p == partition}, partition

    def read_one(self):
        key = self.random.choice(self.keys)
        try:
            with open(self.path(key), encoding="utf-8") as file:
                assert json.load(file)["N"] == self.stored.get(key), key
        except FileNotFoundError:
            assert key not in self.stored, key

    def rename_one(self):
        before, after = self.random.sample(self.keys, 2)
        try:
            os.rename(self.path(before), self.path(after))
        except FileNotFoundError:
            assert before not in self.stored, before
        else:
            self.stored[after] = self.stored.pop(before)

    def save_one(self):
        """As an editor does: the old version becomes a backup. Or the backup alone is removed, and so the entity."""
        if self.stored:
            key = self.random.choice(sorted(self.stored))
            backup = self.path(key) + ".bak"
            os.rename(self.path(key), backup)
            del self.stored[key]
            if self.random.random() < 0.5:
                self.write(key)
            os.unlink(backup)
            assert os.path.exists(self.path(key)) == (key in self.stored), key

    def remove_own(self):
        own = f"{self.table}/{self.own}"
        if self.random.random() < 0.5:
            shutil.rmtree(own)
        else:
            subprocess.run(["rm", "-r", own], check=True)
        self.stored = {key: n for key, n in self.stored.items() if key[0] != self.own}
        assert not os.path.exists(own)
        os.mkdir(own)
        assert os.listdir(own) == []

    def send(self):
        """Waits until what is queued in a partition is sent."""
        directory = os.open(f"{self.table}/{self.random.choice(self.partitions)}", os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)

    def act(self, turns):
        steps = {
            self.remove_some: 40,
            self.write_some: 30,
            self.rename_one: 10,
            self.read_one: 8,
            self.list_one: 6,
            self.save_one: 3,
            self.remove_own: 2,
            self.send: 1,
        }
        for key in self.keys:
            self.write(key)
        for step in self.random.choices(list(steps), list(steps.values()), k=turns):
            step()


def main():
    table, number, seed, turns = sys.argv[1], *map(int, sys.argv[2:])
    actor = Actor(table, number, seed)
    actor.act(turns)
    print(json.dumps([[*key, n] for key, n in actor.stored.items()]))


if __name__ == "__main__":
    main()
