"""Poker hands drawn and classed by the rules, for machines without the file."""

import numpy as np

# Class of a hand by the number of pairs of equal rank among its ten pairs of cards; 8 and 9 are straight flushes.
CLASS_OF_EQUAL_PAIRS = np.array([0, 1, 2, 3, 6, -1, 7])
STRAIGHT, FLUSH, STRAIGHT_FLUSH, ROYAL_FLUSH = 4, 5, 8, 9
ROYAL_RANKS = (1, 10, 11, 12, 13)


def draw_hands(n_hands, seed=0):
    """Return hands as suit 1-4 and rank 1-13 of five different cards in turn, and their classes."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(52, size=(n_hands, 5), dtype=np.int8)
    while True:
        repeated = np.flatnonzero((np.diff(np.sort(cards, axis=1), axis=1) == 0).any(axis=1))
        if len(repeated) == 0:
            break
        cards[repeated] = rng.integers(52, size=(len(repeated), 5), dtype=np.int8)
    hands = np.stack([cards // 13 + 1, cards % 13 + 1], axis=2).reshape(n_hands, 10)
    return hands, class_hands(hands)


def class_hands(hands):
    """Return the class of each hand, 0 (nothing) to 9 (royal flush)."""
    suits, ranks = hands[:, 0::2], np.sort(hands[:, 1::2], axis=1)
    first, second = np.triu_indices(5, k=1)
    equal_pairs = (ranks[:, first] == ranks[:, second]).sum(axis=1)
    classes = CLASS_OF_EQUAL_PAIRS[equal_pairs]
    is_royal = (ranks == ROYAL_RANKS).all(axis=1)
    is_straight = (equal_pairs == 0) & (ranks[:, 4] - ranks[:, 0] == 4) | is_royal
    is_flush = (suits == suits[:, :1]).all(axis=1)
    classes[is_straight] = STRAIGHT
    classes[is_flush] = FLUSH
    classes[is_straight & is_flush] = STRAIGHT_FLUSH
    classes[is_royal & is_flush] = ROYAL_FLUSH
    return classes
