"""Colours of clusters can be told apart, with any kind of cones missing."""

from itertools import combinations

import numpy as np
import pytest

from kedge.plots import COLOURS, HATCHES, MARKERS, PATTERNS, SYMBOLS, colour_of, shape_of

# What is seen without one kind of cones, in linear RGB (Machado, Oliveira and Fernandes, 2009).
VISION = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE_POINT = np.array([0.9505, 1.0, 1.089])
# The closest pair of the six colours of Okabe and Ito, without short cones, is 16.1 apart.
LEAST_DISTANCE = 16.0


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light):
    x = TO_XYZ @ np.clip(light, 0, 1) / WHITE_POINT
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", VISION)
def test_any_two_colours_are_apart(eyes):
    seen = [lab(np.array(VISION[eyes]) @ linear(colour)) for colour in COLOURS]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > LEAST_DISTANCE


def test_fifty_clusters_look_different():
    assert len({(colour_of(cluster), shape_of(cluster)) for cluster in range(50)}) == 50
    assert len(SYMBOLS) == len(MARKERS) == len(PATTERNS) == len(HATCHES) == len(set(SYMBOLS)) == len(set(HATCHES))
