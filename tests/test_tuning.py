"""The evaluation is made from games of the engine against itself, the same ones each time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from games.engine import selfplay, tuning
from games.engine.bitboard import HANDS, Array
from games.engine.evaluation import NAMES, ROLE, UNITS, Tables, Weights, evaluate, tables
from games.engine.moves import ARRANGEMENT, MASTER, OTHER, OWN, PREY
from games.engine.players import read_weights
from games.onitama.cards import BLUE, CARDS

PLAIN = Weights.plain()


@pytest.fixture(scope="module")
def samples() -> Array:
    return selfplay.samples(PLAIN, games=60, nodes=60, seed=1)


def test_its_samples_are_the_same_each_time(samples: Array) -> None:
    again = selfplay.samples(PLAIN, games=60, nodes=60, seed=1)
    other = selfplay.samples(PLAIN, games=60, nodes=60, seed=2)
    assert np.array_equal(samples, again)
    assert not np.array_equal(samples[:20], other[:20])


def test_a_sample_says_who_stood_where_and_who_won(samples: Array) -> None:
    assert len(samples) > 50
    own, other = samples[:, OWN], samples[:, OTHER]
    assert not (own & other).any()
    assert (own >> samples[:, MASTER] & 1).all()
    assert (other >> samples[:, PREY] & 1).all()
    result, score = samples[:, selfplay.RESULT], samples[:, selfplay.SCORE]
    assert {-1, 1} <= set(result.tolist()) <= {-1, 0, 1}
    # Who was thought to stand better won more often.
    assert np.corrcoef(result, score)[0, 1] > 0.2
    cards = samples[:, selfplay.CARDS : selfplay.SCORE]
    assert all(sorted(NAMES[card] for card in deal) == [NAMES[c] for c in deal] for deal in cards)


def hands(sample: Array) -> tuple[list[int], list[int]]:
    """The numbers of the cards in the mover's hand and in the opponent's."""
    dealt = sample[selfplay.CARDS : selfplay.SCORE]
    own1, own2, other1, other2, _ = HANDS[sample[ARRANGEMENT]]
    return [int(dealt[own1]), int(dealt[own2])], [int(dealt[other1]), int(dealt[other2])]


def made_up(samples: Array) -> Array:
    """The same positions, in which whoever holds the tiger wins, and nobody where it lies aside."""
    kept = samples.copy()
    tiger = NAMES.index("tiger")
    for sample in kept:
        own, other = hands(sample)
        sample[selfplay.RESULT] = (tiger in own) - (tiger in other)
        sample[selfplay.SCORE] = 300 * sample[selfplay.RESULT]
    return kept


def test_it_learns_what_decides(samples: Array) -> None:
    heard: list[tuple[int, float, float]] = []
    taught = made_up(np.concatenate([samples] * 3))
    weights = tuning.fit(taught, epochs=4, seed=1, report=lambda *error: heard.append(error))
    assert [number for number, _, _ in heard] == [1, 2, 3, 4]
    assert heard[-1][1] < heard[0][1]
    tiger = NAMES.index("tiger")
    own, other, _ = weights.balance[:, :, tiger].mean(axis=0)
    assert own > 0 > other


def test_only_the_terms_that_are_named_change(samples: Array) -> None:
    terms = tuning.Terms(
        squares=False, own_hand=True, other_hand=False, side=False, balance=False, units=False
    )
    weights = tuning.fit(samples, epochs=2, seed=1, terms=terms)
    assert np.array_equal(weights.common, PLAIN.common)
    assert weights.by_card[:, 0].any()
    assert not weights.by_card[:, 1:].any()
    assert not weights.balance.any()
    assert not weights.worth.any()


def test_a_card_and_its_mirror_share_their_weights(samples: Array) -> None:
    weights = tuning.fit(samples, epochs=2, seed=1)
    horse, ox = NAMES.index("horse"), NAMES.index("ox")
    assert {(-files, ranks) for files, ranks in CARDS["horse"].moves_for(BLUE)} == set(
        CARDS["ox"].moves_for(BLUE)
    )
    board = weights.by_card[:, :, horse].reshape(2, 3, 4, 5, 5)
    assert np.array_equal(board[..., ::-1], weights.by_card[:, :, ox].reshape(2, 3, 4, 5, 5))
    assert board.any()


def test_half_the_units_are_the_mirror_images_of_the_others(samples: Array) -> None:
    weights = tuning.fit(samples, epochs=2, seed=1)
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
            epochs=150,
            seed=3,
            terms=replace(tuning.ALL_TERMS, units=units),
            report=lambda *error: heard.append(error[2]),  # noqa: B023  # called before the next
        )
        errors[units] = heard[-1]
    assert errors[False] > 0.01
    assert errors[True] < errors[False] / 4


def test_the_compiled_value_is_what_the_weights_say(samples: Array) -> None:
    rng = np.random.default_rng(1)
    weights = Weights(*(rng.normal(0, 1, part.shape).astype(np.float32) * 40 for part in PLAIN))
    shares = {name: getattr(weights, name) / 80 for name in UNIT_PARTS}
    weights = weights._replace(**shares)
    outside, compiled_value = 0, compiled(weights)
    for sample in samples:
        value, units = value_of(weights, sample)
        outside += int(((units < 0) | (units > 1)).sum())
        # Each of ten pieces is rounded, and each unit's share of them.
        assert compiled_value(sample) == pytest.approx(value, abs=8)
    assert outside > len(samples)


@pytest.mark.parametrize("first", [-1, 1])
def test_no_unit_spills_over_into_the_next(samples: Array, first: int) -> None:
    """As far beyond 0 and 1 as can be, every other one on the other side."""
    signs = first * np.where(np.arange(UNITS) % 2, -1, 1)
    weights = PLAIN._replace(
        **{name: getattr(PLAIN, name) + 100 * signs for name in UNIT_PARTS},
        worth=PLAIN.worth + np.arange(UNITS),
    )
    plain_value, compiled_value = compiled(PLAIN), compiled(weights)
    for sample in samples:
        gained = compiled_value(sample) - plain_value(sample)
        assert gained == np.arange(UNITS)[signs > 0].sum()


UNIT_PARTS = ("unit_common", "unit_by_card", "unit_balance", "unit_tempo")


def compiled(weights: Weights) -> Callable[[Array], int]:
    """What the compiled evaluation says of a sample."""

    @cache
    def added_up(names: tuple[str, ...]) -> Tables:
        return tables(names, weights)

    def value(sample: Array) -> int:
        names = tuple(NAMES[card] for card in sample[selfplay.CARDS : selfplay.SCORE])
        words = [int(word) for word in sample[: selfplay.CARDS]]
        return int(evaluate(*words, *added_up(names)))

    return value


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
    weights = tuning.fit(samples, epochs=1, seed=1)
    weights.save(tmp_path / "weights.npz")
    for part, whole in zip(Weights.load(tmp_path / "weights.npz"), weights, strict=True):
        assert part == pytest.approx(whole, rel=1e-3, abs=1e-3)


def test_the_command_writes_weights_and_says_how_well_they_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "w.npz"
    tune(out, *FEW, "--terms=squares,balance")
    assert Weights.load(out).common.shape == (2, 4, 25)
    assert "round 1:" in capsys.readouterr().out


def test_the_command_keeps_the_samples_and_takes_them_again(tmp_path: Path) -> None:
    first, second, kept = (tmp_path / name for name in ("1.npz", "2.npz", "samples.npy"))
    tune(first, *FEW, f"--samples={kept}")
    before = kept.read_bytes()
    # None is played: it would take long.
    tune(second, "--games=10000000", f"--samples={kept}")
    assert kept.read_bytes() == before
    for one, other in zip(Weights.load(first), Weights.load(second), strict=True):
        assert np.array_equal(one, other)


def test_the_command_plays_with_the_weights_it_starts_from(tmp_path: Path, samples: Array) -> None:
    start, out, kept = (tmp_path / name for name in ("start.npz", "w.npz", "samples.npy"))
    tuning.fit(made_up(samples), epochs=1, seed=1).save(start)
    tune(out, *FEW, f"--samples={kept}")
    plain = kept.read_bytes()
    kept.unlink()
    tune(out, *FEW, f"--samples={kept}", f"--start={start}")
    assert kept.read_bytes() != plain


def test_the_command_writes_what_tuning_begins_with(tmp_path: Path) -> None:
    out = tmp_path / "plain.npz"
    tune(out, "--games=10000000", "--terms=none")
    for one, other in zip(Weights.load(out), PLAIN, strict=True):
        assert np.array_equal(one, other)


FEW = ("--games=100", "--rounds=1", "--nodes=8")


def tune(out: Path | str, *options: str) -> None:
    call_command("tune_engine", str(out), *options)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--games=150", "games go in hundreds, and 150 does not"),
        ("--games=0", "'0' is not a number from 100 to 10,000,000"),
        ("--games=many", "'many' is not a number"),
        ("--rounds=0", "'0' is not a number from 1 to 1,000"),
        ("--nodes=-1", "'-1' is not a number from 1 to 1,000,000"),
        ("--nodes=1000000000000", "is not a number from 1 to 1,000,000"),
        ("--jobs=0", "'0' is not a number from 1 to 64"),
        ("--jobs=1000", "'1000' is not a number from 1 to 64"),
        ("--seed=-1", "'-1' is not a number from 0"),
        ("--terms=squares,luck", "'luck': the terms are"),
        ("--terms=", "'': the terms are"),
        ("--start=no.npz", "'no.npz' cannot be read: No such file"),
        (f"--start={__file__}", "holds no weights"),
        ("--samples=samples", "'samples' is no .npy file"),
        ("--samples=samples.npz", "'samples.npz' is no .npy file"),
        ("--samples=no/such/place/samples.npy", "no .npy file in a directory"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path: Path, option: str, said: str) -> None:
    with pytest.raises(CommandError, match=re.escape(said)) as refusal:
        tune(tmp_path / "w.npz", option)
    assert "\n" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


def test_the_command_wants_a_file_that_it_can_write(tmp_path: Path) -> None:
    (tmp_path / "directory.npz").mkdir()
    for out, said in (
        ("w.txt", "no .npz file"),
        ("no/such/place/w.npz", "no .npz file"),
        (tmp_path / "directory.npz", "cannot be written: Is a directory"),
    ):
        with pytest.raises(CommandError, match=said):
            tune(out, "--games=10000000")
    assert [path.name for path in tmp_path.iterdir()] == ["directory.npz"]


def test_weights_to_start_from_are_refused_where_no_game_is_played(
    tmp_path: Path, samples: Array
) -> None:
    kept, start = tmp_path / "samples.npy", tmp_path / "start.npz"
    np.save(kept, samples)
    PLAIN.save(start)
    for without_a_game in ("--terms=none", f"--samples={kept}"):
        with pytest.raises(CommandError, match="--start is for the first game"):
            tune(tmp_path / "w.npz", without_a_game, f"--start={start}")
    assert not (tmp_path / "w.npz").exists()


@pytest.mark.parametrize(
    ("column", "number"),
    [
        (OWN, 1 << 25), (OWN, -1), (OWN, 0), (OWN, (1 << 25) - 1), (OTHER, 0), (MASTER, 25),
        (MASTER, -1), (PREY, 31), (ARRANGEMENT, 30), (ARRANGEMENT, -1), (selfplay.CARDS, -1),
        (selfplay.CARDS, 34), (selfplay.SCORE - 1, 34), (selfplay.SCORE, 20_001),
        (selfplay.RESULT, 2),
    ],
)  # fmt: skip
def test_a_row_that_is_no_sample_is_refused(
    tmp_path: Path, samples: Array, column: int, number: int
) -> None:
    odd = samples.copy()
    odd[-1, column] = number
    np.save(tmp_path / "odd.npy", odd)
    with pytest.raises(CommandError, match="holds no samples"):
        tune(tmp_path / "w.npz", f"--samples={tmp_path / 'odd.npy'}")


def test_a_file_of_anything_else_holds_no_samples(tmp_path: Path, samples: Array) -> None:
    kept = tmp_path / "kept.npy"
    for odd in (samples[:0], samples[:, :7], samples[0], samples[0, 0], samples.astype(float)):
        np.save(kept, odd)
        with pytest.raises(CommandError, match="holds no samples"):
            tune(tmp_path / "w.npz", f"--samples={kept}")
    for odd_bytes in (b"", b"nonsense", b"\x93NUMPY\x01\x00"):
        kept.write_bytes(odd_bytes)
        with pytest.raises(CommandError, match="holds no samples"):
            tune(tmp_path / "w.npz", f"--samples={kept}")
    kept.unlink()
    kept.mkdir()
    with pytest.raises(CommandError, match="cannot be read: Is a directory"):
        tune(tmp_path / "w.npz", f"--samples={kept}")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("common", PLAIN.common.astype(complex)),
        ("common", PLAIN.common[:1].astype(np.float16)),
        ("common", np.full_like(PLAIN.common, 60_000, np.float16)),
        ("worth", np.full_like(PLAIN.worth, 1_200, np.float16)),
        ("tempo", np.full_like(PLAIN.tempo, np.nan, np.float16)),
        ("tempo", np.full_like(PLAIN.tempo, "x", "U1")),
    ],
)
def test_weights_that_could_outweigh_a_win_are_refused(
    tmp_path: Path, name: str, part: Array
) -> None:
    kept = {each: array.astype(np.float16) for each, array in PLAIN._asdict().items()}
    np.savez(tmp_path / "odd.npz", **{**kept, name: part})
    with pytest.raises(ValueError, match="holds no weights"):
        read_weights(tmp_path / "odd.npz")


def test_an_archive_of_no_arrays_holds_no_weights(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "odd.npz", "w") as archive:
        for name in Weights._fields:
            archive.writestr(name, b"text")
    with pytest.raises(ValueError, match="holds no weights"):
        read_weights(tmp_path / "odd.npz")
