"""Fits the evaluation's weights to samples of selfplay: logistic regression, by gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from games.engine.bitboard import HANDS, SQUARES, Array
from games.engine.evaluation import NAMES, PHASES, PIECES, ROLE, ROLES, Weights
from games.engine.selfplay import CARDS as CARD_COLUMNS
from games.engine.selfplay import RESULT, SCORE
from games.onitama.cards import CARDS
from games.onitama.position import SIZE

# Hundredths of a student that make a win e times as likely as a loss.
SCALE = 150.0
# How much of the target is the game's result; the rest is what the search thought.
RESULT_SHARE = 0.6
# Pulls a card's own weights to zero, and the common ones to nothing.
DECAY = 0.0005
FASTEST, SLOWEST = 30.0, 1.0
# One game's positions are much alike, so they are held out together, this many in a row.
BLOCK = 50
HELD_OUT = 0.05


@dataclass(frozen=True)
class Terms:
    """Which parts of the evaluation are fitted; the others stay as Weights.plain() has them."""

    squares: bool = True
    own_hand: bool = True
    other_hand: bool = True
    side: bool = True
    balance: bool = True


ALL_TERMS = Terms()
_ROLE = np.array(ROLE)


class Numbers(NamedTuple):
    """Where a weight stands in the vector that is fitted. A card and its mirror share theirs."""

    common: Array
    by_card: Array
    balance: Array
    tempo: int
    length: int


def numbers() -> Numbers:
    common = np.zeros((PIECES, SQUARES), np.int64)
    by_card = np.zeros((ROLES, len(NAMES), PIECES, SQUARES), np.int64)
    balance = np.zeros((ROLES, len(NAMES)), np.int64)
    seen: dict[tuple[object, ...], int] = {}

    def number(*what: object) -> int:
        return seen.setdefault(what, len(seen))

    for piece in range(PIECES):
        for square in range(SQUARES):
            common[piece, square] = number(piece, min(square, _mirrored(square)))
    for card, name in enumerate(NAMES):
        twin = _mirror_of(name)
        for role in range(ROLES):
            balance[role, card] = number("balance", role, min(card, twin))
            for piece in range(PIECES):
                for square in range(SQUARES):
                    mirrored = _mirrored(square)
                    if twin == card:
                        place = min(square, mirrored)
                    else:
                        place = square if card < twin else mirrored
                    by_card[role, card, piece, square] = number(role, min(card, twin), piece, place)
    return Numbers(common, by_card, balance, number("tempo"), len(seen))


def _mirrored(square: int) -> int:
    return square // SIZE * SIZE + SIZE - 1 - square % SIZE


def _mirror_of(name: str) -> int:
    steps = {(-files, ranks) for files, ranks in CARDS[name].moves}
    return next(i for i, other in enumerate(NAMES) if set(CARDS[other].moves) == steps)


@njit(cache=True)
def _parts(sample: Array, found: Array, places: Numbers) -> tuple[int, int]:
    """The numbers of the weights that a sample's value is the sum of, and the students."""
    length, students = 0, 0
    for square in range(SQUARES):
        piece = -1
        if sample[0] >> square & 1:
            piece = 1 if square == sample[2] else 0
        elif sample[1] >> square & 1:
            piece = 3 if square == sample[3] else 2
        if piece < 0:
            continue
        students += piece == 0 or piece == 2
        found[length] = places.common[piece, square]
        length += 1
        for place in range(5):
            card = sample[CARD_COLUMNS + HANDS[sample[4], place]]
            found[length] = places.by_card[_ROLE[place], card, piece, square]
            length += 1
    for place in range(5):
        found[length] = places.balance[_ROLE[place], sample[CARD_COLUMNS + HANDS[sample[4], place]]]
        length += 1
    found[length] = places.tempo
    return length + 1, students


@njit(cache=True)
def _pass_over(
    samples: Array,
    order: Array,
    weights: Array,
    squared: Array,
    fitted: Array,
    pull: Array,
    rate: float,
    places: Numbers,
) -> float:
    """One pass over the samples, which learns unless the rate is 0; the mean square error."""
    found = np.empty(80, np.int64)
    error = 0.0
    for at in order:
        sample = samples[at]
        length, students = _parts(sample, found, places)
        full = students / 8.0
        value = 0.0
        for i in range(length):
            value += weights[0, found[i]] * (1 - full) + weights[1, found[i]] * full
        chance = 1 / (1 + np.exp(-value / SCALE))
        result = (sample[RESULT] + 1) / 2
        error += (chance - result) ** 2
        if rate == 0:
            continue
        thought = 1 / (1 + np.exp(-sample[SCORE] / SCALE))
        wrong = chance - RESULT_SHARE * result - (1 - RESULT_SHARE) * thought
        for i in range(length):
            if not fitted[found[i]]:
                continue
            for phase in range(2):
                gradient = wrong * (full if phase else 1 - full)
                squared[phase, found[i]] += gradient * gradient
                gradient += pull[found[i]] * weights[phase, found[i]]
                weights[phase, found[i]] -= rate * gradient / np.sqrt(squared[phase, found[i]] + 1)
    return error / max(len(order), 1)


def fit(
    samples: Array,
    *,
    passes: int,
    seed: int,
    terms: Terms = ALL_TERMS,
    report: Callable[[int, float, float], None] = lambda *_: None,
) -> Weights:
    """Weights from samples; `report` hears, after each pass, its number and the mean square error
    of the expected results, on the samples learnt from and on those held out. Raises ValueError
    where there are none."""
    if not len(samples):
        raise ValueError("there are no samples to learn from")
    rng = np.random.default_rng(seed)
    blocks = np.arange(len(samples)) // BLOCK
    chosen = rng.random(blocks[-1] + 1) < HELD_OUT
    held_out = np.flatnonzero(chosen[blocks])
    learnt = np.flatnonzero(~chosen[blocks])
    places = numbers()
    weights = np.zeros((PHASES, places.length))
    weights[:, places.common] = Weights.plain().common
    squared = np.zeros_like(weights)
    pull = np.full(places.length, DECAY)
    pull[places.common] = 0
    fitted = _fitted(places, terms)
    for number in range(passes):
        rate = FASTEST * (1 - number / passes) + SLOWEST
        order = rng.permutation(learnt)
        error = _pass_over(samples, order, weights, squared, fitted, pull, rate, places)
        unseen = _pass_over(samples, held_out, weights, squared, fitted, pull, 0.0, places)
        report(number + 1, error, unseen)
    fitted_weights = weights.astype(np.float32)
    return Weights(
        fitted_weights[:, places.common],
        fitted_weights[:, places.by_card],
        fitted_weights[:, places.balance],
        fitted_weights[:, places.tempo],
    )


def _fitted(places: Numbers, terms: Terms) -> Array:
    fitted = np.zeros(places.length, np.bool_)
    fitted[places.tempo] = True
    fitted[places.common] = terms.squares
    for role, wanted in enumerate((terms.own_hand, terms.other_hand, terms.side)):
        fitted[places.by_card[role]] = wanted
        fitted[places.balance[role]] = wanted and terms.balance
    return fitted
