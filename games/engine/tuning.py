"""Fits the evaluation's weights to samples of selfplay, by the gradient of the log loss.

Without units that is logistic regression; with them the value is a network of one hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from games.engine.bitboard import HANDS, SQUARES, Array
from games.engine.evaluation import (
    MOST_STUDENTS,
    NAMES,
    PHASES,
    PIECES,
    ROLE,
    ROLES,
    UNITS,
    Weights,
)
from games.engine.moves import ARRANGEMENT, MASTER, OTHER, OWN, PREY
from games.engine.selfplay import CARDS as CARD_COLUMNS
from games.engine.selfplay import RESULT, SCORE
from games.onitama.cards import CARDS
from games.onitama.position import SIZE

# Hundredths of a student that make a win e times as likely as a loss.
SCALE = 150.0
# How much of the target is the game's result; the rest is what the search thought.
RESULT_SHARE = 0.2
# So many samples a step; the learning rate falls evenly from the first to the last.
BATCH = 2_000
FIRST_RATE, LAST_RATE = 2e-3, 4e-5
# What units are worth is fitted in students, other worth in hundredths of one.
HUNDREDTHS = 100.0
# Of features, units, worth: how long steps are beside the rate.
_SCALES = (HUNDREDTHS, 1.0, 1.0)
_BETA1, _BETA2 = 0.9, 0.999
# Pulls what a card adds, and all that a unit adds up, towards nothing; a unit the more so, for it
# learns single positions by heart.
DECAY, UNIT_DECAY = 0.1, 1.0
# One game's positions are much alike, so they are held out together, this many in a row.
BLOCK = 50
HELD_OUT = 0.05

# A feature is a piece on a square; that with a card in a role; a card in a role; and the move.
_BY_CARD = PIECES * SQUARES
_BALANCE = _BY_CARD * (1 + ROLES * len(NAMES))
_TEMPO = _BALANCE + ROLES * len(NAMES)
FEATURES = _TEMPO + 1
# Of one position: ten pieces, each with five cards; the cards; the move.
_MOST_FEATURES = 10 * 6 + 5 + 1
# Half the units are fitted: the others are their mirror images.
_FREE = UNITS // 2
_ROLE = np.array(ROLE)


@dataclass(frozen=True)
class Terms:
    """Which parts of the evaluation are fitted; the others stay as Weights.plain() has them."""

    squares: bool = True
    own_hand: bool = True
    other_hand: bool = True
    side: bool = True
    balance: bool = True
    units: bool = True


ALL_TERMS = Terms()


class _Fit(NamedTuple):
    """What is fitted, or as much of anything for each weight: by phase and feature; by feature and
    unit; by phase and unit."""

    features: npt.NDArray[np.float32]
    units: npt.NDArray[np.float32]
    worth: npt.NDArray[np.float32]

    @classmethod
    def zeros(cls) -> _Fit:
        return cls(
            np.zeros((PHASES, FEATURES), np.float32),
            np.zeros((FEATURES, _FREE), np.float32),
            np.zeros((PHASES, _FREE), np.float32),
        )


def _mirrored_features() -> Array:
    """By a feature's number, that of its mirror image: the square, and the card that moves so."""
    twins = np.array([_mirror_of(name) for name in NAMES])
    features = np.arange(FEATURES)
    squares = np.arange(SQUARES).reshape(SIZE, SIZE)[:, ::-1].ravel()
    common = features[:_BY_CARD].reshape(PIECES, SQUARES)
    by_card = features[_BY_CARD:_BALANCE].reshape(ROLES, len(NAMES), PIECES, SQUARES)
    balance = features[_BALANCE:_TEMPO].reshape(ROLES, len(NAMES))
    return np.concatenate(
        [
            common[:, squares].ravel(),
            by_card[:, twins][..., squares].ravel(),
            balance[:, twins].ravel(),
            features[_TEMPO:],
        ]
    )


def _mirror_of(name: str) -> int:
    steps = {(-files, ranks) for files, ranks in CARDS[name].moves}
    return next(i for i, other in enumerate(NAMES) if set(CARDS[other].moves) == steps)


_MIRRORED = _mirrored_features()


