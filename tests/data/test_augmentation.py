"""Augmentation: by (seed, epoch, sample index) alone, by the rules of the papers, the same bytes for ever."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarker.data.augmentation import STEPS, Augmentation, Augmenter, check_labels
from benchmarker.data.augmentation_steps import Mixup, Shift, Step
from benchmarker.data.resized_crop import RandomResizedCrop, scaled
from benchmarker.data.sample_draws import SampleDraws
from benchmarker.data.stored import StoredData, one_hot
from benchmarker.errors import UsageError
from benchmarker.graph.types import Distribution

COUNT, CLASSES = 60, 5
GENERATOR = np.random.default_rng(8)
IMAGES = GENERATOR.integers(0, 256, (COUNT, 3, 8, 10)).astype(np.uint8)
LABELS = GENERATOR.integers(0, CLASSES, COUNT)
DATA = StoredData(IMAGES, LABELS, CLASSES, "pictures", 255, 0.5, 0.25)
FLOATS = StoredData(
    GENERATOR.standard_normal((COUNT, 7)).astype(np.float32) * 3 + 1, LABELS, CLASSES, "numbers"
)
TRAIN = np.arange(48)
ALL = np.arange(COUNT)
EVERYTHING = [
    "flip",
    {"name": "crop", "padding": 2},
    {"name": "shift", "pixels": 2, "fill": 7},
    {"name": "cutout", "size": 3},
    {"name": "normalize", "over": "channel"},
    {"name": "mixup", "alpha": 0.4},
    {"name": "label_smoothing", "epsilon": 0.1},
]
LISTS: dict[str, list[Any]] = {
    **{name: [name] for name in STEPS if "crop" not in name},
    "random_resized_crop": [{"name": "random_resized_crop", "size": 6}],
    "crop": [{"name": "crop", "padding": 1}],
    "vertical": [{"name": "flip", "axis": "vertical"}],
    "smaller": [{"name": "crop", "size": 6, "padding": 1}],
    "everything": EVERYTHING,
}


def augmenter(steps: list[Any], seed: int = 1, data: StoredData = DATA) -> Augmenter:
    return Augmenter(Augmentation.parse(steps), data, TRAIN, seed=seed)


def digest(steps: list[Any]) -> str:
    samples, weights = augmenter(steps).training(TRAIN, 3)
    total = hashlib.sha256(samples.astype("<f4").tobytes())
    total.update(b"" if weights is None else weights.astype("<f4").tobytes())
    return total.hexdigest()


PINNED = {
    "flip": "84842fc5cff2dedfe85b6fd35ab91977f9ef0fc2e0dd4431c90844fae64dc8d1",
    "crop": "2d66d3212166c76b7ebf6d3d58957b500963780776910e2df2334250a22bab0e",
    "shift": "94cb3ceb03ade85b70b34f0b5c6ef92a30950512f3ed1eb2cae6f60f672e9c4e",
    "cutout": "19dea6144d24b4b276dad9522b0c3ecc25a31f1479de3e11ce92f69db16b0a29",
    "normalize": "b0e7547b03f455cfd5e1a33825f6b4b9a0d4ff6d0e83a99f46196cedd00342c8",
    "mixup": "ec6bef52770bd4dbe66538ee081c135d52c2ec66c74df6f6d47c3795a4a6f514",
    "label_smoothing": "7c373b91754f3fdce51f9f0c2c3dbf85eb3e25a9c36a6c88aae7697423a33aae",
    "random_resized_crop": "4ae1bbd7018ee97f28a222d73f3158bced4921c5e46eeb7e61bf88d76eb0826e",
    "vertical": "9112118c27c492794fcbccc51daf296fd89d4a55b451e5a55459d3e0d664ae30",
    "smaller": "9347cb2efca4756229b269231beab050c0354e20ef11aec14228f6997f5c33e7",
    "everything": "1f33237dabdf7a95ad150224b93907817547f67bd5fdf36301a4e3783a07e67e",
}


@pytest.mark.parametrize("name", LISTS)
def test_the_bytes_never_change(name: str) -> None:
    assert digest(LISTS[name]) == PINNED[name]


# --- what decides a sample -------------------------------------------------------------------------


def assert_independent_of_batch(made: Augmenter, chosen: list[int], cuts: list[int], epoch: int) -> None:
    """Take some samples together, and again in other mini-batches and another order: the same bytes must come."""
    indices = np.array(chosen)
    samples, weights = made.training(indices, epoch)
    order = np.argsort(indices % 7, kind="stable")
    bounds = sorted({0, len(indices), *(cut % len(indices) for cut in cuts)})
    for start, end in zip(bounds, bounds[1:]):
        part = order[start:end]
        again, weights_again = made.training(indices[part], epoch)
        assert np.array_equal(again, samples[part])
        assert (weights is None) == (weights_again is None)
        if weights is not None and weights_again is not None:
            assert np.array_equal(weights_again, weights[part])


SAMPLES_OF_A_BATCH = st.lists(st.integers(0, 47), min_size=1, max_size=24)


@pytest.mark.parametrize("name", LISTS)
@settings(max_examples=15, deadline=None)
@given(SAMPLES_OF_A_BATCH, st.lists(st.integers(1, 23), max_size=4), st.integers(0, 3))
def test_batching_and_sharding_change_no_sample(
    name: str, chosen: list[int], cuts: list[int], epoch: int
) -> None:
    assert_independent_of_batch(augmenter(LISTS[name]), chosen, cuts, epoch)


class OfTheBatch(Shift):
    """The fault: draws by the place in the mini-batch."""

    def apply(self, samples: Any, indices: Any, draws: SampleDraws) -> Any:
        return super().apply(samples, np.arange(len(indices)), draws)


class WithNeighbour(Step):
    """The fault: mixes with the next sample of the mini-batch."""

    name = "neighbour"

    def apply(self, samples: Any, indices: Any, draws: SampleDraws) -> Any:
        return (samples // 2 + np.roll(samples, 1, axis=0) // 2).astype(samples.dtype)


@pytest.mark.parametrize("step", [OfTheBatch(2), WithNeighbour()])
def test_augmentation_that_depends_on_the_batch_is_seen(step: Step) -> None:
    made = Augmenter(Augmentation((step,)), DATA, TRAIN)
    with pytest.raises(AssertionError):
        assert_independent_of_batch(made, list(range(12)), [5], 0)


@pytest.mark.parametrize("name", sorted(set(LISTS) - {"normalize", "label_smoothing"}))
def test_seeds_and_epochs_have_their_own(name: str) -> None:
    found = {
        augmenter(LISTS[name], seed).training(TRAIN, epoch)[0].tobytes()
        for seed in (1, 2)
        for epoch in (0, 1)
    }
    assert len(found) == 4


def test_two_steps_of_a_kind_draw_for_themselves() -> None:
    once = Augmenter(Augmentation.parse(["flip"]), DATA, TRAIN)
    twice = Augmenter(Augmentation.parse(["flip", "flip"]), DATA, TRAIN)
    stays = Augmenter(Augmentation(), DATA, TRAIN).training(TRAIN, 0)[0]
    assert not np.array_equal(once.training(TRAIN, 0)[0], stays)
    assert not np.array_equal(twice.training(TRAIN, 0)[0], stays)


def test_stored_samples_stay_as_they_are() -> None:
    before = IMAGES.copy()
    for steps in LISTS.values():
        augmenter(steps).training(ALL, 0)
    assert np.array_equal(IMAGES, before)


# --- the numbers of a sample -----------------------------------------------------------------------


def test_numbers_are_those_of_splitmix64() -> None:
    """Against the published algorithm, in Python's own integers."""
    draws, mask = SampleDraws(5, 2, "x"), 2**64 - 1
    key = int.from_bytes(hashlib.sha256(b"5/2/x").digest()[:8], "little")
    for index, number in ((0, 0), (17, 3), (10**6, 9)):
        z = (key + (index * 1024 + number + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        assert int(draws.raw(np.array([index]), number)[0]) == z ^ (z >> 31)


def test_numbers_are_even_and_independent() -> None:
    indices, count = np.arange(1 << 16), 1 << 16
    columns = [SampleDraws(1, 0, "x").uniform(indices, n) for n in range(4)]
    columns += [SampleDraws(1, 1, "x").uniform(indices, 0), SampleDraws(2, 0, "x").uniform(indices, 0)]
    for column in columns:
        assert 0 < column.min() < column.max() < 1
        assert abs(column.mean() - 0.5) < 5 * math.sqrt(1 / 12 / count)
        assert abs(np.corrcoef(column[1:], column[:-1])[0, 1]) < 5 / math.sqrt(count)
    correlations = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(correlations).max() < 5 / math.sqrt(count)
    counts = np.bincount(SampleDraws(1, 0, "x").below(indices, 7, 10), minlength=10)
    assert len(counts) == 10
    assert np.abs(counts - count / 10).max() < 5 * math.sqrt(count / 10)


# --- each step -------------------------------------------------------------------------------------


def applied(step: Any, data: StoredData = DATA, epoch: int = 0) -> Any:
    return step.apply(data.samples[ALL], ALL, SampleDraws(1, epoch, "x"))


def parsed(name: str, **options: Any) -> Any:
    return Augmentation.parse([{"name": name, **options}]).steps[0]


@pytest.mark.parametrize(
    ("axis", "mirror"), [("horizontal", np.s_[..., ::-1]), ("vertical", np.s_[..., ::-1, :])]
)
def test_a_flip_mirrors_half_of_the_images(axis: str, mirror: Any) -> None:
    found = applied(parsed("flip", axis=axis))
    mirrored = (found == IMAGES[mirror]).all(axis=(1, 2, 3))
    stays = (found == IMAGES).all(axis=(1, 2, 3))
    assert (mirrored ^ stays).all()
    assert abs(mirrored.mean() - 0.5) < 5 * 0.5 / math.sqrt(COUNT)
    assert (applied(parsed("flip", probability=1, axis=axis)) == IMAGES[mirror]).all()
    assert (applied(parsed("flip", probability=0, axis=axis)) == IMAGES).all()


def windows(image: Any, padding: int, fill: int, height: int, width: int) -> list[Any]:
    padded = np.full((3, 8 + 2 * padding, 10 + 2 * padding), fill, np.uint8)
    padded[:, padding : padding + 8, padding : padding + 10] = image
    return [
        padded[:, y : y + height, x : x + width]
        for y in range(padded.shape[1] - height + 1)
        for x in range(padded.shape[2] - width + 1)
    ]


def test_a_crop_is_a_window_of_the_padded_image_and_every_one_comes() -> None:
    found = applied(parsed("crop", padding=1, fill=9))
    seen = set()
    for image, crop in zip(IMAGES, found):
        places = [n for n, w in enumerate(windows(image, 1, 9, 8, 10)) if np.array_equal(w, crop)]
        assert len(places) == 1
        seen.update(places)
    assert seen == set(range(9))
    assert applied(parsed("crop", size=6)).shape == (COUNT, 3, 6, 6)


def test_a_window_of_random_area_is_scaled_to_its_size() -> None:
    step = RandomResizedCrop(size=4, least_area=0.25)
    windows = step.windows((64, 48), np.arange(4000), SampleDraws(1, 0, "windows"))
    tops, lefts, heights, widths = (np.array(column) for column in zip(*windows))
    assert (tops >= 0).all()
    assert (lefts >= 0).all()
    assert ((tops + heights <= 64) & (lefts + widths <= 48)).all()
    areas = heights * widths / (64 * 48)
    assert areas.min() == pytest.approx(0.25, abs=0.01)
    assert 0.5 < areas.mean() < 0.65  # even in area, but for windows that do not fit
    ratios = widths / heights
    assert ratios.min() == pytest.approx(0.75, abs=0.03)
    assert ratios.max() == pytest.approx(4 / 3, abs=0.04)
    assert abs(np.log(ratios[areas < 0.4]).mean()) < 0.02
    assert len(set(windows)) > 3000


@pytest.mark.parametrize(("rows", "columns"), [(5, 9), (12, 3), (4, 4), (1, 1)])
def test_scaling_is_bilinear_and_rounds_in_whole_numbers(rows: int, columns: int) -> None:
    image = np.random.default_rng(5).integers(0, 256, (3, rows, columns)).astype(np.uint8)
    across, down = ((np.arange(6) + 0.5) * n / 6 - 0.5 for n in (columns, rows))
    one = np.array(
        [[np.interp(across, np.arange(columns), row) for row in channel] for channel in image * 1.0]
    )
    exact = np.array([[np.interp(down, np.arange(rows), column) for column in c.T] for c in one]).swapaxes(
        1, 2
    )
    assert np.allclose(scaled(image * 1.0, 6), exact, rtol=1e-12)
    found = scaled(image, 6)
    assert found.dtype == np.uint8
    assert np.abs(found - exact).max() <= 0.5 + 1e-9


def test_a_window_that_fits_no_time_is_the_square_in_the_middle() -> None:
    step = RandomResizedCrop(size=2, least_area=1.0)
    assert set(step.windows((40, 10), np.arange(9), SampleDraws(1, 0, "x"))) == {(15, 0, 10, 10)}


def test_a_shift_moves_by_so_many_pixels_at_most() -> None:
    found = applied(parsed("shift", pixels=1, fill=200))
    for image, shifted in zip(IMAGES, found):
        assert any(np.array_equal(w, shifted) for w in windows(image, 1, 200, 8, 10))


def test_cutout_covers_one_square_that_may_reach_beyond_the_border() -> None:
    found = applied(parsed("cutout", size=4, fill=3))
    areas = []
    for image, covered in zip(IMAGES, found):
        changed = (image != covered).any(axis=0) | (covered == 3).all(axis=0)
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        assert changed[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
        areas.append(int(changed.sum()))
    assert max(areas) == 16
    assert min(areas) < 16


def test_pixels_are_scaled_as_in_runs_where_nothing_normalizes() -> None:
    plain = DATA.scaled(IMAGES, Distribution("normal"))
    assert np.array_equal(
        plain, ((IMAGES.astype(np.float32) / np.float32(255)) - np.float32(0.5)) / np.float32(0.25)
    )
    assert np.array_equal(Augmenter(Augmentation(), DATA, TRAIN).training(ALL, 0)[0], plain)
    within = Augmenter(Augmentation.parse(["flip"]), DATA, TRAIN, Distribution("uniform", 1.0, low=-1.0))
    assert within.training(ALL, 0)[0].min() >= -1.0
    assert within.training(ALL, 0)[0].max() <= 1.0


@pytest.mark.parametrize("data", [DATA, FLOATS], ids=["pixels", "numbers"])
@pytest.mark.parametrize(("over", "axes"), [("all", None), ("channel", "others"), ("feature", 0)])
def test_normalize_takes_mean_and_deviation_of_the_training_part(
    data: StoredData, over: str, axes: Any
) -> None:
    found = augmenter([{"name": "normalize", "over": over}], data=data).training(ALL, 0)[0]
    assert found.dtype == np.float32
    along: Any = (0, *range(2, data.samples.ndim)) if axes == "others" else axes
    train = found[TRAIN].astype(np.float64)
    assert np.abs(train.mean(axis=along)).max() < 1e-4
    assert np.abs(train.std(axis=along) - 1).max() < 1e-4
    # What is evaluated has no part in it.
    assert np.abs(found[48:].astype(np.float64).mean(axis=along)).max() > 1e-3


def test_normalize_takes_the_numbers_that_it_is_given() -> None:
    steps = [{"name": "normalize", "mean": [0.1, 0.2, 0.3], "deviation": [0.5, 1, 2]}]
    found = augmenter(steps).training(ALL, 0)[0]
    fractions = IMAGES.astype(np.float32) / np.float32(255)
    for channel, (mean, deviation) in enumerate(zip((0.1, 0.2, 0.3), (0.5, 1, 2))):
        expected = (fractions[:, channel] - np.float32(mean)) / np.float32(deviation)
        assert np.array_equal(found[:, channel], expected)
    one = augmenter([{"name": "normalize", "mean": 0.25, "deviation": 2}], data=FLOATS).training(ALL, 0)[0]
    assert np.array_equal(one, (FLOATS.samples - np.float32(0.25)) / np.float32(2))


def test_a_feature_that_never_changes_stays_finite() -> None:
    constant = StoredData(np.ones((COUNT, 3), np.float32), LABELS, CLASSES)
    found = augmenter([{"name": "normalize", "over": "feature"}], data=constant).training(ALL, 0)[0]
    assert (found == 0).all()


def test_mixup_mixes_samples_and_labels_alike() -> None:
    made = augmenter([{"name": "mixup", "alpha": 1.0}])
    samples, weights = made.training(TRAIN, 0)
    assert weights is not None
    draws = SampleDraws(1, 0, "augmentation/0/mixup")
    shares = Mixup(1.0).shares(draws, TRAIN)
    partners = draws.below(TRAIN, 0, len(TRAIN))
    fractions = IMAGES.astype(np.float32) / np.float32(255)
    for row, (share, partner) in enumerate(zip(shares, partners)):
        mixed = share * fractions[row].astype(np.float64) + (1 - share) * fractions[partner]
        assert samples[row] == pytest.approx((mixed - 0.5) / 0.25, abs=1e-5)
        labels = share * np.eye(CLASSES)[LABELS[row]] + (1 - share) * np.eye(CLASSES)[LABELS[partner]]
        assert weights[row] == pytest.approx(labels, abs=1e-6)
    assert weights.sum(axis=1) == pytest.approx(np.ones(len(TRAIN)), abs=1e-6)


def test_mixup_takes_partners_of_the_training_part_as_the_steps_before_make_them() -> None:
    first = [{"name": "shift", "pixels": 2}]
    plain, mixed = augmenter(first), augmenter([*first, {"name": "mixup", "alpha": 1.0}])
    draws = SampleDraws(1, 4, "augmentation/1/mixup")
    own = np.array([50, 59])  # outside of the training part
    partners = TRAIN[draws.below(own, 0, len(TRAIN))]
    shares = Mixup(1.0).shares(draws, own).reshape(-1, 1, 1, 1)
    expected = shares * plain.training(own, 4)[0] + (1 - shares) * plain.training(partners, 4)[0]
    assert mixed.training(own, 4)[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 1.0, 2.0])
def test_shares_are_of_the_beta_distribution(alpha: float) -> None:
    count = 20_000
    shares = Mixup(alpha).shares(SampleDraws(3, 0, "x"), np.arange(count))
    assert shares.min() >= 0
    assert shares.max() <= 1
    variance = 1 / (4 * (2 * alpha + 1))
    assert abs(shares.mean() - 0.5) < 5 * math.sqrt(variance / count)
    assert shares.var() == pytest.approx(variance, rel=0.05)
    assert np.array_equal(shares * 65536, np.round(shares * 65536))


def test_label_smoothing_gives_every_class_its_part() -> None:
    samples, weights = augmenter([{"name": "label_smoothing", "epsilon": 0.2}]).training(ALL, 0)
    assert weights == pytest.approx(one_hot(LABELS, CLASSES) * 0.8 + 0.04, abs=1e-6)
    assert np.array_equal(samples, DATA.scaled(IMAGES, Distribution("normal")))


# --- evaluation ------------------------------------------------------------------------------------


def test_evaluation_has_nothing_random_and_crops_the_centre() -> None:
    made = augmenter([*EVERYTHING[:4], {"name": "crop", "size": 6}, *EVERYTHING[4:]])
    found = made.evaluation(ALL)
    plain = augmenter([EVERYTHING[4]]).evaluation(ALL)
    assert np.array_equal(found, plain[:, :, 1:7, 2:8])
    assert np.array_equal(augmenter(EVERYTHING, seed=9).evaluation(ALL), plain)


def test_training_and_evaluation_normalize_alike() -> None:
    made = augmenter(["normalize"])
    assert np.array_equal(made.evaluation(ALL), made.training(ALL, 0)[0])


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["flp"], "unknown augmentation 'flp'; did you mean 'flip'?"),
        (
            [{"name": "shift", "pixel": 1}],
            "augmentation 'shift' has no parameter 'pixel'; did you mean 'pixels'?",
        ),
        (
            [{"name": "shift", "pixels": 0}],
            "augmentation 'shift': 'pixels' must be a whole number from 1 to 4096",
        ),
        (
            [{"name": "flip", "probability": 1.5}],
            "augmentation 'flip': 'probability' must be a number of at least 0",
        ),
        (
            [{"name": "flip", "axis": "vertica"}],
            "augmentation 'flip': 'axis' must be 'horizontal' or 'vertical', got",
        ),
        (
            [{"name": "mixup", "alpha": 0.01}],
            "augmentation 'mixup': 'alpha' must be a number of at least 0.1",
        ),
        (
            [{"pixels": 1}],
            "a step of augmentation must be a name, or a table with 'name' and its options, got {'pix",
        ),
        (["crop"], "augmentation 'crop' needs 'size' or 'padding': without both it changes nothing"),
        (["mixup", "mixup"], "augmentation 'mixup' may appear in the list only once"),
        (
            [{"name": "normalize", "mean": [0.1, 0.2], "deviation": 1}],
            "augmentation 'normalize' takes as many numbers in 'mean' as in 'deviation', got 2 and 1",
        ),
        (
            [{"name": "normalize", "mean": "grey", "deviation": 1}],
            "augmentation 'normalize': 'mean' must be a number, or a list of one per channel, got 'grey'",
        ),
        (
            [{"name": "normalize", "mean": 0.5, "deviation": 0}],
            "augmentation 'normalize': each 'deviation' must be above 0, got 0",
        ),
    ],
)
def test_a_wrong_list_is_one_sentence(steps: list[Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Augmentation.parse(steps)
    assert str(caught.value).startswith(message)


SYMBOLS = StoredData(np.zeros((COUNT, 9), np.uint8), LABELS, CLASSES, "letters", symbols=4)


@pytest.mark.parametrize(
    ("step", "data", "message"),
    [
        (
            "flip",
            FLOATS,
            "augmentation 'flip' is for images (channels, rows, columns), but data set 'numbers' has ",
        ),
        ("shift", SYMBOLS, "augmentation 'shift' is for numbers, but data set 'letters' has symbols"),
        ("normalize", SYMBOLS, "augmentation 'normalize' is for numbers, but data set 'letters' has symbols"),
        (
            {"name": "shift", "fill": 256},
            DATA,
            "augmentation 'shift': 'fill' must be a pixel of data set 'pictures', a whole number from 0 to 255",
        ),
        (
            {"name": "normalize", "mean": [1, 2], "deviation": [1, 1]},
            DATA,
            "augmentation 'normalize' has 2 numbers in 'mean', but samples of data set 'pictures' have 3 channels",
        ),
    ],
)
def test_a_step_that_a_data_set_cannot_take_is_one_sentence(
    step: Any, data: StoredData, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        augmenter([step], data=data)
    assert str(caught.value).startswith(message)


def test_after_normalizing_anything_may_fill() -> None:
    samples, _ = augmenter(["normalize", {"name": "cutout", "fill": -1.5}]).training(ALL, 0)
    assert all(np.any(sample == -1.5) for sample in samples)


def test_a_window_larger_than_the_image_is_refused() -> None:
    with pytest.raises(UsageError, match="'crop' cannot cut 9 x 9 from an image of 8 x 10"):
        Augmentation.parse([{"name": "crop", "size": 9}]).shape((3, 8, 10))
    assert Augmentation.parse([{"name": "crop", "size": 8}]).shape((3, 8, 10)) == (3, 8, 8)


def test_values_stay_in_the_interval_of_a_problem() -> None:
    with pytest.raises(UsageError, match="moves values out of the interval from 0 to 1"):
        Augmenter(Augmentation.parse(["normalize"]), DATA, TRAIN, Distribution("uniform", 1.0, low=0.0))


@pytest.mark.parametrize("name", ["mixup", "label_smoothing"])
def test_weights_of_classes_need_a_problem_that_takes_them(name: str) -> None:
    steps = Augmentation.parse([name])
    assert steps.soft_labels
    check_labels(steps, True, "any")
    check_labels(Augmentation.parse(["flip"]), False, "any")
    with pytest.raises(
        UsageError,
        match=rf"'{name}' turns labels into class weights, but problem 'resnet' takes class indices",
    ):
        check_labels(steps, False, "resnet")


def test_a_description_makes_the_same_again() -> None:
    steps = Augmentation.parse(EVERYTHING)
    assert Augmentation.parse(steps.describe()) == steps
    assert steps.describe()[2] == {"name": "shift", "pixels": 2, "fill": 7.0}
