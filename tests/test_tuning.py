"""The evaluation is made from games of the engine against itself, the same ones each time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from games.engine import selfplay, tuning
from games.engine.bitboard import HANDS, Array
from games.engine.evaluation import NAMES, ROLE, UNITS, Weights, evaluate, tables
from games.engine.moves import MASTER, OTHER, OWN, PREY
from games.onitama.cards import BLUE, CARDS

PLAIN = Weights.plain()


@pytest.fixture(scope="module")
def samples() -> Array:
    return selfplay.samples(PLAIN, games=12, nodes=60, seed=1)


def test_its_samples_are_the_same_each_time(samples: Array) -> None:
    again = selfplay.samples(PLAIN, games=12, nodes=60, seed=1)
    other = selfplay.samples(PLAIN, games=12, nodes=60, seed=2)
    assert np.array_equal(samples, again)
    assert not np.array_equal(samples[:20], other[:20])


def test_a_sample_says_who_stood_where_and_who_won(samples: Array) -> None:
    assert len(samples) > 50
    own, other = samples[:, OWN], samples[:, OTHER]
    assert not (own & other).any()
    assert (own >> samples[:, MASTER] & 1).all()
    assert (other >> samples[:, PREY] & 1).all()
    assert set(samples[:, selfplay.RESULT].tolist()) <= {-1, 0, 1}
    cards = samples[:, selfplay.CARDS : selfplay.SCORE]
    assert all(sorted(NAMES[card] for card in deal) == [NAMES[c] for c in deal] for deal in cards)


def made_up(samples: Array) -> Array:
    """The same positions, in which whoever holds the tiger wins, and nobody where it lies aside."""
    kept = samples.copy()
    tiger = NAMES.index("tiger")
    for sample in kept:
        hands = selfplay.hands(sample)
        sample[selfplay.RESULT] = (tiger in hands[0]) - (tiger in hands[1])
        sample[selfplay.SCORE] = 300 * sample[selfplay.RESULT]
    return kept


def test_it_learns_what_decides(samples: Array) -> None:
    heard: list[tuple[int, float, float]] = []
    taught = made_up(np.concatenate([samples] * 10))
    weights = tuning.fit(taught, passes=4, seed=1, report=lambda *error: heard.append(error))
    assert [number for number, _, _ in heard] == [1, 2, 3, 4]
    assert heard[-1][1] < heard[0][1]
    tiger = NAMES.index("tiger")
    own, other, _ = weights.balance[:, :, tiger].mean(axis=0)
    assert own > 0 > other


def test_only_the_terms_that_are_named_change(samples: Array) -> None:
    terms = tuning.Terms(
        squares=False, own_hand=True, other_hand=False, side=False, balance=False, units=False
    )
    weights = tuning.fit(samples, passes=2, seed=1, terms=terms)
    assert np.array_equal(weights.common, PLAIN.common)
    assert weights.by_card[:, 0].any()
    assert not weights.by_card[:, 1:].any()
    assert not weights.balance.any()
    assert not weights.worth.any()


def test_a_card_and_its_mirror_share_their_weights(samples: Array) -> None:
    weights = tuning.fit(samples, passes=2, seed=1)
    horse, ox = NAMES.index("horse"), NAMES.index("ox")
    assert {(-files, ranks) for files, ranks in CARDS["horse"].moves_for(BLUE)} == set(
        CARDS["ox"].moves_for(BLUE)
    )
    board = weights.by_card[:, :, horse].reshape(2, 3, 4, 5, 5)
    assert np.array_equal(board[..., ::-1], weights.by_card[:, :, ox].reshape(2, 3, 4, 5, 5))
    assert board.any()


def test_half_the_units_are_the_mirror_images_of_the_others(samples: Array) -> None:
    weights = tuning.fit(samples, passes=2, seed=1)
    horse, ox = NAMES.index("horse"), NAMES.index("ox")
    board = weights.unit_by_card[:, horse].reshape(3, 4, 5, 5, UNITS)
    mirrored = weights.unit_by_card[:, ox].reshape(3, 4, 5, 5, UNITS)[..., ::-1, :]
    assert np.array_equal(board[..., : UNITS // 2], mirrored[..., UNITS // 2 :])
    assert np.array_equal(weights.worth[:, : UNITS // 2], weights.worth[:, UNITS // 2 :])
    assert weights.worth.all()


def test_units_learn_what_no_sum_can() -> None:
    """Who moves is better off where both masters stand on one side, whichever it is."""
    rng = np.random.default_rng(1)
    taught = np.zeros((2_000, selfplay.COLUMNS), np.int32)
    squares = np.array([[5, 9], [15, 19]])
    sides = rng.integers(0, 2, (len(taught), 2))
    taught[:, MASTER] = squares[0, sides[:, 0]]
    taught[:, PREY] = squares[1, sides[:, 1]]
    taught[:, OWN] = 1 << taught[:, MASTER]
    taught[:, OTHER] = 1 << taught[:, PREY]
    taught[:, selfplay.CARDS : selfplay.SCORE] = np.arange(5)
    taught[:, selfplay.SCORE] = np.where(sides[:, 0] == sides[:, 1], 100, -100)
    errors: dict[bool, float] = {}
    for units in (False, True):
        heard: list[float] = []
        tuning.fit(
            taught,
            passes=150,
            seed=3,
            terms=replace(tuning.ALL_TERMS, units=units),
            report=lambda *error: heard.append(error[2]),  # noqa: B023  # called before the next
        )
        errors[units] = heard[-1]
    assert errors[False] > 0.01
    assert errors[True] < errors[False] / 4


def test_the_compiled_value_is_what_the_weights_say() -> None:
    """Units far beyond 0 and 1 among them: none may spill over into the next."""
    rng = np.random.default_rng(1)
    weights = Weights(*(rng.normal(0, 1, part.shape).astype(np.float32) * 40 for part in PLAIN))
    weights = weights._replace(
        **{
            name: getattr(weights, name) / divisor
            for name, divisor in (
                ("unit_common", 80),
                ("unit_by_card", 160),
                ("unit_balance", 80),
                ("unit_tempo", 80),
            )
        }
    )
    games = selfplay.samples(PLAIN, games=8, nodes=60, seed=3)
    outside = 0
    for sample in games:
        names = tuple(NAMES[card] for card in sample[selfplay.CARDS : selfplay.SCORE])
        words = [int(word) for word in sample[: selfplay.CARDS]]
        value, units = value_of(weights, sample)
        outside += int(((units < 0) | (units > 1)).sum())
        # Each of ten pieces is rounded, and each unit's share of them.
        assert evaluate(*words, *tables(names, weights)) == pytest.approx(value, abs=25)
    assert outside > len(games)


def value_of(weights: Weights, sample: Array) -> tuple[float, Array]:
    """The value and the units, in numbers with fractions, straight from what a weight means."""
    own, other, master, prey, arrangement = (int(word) for word in sample[: selfplay.CARDS])
    dealt = sample[selfplay.CARDS : selfplay.SCORE]
    held = [(role, dealt[place]) for role, place in zip(ROLE, HANDS[arrangement], strict=True)]
    full = (own.bit_count() + other.bit_count() - 2) / 8
    phases = np.array([1 - full, full])
    total = phases @ weights.tempo
    units = weights.unit_tempo.astype(np.float64)
    for role, card in held:
        total += phases @ weights.balance[:, role, card]
        units += weights.unit_balance[role, card]
    for square in range(25):
        if own >> square & 1:
            piece = 1 if square == master else 0
        elif other >> square & 1:
            piece = 3 if square == prey else 2
        else:
            continue
        total += phases @ weights.common[:, piece, square]
        units += weights.unit_common[piece, square]
        for role, card in held:
            total += phases @ weights.by_card[:, role, card, piece, square]
            units += weights.unit_by_card[role, card, piece, square]
    return float(total + phases @ weights.worth @ np.clip(units, 0, 1)), units


def test_weights_are_kept_as_they_were(tmp_path: Path, samples: Array) -> None:
    weights = tuning.fit(samples, passes=1, seed=1)
    weights.save(tmp_path / "weights.npz")
    for part, whole in zip(Weights.load(tmp_path / "weights.npz"), weights, strict=True):
        assert part == pytest.approx(whole, rel=1e-3, abs=1e-3)


def test_the_command_writes_weights_and_says_how_well_they_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "w.npz"
    call_command("tune_engine", str(out), games=100, rounds=1, nodes=8, terms="squares,balance")
    assert Weights.load(out).common.shape == (2, 4, 25)
    assert "round 1:" in capsys.readouterr().out


def test_the_command_keeps_the_samples_and_takes_them_again(tmp_path: Path) -> None:
    first, second, samples = (tmp_path / name for name in ("1.npz", "2.npz", "samples.npy"))
    call_command("tune_engine", str(first), games=100, rounds=1, nodes=8, samples=samples)
    kept = samples.read_bytes()
    # None is played: it would take long.
    call_command("tune_engine", str(second), games=10**9, samples=samples)
    assert samples.read_bytes() == kept
    for one, other in zip(Weights.load(first), Weights.load(second), strict=True):
        assert np.array_equal(one, other)


def test_the_command_writes_what_tuning_begins_with(tmp_path: Path) -> None:
    out = tmp_path / "plain.npz"
    call_command("tune_engine", str(out), games=10**9, terms="none")
    for one, other in zip(Weights.load(out), PLAIN, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"games": 150}, "hundreds"),
        ({"games": 0}, "--games must be at least 1"),
        ({"rounds": 0}, "--rounds must be at least 1"),
        ({"nodes": -1}, "--nodes must be at least 1"),
        ({"jobs": 0}, "--jobs must be at least 1"),
        ({"terms": "squares,luck"}, "'luck': the terms are"),
        ({"terms": ""}, "'': the terms are"),
        ({"start": Path("no.npz")}, "'no.npz' cannot be read: No such file"),
        ({"start": Path(__file__)}, "holds no weights"),
        ({"samples": Path("samples")}, "samples is no .npy file"),
        ({"samples": Path("samples.npz")}, "samples.npz is no .npy file"),
        ({"samples": Path("no/such/place/samples.npy")}, "no .npy file in a directory"),
    ],
)
def test_the_command_refuses_in_one_line(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("tune_engine", str(tmp_path / "w.npz"), **options)
    assert not list(tmp_path.iterdir())


def test_the_command_wants_a_file_that_it_can_write(tmp_path: Path) -> None:
    for out in ("w.txt", "no/such/place/w.npz"):
        with pytest.raises(CommandError, match="no .npz file"):
            call_command("tune_engine", str(tmp_path / out))
