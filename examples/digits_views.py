"""
Handwritten digits as three views, in three kinds of files
==========================================================

This program writes the digits of scikit-learn as three views: pixels, Fourier descriptors, and directions of strokes.
``make demo`` runs it and then clusters the files with ``kedge fit``. The true digits are in the files only to score the
clusters. They are not used to find them.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

N_FREQUENCIES = 4
N_DIRECTIONS, CELL = 6, 4


def fourier_descriptors(images):
    """Return the strengths of the lowest spatial frequencies, which do not change when a digit is shifted."""
    strengths = np.abs(np.fft.fft2(images))
    return strengths[:, :N_FREQUENCIES, :N_FREQUENCIES].reshape(len(images), -1)


def stroke_directions(images):
    """Return how much each quarter of an image changes in each direction."""
    down, across = np.gradient(images, axis=(1, 2))
    strength = np.hypot(down, across)
    sector = np.floor(np.arctan2(down, across) % np.pi / np.pi * N_DIRECTIONS).astype(int) % N_DIRECTIONS
    cells = images.shape[1] // CELL
    columns = []
    for direction in range(N_DIRECTIONS):
        chosen = np.where(sector == direction, strength, 0.0)
        columns.append(chosen.reshape(len(images), cells, CELL, cells, CELL).sum(axis=(2, 4)).reshape(len(images), -1))
    return np.hstack(columns)


def write_csv(path, names, rows):
    """Write rows as text, with the names of the columns in the first line."""
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.5g")


def main():
    """Write one file per view."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("digits"), help="where the files go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    images, digits = load_digits().images, load_digits().target
    np.savez_compressed(folder / "pixels.npz", X=images, digit=digits)
    fourier = fourier_descriptors(images)
    write_csv(folder / "fourier.csv", [f"frequency {i}" for i in range(fourier.shape[1])], fourier)
    np.save(folder / "strokes.npy", stroke_directions(images))
    print(f"{len(digits)} digits in three views: {folder}")


if __name__ == "__main__":
    main()
