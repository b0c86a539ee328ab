"""Drives the simulator with berserk, the Python client of Lichess's own organization.

Run by tests/it/sim/berserk.rs as: drive.py BASE_URL
The site has the bots Whitey and Blacky and the humans Anna and Bobby. Every step asserts what a program that
uses berserk relies on; the first that fails ends the run with a traceback.
"""

import queue
import sys
import threading
import time

import berserk

BASE = sys.argv[1]
SOON = 20.0


def token(name):
    return "lip_" + name.lower()


def client(name):
    return berserk.Client(berserk.TokenSession(token(name)), base_url=BASE)


whitey, blacky, anna, bobby = map(client, ("Whitey", "Blacky", "Anna", "Bobby"))


class Reader:
    """Reads a stream in a thread; `next` fails when nothing comes in time, `ended` tells that it is over."""

    END = object()

    def __init__(self, stream):
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self.thread.start()

    def _read(self, stream):
        for line in stream:
            self.lines.put(line)
        self.lines.put(self.END)

    def next(self, kind=None):
        while True:
            line = self.lines.get(timeout=SOON)
            assert line is not self.END, "the stream ended"
            if kind is None or line["type"] == kind:
                return line

    def ended(self):
        while True:
            if self.lines.get(timeout=SOON) is self.END:
                return True


def online(name):
    """Waits until the site has the user's event stream."""
    deadline = time.monotonic() + SOON
    while not bobby.users.get_realtime_statuses(name)[0].get("online"):
        assert time.monotonic() < deadline, f"{name} is not online"


def refused(call, status, text=None):
    try:
        call()
    except berserk.exceptions.ResponseError as error:
        assert error.status_code == status, (error.status_code, error.cause)
        if text is not None:
            assert error.cause["error"] == text, error.cause
        return error.cause
    raise AssertionError(f"not refused with {status}")


def accounts():
    me = whitey.account.get()
    assert (me["id"], me["username"], me["title"]) == ("whitey", "Whitey", "BOT")
    assert me["perfs"]["blitz"]["rating"] == 1500
    assert "title" not in anna.account.get()
    tested = whitey.oauth.test_tokens(token("Whitey"), "lip_nobody")
    assert tested[token("Whitey")]["userId"] == "whitey"
    assert "bot:play" in tested[token("Whitey")]["scopes"]
    assert tested["lip_nobody"] is None
    assert whitey.users.get_public_data("ANNA")["username"] == "Anna"
    refused(lambda: whitey.users.get_public_data("nobody"), 404)
    both = whitey.users.get_by_id("anna", "bobby", "nobody")
    assert sorted(user["id"] for user in both) == ["anna", "bobby"]
    refused(client("Nobody").account.get, 401, "No such token")
    assert isinstance(anna.account.get_preferences()["prefs"], dict)
    assert "@" in anna.account.get_email()


def challenge_and_game():
    events = Reader(blacky.bots.stream_incoming_events())
    hers = Reader(anna.board.stream_incoming_events())
    # berserk posts JSON and leaves what is not given as null.
    made = anna.challenges.create(
        "Blacky", rated=True, clock_limit=300, clock_increment=3, color="white"
    )
    assert made["direction"] == "out" and made["finalColor"] == "white"
    incoming = events.next("challenge")["challenge"]
    game = incoming["id"]
    assert game == made["id"] and incoming["challenger"]["name"] == "Anna"
    assert incoming["timeControl"] == {
        "type": "clock",
        "limit": 300,
        "increment": 3,
        "show": "5+3",
    }
    assert [c["id"] for c in blacky.challenges.get_mine()["in"]] == [game]
    statuses = whitey.users.get_realtime_statuses("blacky", "bobby")
    assert statuses[0]["online"] is True and "online" not in statuses[1]
    blacky.bots.accept_challenge(game)
    start = events.next("gameStart")["game"]
    assert start["gameId"] == game and start["color"] == "black" and not start["isMyTurn"]
    assert hers.next("gameStart")["game"]["opponent"]["username"] == "BOT Blacky"

    bot = Reader(blacky.bots.stream_game_state(game))
    board = Reader(anna.board.stream_game_state(game))
    full = bot.next()
    assert full["type"] == "gameFull" and full["state"]["moves"] == ""
    assert board.next()["black"]["title"] == "BOT"
    ongoing = blacky.games.get_ongoing()
    assert [g["gameId"] for g in ongoing] == [game]

    moves = ["e2e4", "e7e5", "g1f3", "b8c6"]
    for ply, uci in enumerate(moves):
        if ply % 2 == 0:
            anna.board.make_move(game, uci)
        else:
            blacky.bots.make_move(game, uci)
        state = bot.next("gameState")
        assert state["moves"] == " ".join(moves[: ply + 1])
        assert board.next("gameState")["moves"] == state["moves"]
        assert state["wtime"].total_seconds() <= 309.0
    refused(
        lambda: blacky.bots.make_move(game, "e2e4"),
        400,
        "Not your turn, or game already over",
    )
    refused(lambda: anna.board.make_move(game, "f3f4"), 400)

    blacky.bots.post_message(game, "good luck")
    said = board.next("chatLine")
    assert (said["username"], said["text"], said["room"]) == ("Blacky", "good luck", "player")
    anna.board.post_message(game, "you too")
    assert bot.next("chatLine")["text"] == "good luck"
    assert bot.next("chatLine")["text"] == "you too"
    assert [line["user"] for line in anna.board.get_game_chat(game)] == ["Blacky", "Anna"]

    anna.board.offer_draw(game)
    assert bot.next("gameState")["wdraw"] is True
    anna.board.offer_takeback(game)
    refused(lambda: blacky.bots.abort_game(game), 400, "This game can no longer be aborted")
    anna.challenges.add_time_to_opponent_clock(game, 15)
    blacky.bots.resign_game(game)
    last = board.next("gameState")
    while last["status"] == "started":
        last = board.next("gameState")
    assert (last["status"], last["winner"]) == ("resign", "white")
    assert board.ended() and bot.ended()
    finish = events.next("gameFinish")["game"]
    assert finish["id"] == game and finish["winner"] == "white"
    assert blacky.games.get_ongoing() == []

    exported = anna.games.export(game)
    assert exported["players"]["white"]["user"]["name"] == "Anna"
    assert exported["moves"].startswith("e4 e5 Nf3 Nc6")
    pgn = anna.games.export(game, as_pgn=True)
    assert "[Result \"1-0\"]" in pgn and "1. e4" in pgn
    assert anna.users.get_crosstable("anna", "blacky")["nbGames"] >= 1
    theirs = list(anna.games.export_by_player("Blacky", max=5))
    assert game in [g["id"] for g in theirs]


