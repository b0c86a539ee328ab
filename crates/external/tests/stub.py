#!/usr/bin/env python3
"""A UCI engine for tests that fails as it is told.

    stub.py [FAULT...] [-- ENGINE [ARGUMENT...]]

With an engine it passes the lines on, so that it plays whole games; without one it knows only 1. e4 and 1... e5. Searches
are counted from 1 in each process.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time

FAULTS = ["hang", "die", "illegal", "no-move", "late", "flood", "garbage"]


def arguments():
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for fault in FAULTS:
        parser.add_argument(f"--{fault}-at", type=int, action="append", default=[], metavar="SEARCH")
    parser.add_argument("--slow", type=float, default=0, metavar="SECONDS", help="every move comes this late")
    parser.add_argument("--flood", action="store_true", help="every search writes too much output")
    parser.add_argument("--flood-ponder", type=float, metavar="SECONDS", help="so does pondering, with this pause between lines")
    parser.add_argument("--garbage", action="store_true", help="every search writes random bytes")
    parser.add_argument("--never-uciok", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="PERMILLE", help="searches and starts that fail at random")
    parser.add_argument("--log", metavar="FILE", help="append the lines that it reads")
    options = parser.parse_args(given[:at])
    options.engine = given[at + 1 :]
    return options


def say(*lines):
    for line in lines:
        print(line, flush=True)


def hang():
    while True:
        time.sleep(60)


def flood(pause=0):
    try:
        while True:
            print("info string flood", flush=pause > 0)
            time.sleep(pause) if pause else None
    except BrokenPipeError:
        hang()


def fail(fault, late):
    """Fails as told; returns if the search goes on."""
    if fault == "hang":
        hang()
    elif fault == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "illegal":
        say("bestmove e1e8")
    elif fault == "no-move":
        say("bestmove (none)")
    elif fault == "late":
        time.sleep(late)
        say("bestmove a1a1")
    elif fault == "flood":
        flood()
    elif fault == "garbage":
        sys.stdout.buffer.write(os.urandom(300_000))
        sys.stdout.buffer.flush()
        hang()


class Engine:
    """The engine whose lines are passed on."""

    def __init__(self, command, slow):
        self.slow = slow
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        threading.Thread(target=self.forward, daemon=True).start()

    def forward(self):
        for line in self.process.stdout:
            if self.slow and line.startswith("bestmove"):
                time.sleep(self.slow)
            say(line.rstrip("\n"))

    def read(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()


class Opening:
    """Plays 1. e4 and 1... e5."""

    def __init__(self, slow):
        self.slow = slow
        self.is_black = False
        self.ponders = False

    def read(self, line):
        words = line.split() or [""]
        if words[0] == "uci":
            say(
                "id name Stub",
                "option name Hash type spin default 1 min 1 max 64",
                "option name Ponder type check default false",
                "option name UCI_Chess960 type check default false",
                "uciok",
            )
        elif words[0] == "isready":
            say("readyok")
        elif words[0] == "position":
            self.is_black = len(words) > 3 and words[3] == "b" or "moves" in words
        elif words[0] == "go" and "ponder" in words:
            self.ponders = True
        elif words[0] == "go" or words[0] in ("stop", "ponderhit") and self.ponders:
            self.ponders = False
            time.sleep(self.slow)
            move, reply = ("e7e5", "g1f3") if self.is_black else ("e2e4", "e7e5")
            say(f"info depth 3 score cp 20 pv {move} {reply}", f"bestmove {move} ponder {reply}")


def main():
    options = arguments()
    engine = Engine(options.engine, options.slow) if options.engine else Opening(options.slow)
    unlucky = lambda: random.randrange(1000) < options.random
    searches = 0
    for line in sys.stdin:
        if options.log:
            with open(options.log, "a") as log:
                log.write(line)
        if line.startswith("quit"):
            break
        if line.strip() == "uci" and (options.never_uciok or unlucky()):
            hang()
        if line.startswith("go"):
            searches += 1
            faults = [fault for fault in FAULTS if searches in getattr(options, fault.replace("-", "_") + "_at")]
            if options.flood_ponder is not None and "ponder" in line:
                flood(options.flood_ponder)
            if options.flood:
                faults.append("flood")
            if options.garbage:
                faults.append("garbage")
            if unlucky():
                faults.append(random.choice(FAULTS))
            if faults:
                fail(faults[0], late=3)
                continue
        engine.read(line)


main()
