"""Reads Polyglot books of variants with python-chess: every move of the games on stdin must be in DIRECTORY/VARIANT.bin.

A game is a line with the key of its variant and its moves by UCI. Drops of pawns have no form in these books.
"""

import sys

import chess
import chess.polyglot
import chess.variant


def main():
    directory = sys.argv[1]
    positions = 0
    for line in sys.stdin:
        variant, *moves = line.split()
        board = chess.variant.find_variant(variant)()
        with chess.polyglot.open_reader(f"{directory}/{variant}.bin") as book:
            for text in moves:
                move = chess.Move.from_uci(text)
                if move.drop != chess.PAWN:
                    found = [entry.move for entry in book.find_all(board)]
                    assert move in found, f"{variant}: {text} is not among {found} in {board.fen()}"
                    positions += 1
                board.push(move)
    print(positions)


main()