@njit(cache=True)
def _features(sample: Array, found: Array) -> tuple[int, int]:
    """Write the numbers of a sample's features; gives how many, and the students."""
    length, students = 0, 0
    for square in range(SQUARES):
        piece = -1
        if sample[OWN] >> square & 1:
            piece = 1 if square == sample[MASTER] else 0
        elif sample[OTHER] >> square & 1:
            piece = 3 if square == sample[PREY] else 2
        if piece < 0:
            continue
        students += piece == 0 or piece == 2
        placed = piece * SQUARES + square
        found[length] = placed
        length += 1
        for place in range(5):
            card = sample[CARD_COLUMNS + HANDS[sample[ARRANGEMENT], place]]
            found[length] = _BY_CARD * (1 + _ROLE[place] * len(NAMES) + card) + placed
            length += 1
    for place in range(5):
        card = sample[CARD_COLUMNS + HANDS[sample[ARRANGEMENT], place]]
        found[length] = _BALANCE + _ROLE[place] * len(NAMES) + card
        length += 1
    found[length] = _TEMPO
    return length + 1, students


@njit(cache=True, fastmath=True)
def _errors(samples: Array, chosen: Array, fit: _Fit, gradient: _Fit, learns: bool) -> float:
    """The sum of square errors over the samples; where it `learns`, adds up the gradient, which is
    that of the log loss."""
    found = np.empty(_MOST_FEATURES, np.int64)
    sums = np.empty((2, _FREE), np.float32)
    phase = np.empty(PHASES, np.float32)
    error = 0.0
    for number in chosen:
        sample = samples[number]
        length, students = _features(sample, found)
        phase[1] = students / MOST_STUDENTS
        phase[0] = 1 - phase[1]
        value = np.float32(0)
        sums[:] = 0
        for feature in found[:length]:
            mirrored = _MIRRORED[feature]
            for end in range(PHASES):
                both = fit.features[end, feature] + fit.features[end, mirrored]
                value += phase[end] * both / 2
            for unit in range(_FREE):
                sums[0, unit] += fit.units[feature, unit]
                sums[1, unit] += fit.units[mirrored, unit]
        for unit in range(_FREE):
            worth = phase[0] * fit.worth[0, unit] + phase[1] * fit.worth[1, unit]
            cut = min(max(sums[0, unit], 0), 1) + min(max(sums[1, unit], 0), 1)
            value += np.float32(HUNDREDTHS) * worth * cut
        chance = 1 / (1 + np.exp(-value / SCALE))
        thought = 1 / (1 + np.exp(-sample[SCORE] / SCALE))
        target = RESULT_SHARE * (sample[RESULT] + 1) / 2 + (1 - RESULT_SHARE) * thought
        error += (chance - target) ** 2
        if not learns:
            continue
        wrong = np.float32(chance - target)
        for unit in range(_FREE):
            worth = phase[0] * fit.worth[0, unit] + phase[1] * fit.worth[1, unit]
            for side in range(2):
                at = sums[side, unit]
                for end in range(PHASES):
                    gradient.worth[end, unit] += wrong * phase[end] * min(max(at, 0), 1)
                sums[side, unit] = wrong * worth if 0 < at < 1 else 0
        for feature in found[:length]:
            mirrored = _MIRRORED[feature]
            for end in range(PHASES):
                gradient.features[end, feature] += wrong * phase[end] / 2
                gradient.features[end, mirrored] += wrong * phase[end] / 2
            for unit in range(_FREE):
                gradient.units[feature, unit] += sums[0, unit]
                gradient.units[mirrored, unit] += sums[1, unit]
    return error


@njit(cache=True, fastmath=True)
def _step(
    fit: Array, gradient: Array, mean: Array, square: Array, fitted: Array, decay: Array,
    count: int, number: int, rate: float, scale: float,
) -> None:  # fmt: skip
    """Adam's (Kingma and Ba 2014), with the decay apart from it (Loshchilov and Hutter 2017)."""
    unbiased_mean = 1 - _BETA1**number
    unbiased_square = 1 - _BETA2**number
    for at in range(fit.size):
        slope = gradient[at] / count
        gradient[at] = 0
        if not fitted[at]:
            continue
        mean[at] = _BETA1 * mean[at] + (1 - _BETA1) * slope
        square[at] = _BETA2 * square[at] + (1 - _BETA2) * slope * slope
        downhill = mean[at] / unbiased_mean / (np.sqrt(square[at] / unbiased_square) + 1e-7)
        fit[at] -= rate * (scale * downhill + decay[at] * fit[at])