def declines_and_cancels():
    events = Reader(whitey.bots.stream_incoming_events())
    online("whitey")
    made = whitey.challenges.create("Blacky", rated=False, clock_limit=60, clock_increment=0)
    assert events.next("challenge")["challenge"]["id"] == made["id"]
    blacky.bots.decline_challenge(made["id"], reason="tooFast")
    declined = events.next("challengeDeclined")["challenge"]
    assert declined["declineReasonKey"] == "toofast"
    made = whitey.challenges.create("Blacky", rated=False, days=3)
    assert made["timeControl"] == {"type": "correspondence", "daysPerTurn": 3}
    whitey.challenges.cancel(made["id"])
    assert events.next("challengeCanceled")["challenge"]["id"] == made["id"]
    error = refused(
        lambda: whitey.challenges.create("Blacky", False, clock_limit=0, clock_increment=0), 400
    )
    assert isinstance(error["error"], dict)
    refused(
        lambda: whitey.challenges.create("Nobody", False, clock_limit=60, clock_increment=0),
        400,
        "No such user: Nobody",
    )
    refused(lambda: whitey.challenges.accept("aaaaaaaa"), 404, "Not found")


def ai_open_and_clocks():
    game = whitey.challenges.create_ai(level=1, clock_limit=180, clock_increment=2, color="white")
    stream = Reader(whitey.bots.stream_game_state(game["id"]))
    assert stream.next()["black"] == {"aiLevel": 1}
    whitey.bots.make_move(game["id"], "e2e4")
    state = stream.next("gameState")
    while len(state["moves"].split()) < 2:
        state = stream.next("gameState")
    whitey.bots.resign_game(game["id"])
    assert stream.ended()

    opened = anna.challenges.create_open(clock_limit=300, clock_increment=0, name="anyone")
    assert opened["urlWhite"] and opened["urlBlack"]
    anna.challenges.accept(opened["id"])
    bobby.challenges.accept(opened["id"])
    reader = Reader(bobby.board.stream_game_state(opened["id"]))
    assert reader.next()["type"] == "gameFull"
    anna.challenges.start_clocks(opened["id"], token("Anna"), token("Bobby"))
    watched = anna.games.stream_game_moves(opened["id"])
    assert next(iter(watched))["id"] == opened["id"]
    anna.challenges.cancel(opened["id"])
    assert reader.ended()


def tournaments():
    arena = anna.tournaments.create_arena(
        clockTime=1, clockIncrement=0, minutes=20, wait_minutes=5, name="Berserk", rated=False
    )
    identifier = arena["id"]
    assert identifier in [t["id"] for t in anna.tournaments.get()["created"]]
    anna.tournaments.join_arena(identifier)
    refused(lambda: whitey.tournaments.join_arena(identifier), 400)
    shown = anna.tournaments.get_tournament(identifier)
    assert shown["fullName"].startswith("Berserk") and shown["nbPlayers"] == 1
    assert [row["username"] for row in anna.tournaments.stream_results(identifier)] == ["Anna"]
    anna.tournaments.withdraw_arena(identifier)


def bots_online():
    reader = Reader(whitey.bots.stream_incoming_events())
    # It is open once it tells something: another one may be open since an earlier step.
    made = anna.challenges.create("whitey", rated=False, clock_limit=300, clock_increment=3)
    reader.next("challenge")
    anna.challenges.cancel(made["id"])
    deadline = time.monotonic() + SOON
    while "whitey" not in [bot["id"] for bot in anna.bots.get_online_bots(limit=50)]:
        assert time.monotonic() < deadline, "a bot with an event stream is listed"
    # A second stream of the same token ends the first.
    other = Reader(whitey.bots.stream_incoming_events())
    assert reader.ended()
    del other


for step in (
    accounts,
    challenge_and_game,
    declines_and_cancels,
    ai_open_and_clocks,
    tournaments,
    bots_online,
):
    step()
    print("ok", step.__name__, flush=True)
