"""The front of quality against time: which rivals are ahead of kedge."""

from benchmarks.speed.rivals import COARSE, OURS


def is_ahead(rival, other):
    """Return whether a point, seconds and score, is no slower and no worse than another."""
    return rival[0] <= other[0] and rival[1] >= other[1]


def rivals_ahead(points):
    """Return the rivals ahead of each point of kedge.

    A point of kedge counts only if the other point of kedge is not ahead of it.

    Parameters
    ----------
    points : dict of str to (float, float)
        Seconds and score of each method.
    """
    own = {name: points[name] for name in (OURS, COARSE) if name in points}
    front = [name for name in own if not any(is_ahead(own[other], own[name]) for other in own if other != name)]
    rivals = [name for name in points if name not in own]
    return {name: [rival for rival in rivals if is_ahead(points[rival], own[name])] for name in front}