def fit(
    samples: Array,
    *,
    epochs: int,
    seed: int,
    terms: Terms = ALL_TERMS,
    report: Callable[[int, float, float], None] = lambda *_: None,
) -> Weights:
    """Weights from samples; `report` hears, after each epoch, its number and the mean square error
    of the expected results, on the samples learnt from and on those held out. Raises ValueError
    where there are none."""
    if not len(samples):
        raise ValueError("there are no samples to learn from")
    rng = np.random.default_rng(seed)
    blocks = np.arange(len(samples)) // BLOCK
    chosen = rng.random(blocks[-1] + 1) < HELD_OUT
    held_out = np.flatnonzero(chosen[blocks])
    learnt = np.flatnonzero(~chosen[blocks])
    weights, fitted, decay = _begin(rng, terms), _fitted(terms), _decay()
    gradient, mean, square = _Fit.zeros(), _Fit.zeros(), _Fit.zeros()
    step, steps = 0, epochs * -(-len(learnt) // BATCH)
    for number in range(epochs):
        order = rng.permutation(learnt)
        error = 0.0
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            error += _errors(samples, batch, weights, gradient, True)
            rate = LAST_RATE + (FIRST_RATE - LAST_RATE) * (1 - step / steps)
            step += 1
            for *part, scale in zip(
                weights, gradient, mean, square, fitted, decay, _SCALES, strict=True
            ):
                _step(*(array.ravel() for array in part), len(batch), step, rate, scale)
        unseen = _errors(samples, held_out, weights, gradient, False)
        report(number + 1, error / max(len(order), 1), unseen / max(len(held_out), 1))
    return _weights(weights)


def _begin(rng: np.random.Generator, terms: Terms) -> _Fit:
    """Units begin as different from each other as chance makes them: alike, they would stay so."""
    begun = _Fit.zeros()
    begun.features[:, :_BY_CARD] = Weights.plain().common.reshape(PHASES, -1)
    if terms.units:
        spread = np.full((FEATURES, 1), 0.03)
        spread[:_BY_CARD] = 0.15
        spread[_BALANCE:] = 0
        begun.units[:] = rng.normal(0, 1, begun.units.shape) * spread
        begun.units[_TEMPO] = rng.uniform(0, 0.6, _FREE)
        begun.worth[:] = rng.normal(0, 0.3, _FREE)
    return begun


def _fitted(terms: Terms) -> _Fit:
    """1 for the weights that are fitted, 0 for the others."""
    fitted = _Fit.zeros()
    fitted.features[:, _TEMPO] = True
    fitted.features[:, :_BY_CARD] = terms.squares
    by_card = fitted.features[:, _BY_CARD:_BALANCE].reshape(PHASES, ROLES, -1)
    balance = fitted.features[:, _BALANCE:_TEMPO].reshape(PHASES, ROLES, -1)
    for role, wanted in enumerate((terms.own_hand, terms.other_hand, terms.side)):
        by_card[:, role] = wanted
        balance[:, role] = wanted and terms.balance
    fitted.units[:] = fitted.worth[:] = terms.units
    return fitted


def _decay() -> _Fit:
    decay = _Fit.zeros()
    decay.features[:, _BY_CARD:_TEMPO] = DECAY
    decay.units[:] = UNIT_DECAY
    return decay


def _weights(fit: _Fit) -> Weights:
    both = (fit.features + fit.features[:, _MIRRORED]) / np.float32(2)
    units = np.concatenate([fit.units, fit.units[_MIRRORED]], axis=1)
    by_card = (ROLES, len(NAMES), PIECES, SQUARES)
    return Weights(
        both[:, :_BY_CARD].reshape(PHASES, PIECES, SQUARES),
        both[:, _BY_CARD:_BALANCE].reshape(PHASES, *by_card),
        both[:, _BALANCE:_TEMPO].reshape(PHASES, ROLES, len(NAMES)),
        both[:, _TEMPO],
        np.concatenate([fit.worth, fit.worth], axis=1) * np.float32(HUNDREDTHS),
        units[:_BY_CARD].reshape(PIECES, SQUARES, UNITS),
        units[_BY_CARD:_BALANCE].reshape(*by_card, UNITS),
        units[_BALANCE:_TEMPO].reshape(ROLES, len(NAMES), UNITS),
        units[_TEMPO],
    )
