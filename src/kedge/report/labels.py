"""Sections about a fit to labels: the classes of all rows, labels that others contradict, and rows worth a label."""

import numpy as np

from kedge.report.markup import Section, counted, percent, shortened
from kedge.report.material import Material

# Rows that are listed, of each kind.
MOST_LISTED = 20


def classes(material: Material) -> Section | None:
    """List the classes, and the labels that the others contradict; None without labels."""
    model = material.model
    if not hasattr(model, "classes_"):
        return None
    section = Section("classes", "Classes")
    chances = model.label_distributions_
    own, labelled = chances.argmax(axis=1), np.bincount(model.labelled_classes_, minlength=len(model.classes_))
    rows = []
    for number, name in enumerate(model.classes_.tolist()):
        members = own == number
        sure = f"{chances[members, number].mean():.2f}" if members.any() else ""
        rows.append((str(name), f"{labelled[number]:,}", f"{members.sum():,}", percent(members.mean()), sure))
    section.say(
        f"{counted(len(model.labelled_rows_), 'row')} had a label. "
        "All others got the class that the labels around them suggest."
    )
    header = ("class", "rows with this label", "rows in all", "share", "mean probability")
    section.tabulate("Classes", header, rows)
    doubtful = model.label_disagreement_
    if not len(doubtful):
        return section.say("No label is contradicted by the others.")
    given = dict(zip(model.labelled_rows_.tolist(), model.labelled_classes_.tolist(), strict=True))
    listed = [(shortened(material.row_name(row)), str(model.classes_[given[row]])) for row in doubtful[:MOST_LISTED]]
    first = f", of which the first {MOST_LISTED} are listed" if len(doubtful) > MOST_LISTED else ""
    section.say(f"The other labels contradict {counted(len(doubtful), 'label')}{first}. Look at them again.")
    return section.tabulate("Labels that the others contradict", ("row", "label"), listed, numbers_from=2)


def worth_a_label(material: Material) -> Section | None:
    """List the rows whose labels would tell most; None without labels."""
    model = material.model
    if not hasattr(model, "classes_"):
        return None
    rows = model.rows_to_label(MOST_LISTED).tolist()
    chances = model.label_distributions_
    listed = [
        (shortened(material.row_name(row)), str(model.transduction_[row]), f"{chances[row].max():.2f}") for row in rows
    ]
    section = Section("worth-a-label", "Rows worth a label")
    section.say("Each stands for many rows without a label nearby. If you can label more rows, begin with these.")
    return section.tabulate("Rows worth a label", ("row", "class so far", "probability"), listed, numbers_from=2)
