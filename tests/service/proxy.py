#!/usr/bin/python3
"""A strict proxy before Azurite. It refuses what the service refuses and Azurite takes, answers in the service's ways, and
causes faults. It needs no key: a signature covers nothing that it changes."""
import argparse
import asyncio
import collections
import copy
import email.utils
import functools
import json
import os
import random
import socket
import struct
import sys
import textwrap
import time
import traceback

import answers
import faults
import journal
import limits
import operation as operations
import pages
import rules
import settings
import wire

CONTROL = "/__ctl"
SKEW_SEC = 15 * 60


class Ended(Exception):
    """The connection ends instead of an answer: `how` is reset, close or silence."""

    def __init__(self, how):
        super().__init__(how)
        self.how = how


@functools.lru_cache(64)
def seconds_of(date):
    parsed = email.utils.parsedate_tz(date)
    return parsed and email.utils.mktime_tz(parsed)


class Proxy:
    """Runs in one event loop. `begin`: the settings at the start and after a reset."""

    def __init__(self, service, begin=()):
        self.service, self.begin = service, [change for change in begin if change[0] != "reset"]
        self.reset()

    def reset(self):
        self.settings = settings.defaults()
        self.counters = collections.Counter()
        self.refused, self.noted, self.expected = collections.Counter(), collections.Counter(), []
        self.messages, self.lost, self.failed = {}, None, None  # messages: of the first refusal by a rule
        self.random = random.Random(0)
        self.faults = faults.Faults(self.random)
        self.pager = pages.Pager(self.settings, self.random, self.service.send, self.note)
        self.partitions, self.account = limits.Rate(time.monotonic), limits.Rate(time.monotonic)
        self.dropped = limits.Dropped()
        self.journal = journal.Journal()
        self.away_until = 0
        self.apply(self.begin)

    # control

    def apply(self, changes):
        for key, value in changes:
            if key == "reset":
                self.reset()
            elif key == "plan":
                self.faults.planned.append(copy.copy(value))  # it counts down
            elif key == "expect":
                self.expected.append(value)
            elif key in self.settings:
                self.settings[key] = value
                if key == "seed":
                    self.random.seed(value)
                elif key == "away":
                    self.away_until = time.monotonic() + value

    def problems(self):
        """Why the test that used the proxy fails."""
        found = [f"refused by the rule {rule}: {text}" for rule, text in self.messages.items() if rule not in self.expected]
        found += [f"announced, and not refused: {rule}" for rule in dict.fromkeys(self.expected) if not self.refused[rule]]
        found += [f"planned, and never happened: {left}" for left in self.faults.left()]
        found += [f"the service behind the proxy was lost: {self.lost}"] if self.lost else []
        return found + ([f"the proxy itself failed: {self.failed}"] if self.failed else [])

    def report(self):
        return {
            "settings": self.settings,
            "requests": self.counters,
            "refused": self.refused,
            "noted": self.noted,
            "expected": self.expected,
            "planned": self.faults.left(),
            "happened": self.faults.happened,
            "problems": self.problems(),
        }

    def control(self, request):
        try:
            changes = settings.parse(request.target.partition("?")[2])
        except ValueError as error:
            return wire.Answer(400, {"content-type": "text/plain"}, f"{error}\n".encode())
        self.apply(changes)
        report = self.report()
        for table in (value for key, value in changes if key == "journal"):
            report["journal"] = self.journal.report(table)
        text = json.dumps(report, indent=1)
        if any(key == "end" for key, _ in changes):
            self.reset()
        return wire.Answer(200, {"content-type": "application/json"}, text.encode())

    # a request

    def now(self):
        return time.time() + self.settings["clock"]

    def date(self):
        return email.utils.formatdate(self.now(), usegmt=True)

    def note(self, rule):
        self.noted[rule] += 1

    def error(self, status, code, text):
        retry_after = self.settings["retry_after"] if status in (429, 503) else 0
        return answers.error(status, code, text, self.date(), retry_after)

    def refuse(self, broken, operation):
        """The answer to a request that breaks a rule; None: the rule only counts."""
        if not rules.RULES[broken.rule].refuses:
            self.note(broken.rule)
            return None
        self.refused[broken.rule] += 1
        request = operation.request
        self.messages.setdefault(broken.rule, f"{request.method} {request.target[:300]}: {broken.message}")
        if broken.index is not None:
            return answers.batch_error(broken.status, broken.code, broken.message, self.date(), broken.index)
        return self.error(broken.status, broken.code, broken.message)

    def is_skewed(self, request):
        """Is the signed date, or the life of the SAS, wrong by the service's clock? Azurite checks a SAS of its own time."""
        if request.headers.get("authorization", "").startswith("SharedKey"):
            dated = seconds_of(request.headers.get("x-ms-date", ""))
            return dated is not None and abs(dated - self.now()) > SKEW_SEC
        if not self.settings["clock"] or request.option("sig") is None:
            return False
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now()))
        return not (request.option("st") or "") <= now <= (request.option("se") or "A")

    def skew_answer(self, operation):
        text = "Server failed to authenticate the request: its date is not within 15 minutes of the server's clock, or its SAS "
        text += "is not valid now."
        broken = rules.Broken("date", 403, "AuthenticationFailed", text)
        if self.settings["strict"] and not self.settings["clock"]:
            return self.refuse(broken, operation)
        self.counters["skewed"] += 1
        return self.error(broken.status, broken.code, broken.message)

    def busy_answer(self, operation):
        units = max(1, len(operation.writes))
        for name, rate, key, count in (
            ("account_rate", self.account, None, 1),
            ("partition_rate", self.partitions, operation.partition, units),
        ):
            limit = self.settings[name]
            if limit is not None and (key or rate is self.account) and not rate.take(key, count, limit):
                self.counters["busy"] += 1
                return self.error(503, "ServerBusy", "Operations per second is over the account limit.")
        return None

    def deleting_answer(self, operation):
        name = dict(operation.members or ()).get("TableName") if operation.name == "create" else None
        if not isinstance(name, str) or not self.dropped.refuses(name):
            return None
        self.counters["being_deleted"] += 1
        return self.error(409, "TableBeingDeleted", "The specified table is being deleted. Try operation later.")

    def own_answer(self, operation):
        """The answer that the service would give and Azurite would not, or None."""
        if self.is_skewed(operation.request):
            return self.skew_answer(operation)
        if answer := self.busy_answer(operation):
            return answer
        broken = rules.check(operation) if self.settings["strict"] else None
        return broken and self.refuse(broken, operation) or self.deleting_answer(operation)

    async def page(self, operation):
        try:
            return await self.pager.page(operation)
        except pages.BadToken as error:
            if error.args[0] is None:
                self.note("bad_token")
                return self.error(400, "InvalidInput", "The continuation token is not valid.")
            broken = rules.Broken(error.args[0], 400, "InvalidInput", "The query is not the one that the token belongs to.")
            return self.refuse(broken, operation)

    async def serve(self, operation, entry):
        """The answer, before any fault."""
        if answer := self.own_answer(operation):
            entry.answer(answer)
            return answer
        try:
            if operation.name in ("query", "tables"):
                return self.dated(await self.page(operation))
            entry.forward()
            answer = await self.service.send(operation.request)
            entry.answer(answer)
        except wire.Lost as error:
            self.lost = str(error)
            print(f"proxy: the service behind is lost: {error}", file=sys.stderr, flush=True)
            return self.error(502, "BadGateway", f"The service behind the proxy is lost: {error}")
        if operation.name == "drop" and answer.status == 204:
            self.dropped.drop(operation.table, self.settings["being_deleted"])
        return self.dated(answer)

    def dated(self, answer):
        return answer.changed(answer.body, {"date": self.date()}) if self.settings["clock"] else answer

    def fault_answer(self, name, operation):
        """Instead of the answer. Raises Ended for those that have none."""
        kind = faults.KINDS[name]
        if kind.is_inner:
            code = faults.CODES[kind.status]
            return answers.batch_error(kind.status, code, "A planned fault.", self.date())
        if kind.status == 401:
            return self.error(401, "InvalidAuthenticationInfo", "Server failed to authenticate the request.")
        if kind.status:
            return self.error(kind.status, faults.CODES[kind.status], "A planned fault.")
        raise Ended({"stale": "close"}.get(name, name.removesuffix("_after")))

    async def answer(self, request, is_reused, client_is_gone):
        """(answer, name of the fault or None)"""
        operation = operations.operation_of(request)
        entry = self.journal.arrive(operation, client_is_gone)
        self.counters["all"] += 1
        self.counters[operation.name] += 1
        if time.monotonic() < self.away_until:
            self.counters["away"] += 1
            entry.fault = "away"
            raise Ended("reset")
        name = self.faults.choose(operation, is_reused, self.settings["fault_rate"], self.settings["fault_kinds"])
        entry.fault = name
        if name is None:
            return await self.serve(operation, entry), None
        if faults.KINDS[name].is_after:
            answer = await self.serve(operation, entry)
            if name in ("cut", "wrong_length"):
                return answer, name
        return self.fault_answer(name, operation), name

    # a connection

    async def connection(self, reader, writer):
        try:
            await self.requests(reader, writer)
        except Ended as end:
            if end.how == "silence":
                await reader.read()  # until the client gives up
            if end.how != "close":
                reset(writer)
        except wire.Malformed as error:
            writer.write(self.error(400, "InvalidInput", f"This is not HTTP: {error}").to_bytes())
        except OSError:
            pass  # the client has gone
        except Exception as error:  # a client would only try again
            self.failed = repr(error)
            traceback.print_exc()
        finally:
            writer.close()

    async def requests(self, reader, writer):
        def client_is_gone():
            return reader.at_eof() or writer.is_closing()

        is_reused = False
        while request := await wire.read_request(reader):
            if request.target.partition("?")[0] == CONTROL:
                writer.write(self.control(request).to_bytes())
                continue
            answer, fault = await self.answer(request, is_reused, client_is_gone)
            if fault == "cut":
                writer.write(answer.head(len(answer.body)) + answer.body[: len(answer.body) // 2])
                return
            if fault == "wrong_length":
                writer.write(answer.head(len(answer.body) // 2) + answer.body)
                return
            writer.write(answer.to_bytes())
            await writer.drain()
            is_reused = True
            if request.is_last or answer.is_last or "transfer-encoding" in request.headers:
                return


def reset(writer):
    """The client gets ECONNRESET."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


def described(title, rows):
    """A title, and a name and its text a line."""
    lines = [title]
    for name, text in rows:
        wrapped = textwrap.wrap(text, 94)
        lines.append(f"  {name:<16}  {wrapped[0]}" if len(name) <= 16 else f"  {name}\n{'':20}{wrapped[0]}")
        lines += [f"{'':20}{line}" for line in wrapped[1:]]
    return "\n".join([*lines, ""])


def help_text():
    """Of all tables."""
    rule_rows = [(k, f"{r.summary} ({r.source}{'' if r.refuses else ', noted'})") for k, r in rules.RULES.items()]
    return "\n".join(
        [
            textwrap.fill(
                f"GET {CONTROL}?KEY=VALUE&... changes settings and answers JSON: settings, requests by operation (all: their "
                "sum; skewed, busy, being_deleted, away: with such an answer), refused and noted by rule, faults that are "
                "planned and that have happened by kind, and `problems`: refusals that were not announced, announced ones that did not "
                "come, planned faults that never happened, a lost service. A test fails if there are any. An unknown key, "
                "rule or fault answers 400 with its name.",
                114,
            ),
            "",
            described("Settings (KEY=VALUE):", [(f"{k}={s.form}", s.summary) for k, s in settings.SETTINGS.items()]),
            described("Actions (KEY=VALUE):", list(settings.ACTIONS.items())),
            "OPERATION: " + " ".join(operations.OPERATIONS) + "; write: any that is no batch; any",
            "",
            described("KIND of fault:", [(name, kind.summary) for name, kind in faults.KINDS.items()]),
            described("RULE (T: table_rest.md, A: azurite.md, with the section; noted: only counted):", rule_rows),
        ]
    )


def parsed_arguments():
    parser = argparse.ArgumentParser(prog="proxy.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    if {"-h", "--help"} & set(sys.argv):  # else it would take a quarter of the start
        parser.epilog = help_text()
    parser.add_argument("service", metavar="HOST:PORT", help="of the Azurite behind the proxy")
    parser.add_argument("--port", type=int, default=0, help="to listen on; 0: any; the first line on stdout has it")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="a setting to start with")
    return parser, parser.parse_args()


async def run(proxy, port):
    try:
        server = await asyncio.start_server(proxy.connection, "127.0.0.1", port, limit=wire.HEAD_BYTES, backlog=256)
    except OSError as error:
        sys.exit(f"proxy: port {port}: {os.strerror(error.errno)}")
    print(f"listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def main():
    parser, arguments = parsed_arguments()
    host, colon, port = arguments.service.rpartition(":")
    if not colon or not port.isdigit():
        parser.error(f"not HOST:PORT: {arguments.service}")
    try:
        begin = [change for text in arguments.set for change in settings.parse(text)]
    except ValueError as error:
        parser.error(str(error))
    try:
        asyncio.run(run(Proxy(wire.Service(host, int(port)), begin), arguments.port))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
