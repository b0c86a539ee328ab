#!/usr/bin/env python3
# Plays one of the moves that go farthest towards the opponent.
import json
import random
import sys

for line in sys.stdin:
    request = json.loads(line)
    forward = max if request["color"] == "white" else min
    best = forward(move[3] for move in request["legal"])
    print(random.choice([move for move in request["legal"] if move[3] == best]), flush=True)
