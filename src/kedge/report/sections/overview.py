"""The first paragraph: what was found and how sure it is."""

from kedge.plots.numbers.summary import DOUBTFUL, cluster_sizes_of
from kedge.report.markup import counted, escape, paragraph, percent
from kedge.report.material import Material


def title_of(material: Material) -> str:
    """Return the heading of the page."""
    return f"{counted(material.n_clusters, 'cluster')} in {counted(len(material.labels), 'row')}"


def overview(material: Material) -> str:
    """Return the opening paragraphs."""
    return paragraph(_what_was_found(material), _how_sure(material)) + _what_is_missing(material)


def _what_was_found(material: Material) -> str:
    model, sizes = material.model, cluster_sizes_of(material.model)
    names = ", ".join(escape(name) for name in material.view_names)
    described = counted(int(model.n_features_in_), "feature")
    if len(material.view_names) > 1:
        described = f"{described} in {counted(len(material.view_names), 'view')} ({names})"
    spread = f"The smallest holds {counted(int(sizes.min()), 'row')} and the largest {sizes.max():,}."
    who = "the data chose that number" if model.n_clusters == "auto" else "that number was given"
    return (
        f"{type(model).__name__} put {counted(len(material.labels), 'row')} with {described} into "
        f"<strong>{counted(material.n_clusters, 'cluster')}</strong> ({who}), by the weights that join each row "
        f"to {counted(len(model.anchor_labels_), 'anchor point')}. {spread if material.n_clusters > 1 else ''}"
    )


def _how_sure(material: Material) -> str:
    if material.confidence is None:
        return "How sure the labels are is not known: a fit as published does not measure it."
    doubtful = int((material.confidence < DOUBTFUL).sum())
    if doubtful == 0:
        return (
            f"No row has a confidence below {DOUBTFUL:g}: all have at least half of their weight in their own cluster."
        )
    share = percent(doubtful / len(material.labels))
    verb = "has" if doubtful == 1 else "have"
    return (
        f"<strong>{share} of the rows</strong> ({doubtful:,}) {verb} a confidence below {DOUBTFUL:g}: another "
        f"cluster holds at least half as much of the rows around them. These labels are worth a look."
    )


def _what_is_missing(material: Material) -> str:
    if material.views is not None:
        return ""
    reason = material.run.get("data_missing")
    why = f" ({escape(reason, 300)})" if reason else ""
    words = (
        f"The data was not at hand when this page was written{why}, so it does not show which features distinguish the "
        f"clusters, nor images or features of single rows. Everything else comes from the model."
    )
    return f'<p class="note" role="note">{words}</p>'
