"""Why so many clusters."""

import numpy as np

from kedge.plots.colours import COLOURS
from kedge.plots.numbers.summary import CountChoice, count_choice
from kedge.report.markup import Section, counted, figure, folded, paragraph, percent, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

HEIGHT = 300
# From here on the second guess is nearly as good.
CLOSE = 0.8


def cluster_count(material: Material) -> Section | None:
    """Return bars of the scores; None where the number was given."""
    report = getattr(material.model, "auto_report_", None)
    if not report or "n_clusters" not in report:
        return None
    choice = count_choice(material.model)
    title = "How many clusters"
    if len(choice.counts) == 1:
        return Section("cluster-count", title, paragraph(_in_words(choice)))
    order = np.argsort(choice.counts)
    counts, scores = np.array(choice.counts)[order], np.array(choice.scores)[order]
    trace = {
        "type": "bar",
        "x": [str(count) for count in counts],
        "y": scores.astype(np.float32),
        "meta": "outlined",
        "marker": {"color": [COLOURS[0] if count == choice.chosen else "rgba(128,128,128,0.45)" for count in counts]},
        "hovertemplate": "%{x} clusters: score %{y:.3f}<extra></extra>",
    }
    layout = {"xaxis": axis("number of clusters", type="category"), "yaxis": axis("score")}
    label = f"Bar chart of the scores of {len(counts)} numbers of clusters; {choice.chosen} has the best."
    rows = [(count, f"{score:.3f}") for count, score in zip(choice.counts, choice.scores, strict=True)]
    content = table("Candidates, best first", ("number of clusters", "score"), rows)
    body = paragraph(_in_words(choice)) + figure(
        "cluster-count-figure",
        label,
        "What speaks for each candidate; the chosen number is in blue.",
        height=HEIGHT,
        alternative=folded("The scores as a table", content),
    )
    return Section("cluster-count", title, body, {"cluster-count-figure": figure_json([trace], layout, HEIGHT)})


def _in_words(choice: CountChoice) -> str:
    found = f"The data suggest {counted(choice.chosen, 'cluster')}."
    if choice.second is None:
        return f"{found} No other number came into question. This is advice, not proof."
    warning = "so look at both" if choice.closeness >= CLOSE else "so the choice is fairly clear"
    share = percent(choice.closeness, 0)
    return f"{found} Second best is {choice.second}, with {share} of the score, {warning}. This is advice, not proof."
