"""Plays with the engine by UCI and by XBoard's protocol: engine.py PATH. Ends with a traceback if anything is wrong."""

import sys

import chess
import chess.engine

PATH = sys.argv[1]


def play(engine, board, limit, plies):
    """Plays against itself, with a new game at the start."""
    game = object()
    for _ in range(plies):
        result = engine.play(board, limit, game=game)
        assert result.move in board.legal_moves, result
        board.push(result.move)


with chess.engine.SimpleEngine.popen_uci(PATH) as engine:
    assert engine.id["name"].startswith("Knightwatch "), engine.id
    engine.configure({"Hash": 2, "Threads": 2, "UCI_LimitStrength": False, "Clear Hash": None})
    play(engine, chess.Board(), chess.engine.Limit(depth=5), 6)
    play(engine, chess.Board(), chess.engine.Limit(white_clock=1, black_clock=1), 4)
    play(engine, chess.Board.from_chess960_pos(42), chess.engine.Limit(nodes=2000), 6)
    lines = engine.analyse(chess.Board(), chess.engine.Limit(depth=6), multipv=3)
    assert len(lines) == 3 and lines[0]["depth"] == 6, lines
    mate = engine.analyse(chess.Board("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1"), chess.engine.Limit(depth=4))
    assert mate["score"].white() == chess.engine.Mate(1), mate

with chess.engine.SimpleEngine.popen_xboard(PATH) as engine:
    assert engine.id["name"].startswith("Knightwatch "), engine.id
    engine.configure({"UCI_LimitStrength": False, "UCI_Elo": 2000})
    play(engine, chess.Board(), chess.engine.Limit(depth=5), 6)
    play(engine, chess.Board(), chess.engine.Limit(time=0.1), 4)
    clocks = chess.engine.Limit(white_clock=2, black_clock=2, white_inc=0.1, black_inc=0.1, remaining_moves=40)
    play(engine, chess.Board(), clocks, 4)
    play(engine, chess.Board.from_chess960_pos(42), chess.engine.Limit(depth=4), 6)
    with engine.analysis(chess.Board("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")) as analysis:
        for info in analysis:
            if "score" in info:
                assert info["score"].white() == chess.engine.Mate(1), info
                break
    result = engine.play(chess.Board("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1"), chess.engine.Limit(depth=4))
    assert result.move == chess.Move.from_uci("a1a8"), result
