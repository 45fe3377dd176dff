"""Damage by chance: every damaged file is refused or is still the same model."""

import numpy as np
import pytest
from model_file_checks import assert_same_model

import kedge
from kedge.model_files import ModelFileError


def damaged_variants(content, n_variants, seed):
    """Yield copies with flipped bits, other bytes, lost, added or missing last bytes; half of it near the end.

    The list of contents is at the end, which has no checksum of its own.
    """
    dice = np.random.RandomState(seed)
    for number in range(n_variants):
        copy = bytearray(content)
        start = len(copy) - 2500 if number % 2 else 0
        at = int(dice.randint(start, len(copy)))
        length = int(dice.randint(1, 20))
        match number // 2 % 5:
            case 0 | 1:
                copy[at] ^= 1 << dice.randint(8)
            case 2:
                copy[at : at + length] = dice.bytes(len(copy[at : at + length]))
            case 3:
                copy[at : at + length] = dice.bytes(length) if dice.randint(2) else b""
            case 4:
                del copy[at:]
        yield bytes(copy)


def test_two_hundred_damaged_files_are_refused_or_the_same_model(path, model):
    content, n_refused = path.read_bytes(), 0
    for number, copy in enumerate(damaged_variants(content, 200, seed=0)):
        path.write_bytes(copy)
        try:
            loaded = kedge.load(path)
        except ModelFileError:
            n_refused += 1
        except Exception as error:
            raise AssertionError(f"variant {number}: {type(error).__name__}: {error}") from error
        else:
            assert_same_model(loaded, model)
    assert n_refused > 150


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_file_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match=r"model\.kedge cannot be loaded: .*; it is damaged or was changed"):
        kedge.load(path)


def test_flipped_bit_in_any_array_is_refused(path):
    content = path.read_bytes()
    starts = [at for at in range(len(content)) if content.startswith(b"\x93NUMPY", at)]
    assert len(starts) > 10
    for start in starts:
        copy = bytearray(content)
        copy[start + 128] ^= 1  # the first number, behind the header
        path.write_bytes(copy)
        with pytest.raises(ModelFileError, match=r"CRC|checksum"):
            kedge.load(path)
