"""Which clusters become one, or fall apart, at other numbers of clusters, and what it costs."""

import numpy as np

from kedge.plots.colours import SYMBOLS, colour_of, shape_of
from kedge.plots.numbers.layers import ClusterTree, Join, Split, cluster_splits, cluster_tree
from kedge.report.markup import Section, counted, figure, paragraph, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

# Height of the drawing beside its layers, and of each of them.
BASE_HEIGHT, STEP_HEIGHT, MOST_HEIGHT = 160, 24, 620


def layers(material: Material) -> Section | None:
    """Return the tree of merges, drawn and in tables; None where there is one layer."""
    tree = cluster_tree(material.layers, material.n_clusters)
    splits = cluster_splits(material.layers, material.n_clusters)
    if not (tree.joins or splits):
        return None
    body, figures = paragraph(_in_words(material)), {}
    if tree.joins:
        height = min(BASE_HEIGHT + STEP_HEIGHT * len(tree.counts), MOST_HEIGHT)
        figures["layers-figure"] = _drawing(tree, height)
        label = f"Tree in which {counted(len(tree.order), 'cluster')} become one, in {len(tree.joins)} steps."
        caption = (
            "Clusters at the bottom, numbered as everywhere on this page; a line joins those that become one. The "
            "lower it is, the less it costs to take them for one cluster."
        )
        body += figure("layers-figure", label, caption, height=height)
        coarser = ("clusters left", "become one", "modularity lost")
        rows = [(join.n_clusters, _parts(join), f"{join.loss:.4f}") for join in tree.joins]
        body += table("Fewer clusters: which become one", coarser, rows, numbers_from=2)
    if splits:
        finer = ("clusters then", "falls apart", "rows of the parts", "modularity gained")
        body += table("More clusters: which fall apart", finer, [_split(one) for one in splits], numbers_from=3)
    return Section("layers", "Layers", body, figures)


def _in_words(material: Material) -> str:
    communities = counted(len(material.model.tree_) + 1, "community", "communities")
    return (
        f"The graph falls into {communities}. The two that lose least modularity are merged, again and again, until "
        f"one is left; this page shows the layer of {counted(material.n_clusters, 'cluster')}. Where a merge costs "
        f"little, fewer clusters describe the rows nearly as well. The labels of the other layers come from "
        f"<code>labels_at(k)</code>, and from the file layers.csv of a run."
    )


def _drawing(tree: ClusterTree, height: int) -> str:
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": join.path[:, 0].astype(np.float32),
            "y": join.path[:, 1].astype(np.float32),
            "line": {"color": "rgba(128,128,128,0.9)", "width": 1.5},
            "text": f"{counted(join.n_clusters, 'cluster')} left, {join.loss:.4f} of modularity lost",
            "hoverinfo": "text",
        }
        for join in tree.joins
    ]
    leaves = {
        "type": "scatter",
        "mode": "markers",
        "x": np.arange(len(tree.order), dtype=np.int32),
        "y": np.zeros(len(tree.order), dtype=np.int32),
        "text": [f"cluster {cluster}" for cluster in tree.order],
        "hoverinfo": "text",
        "cliponaxis": False,
        "marker": {
            "size": 10,
            "color": [colour_of(cluster) for cluster in tree.order],
            "symbol": [SYMBOLS[shape_of(cluster)] for cluster in tree.order],
        },
    }
    clusters, counts = [str(cluster) for cluster in tree.order], [str(count) for count in tree.counts]
    plain = {"showgrid": False, "zeroline": False}
    layout = {
        "xaxis": axis("cluster", tickvals=list(range(len(clusters))), ticktext=clusters, **plain),
        "yaxis": axis("clusters left", tickvals=list(range(len(counts))), ticktext=counts, **plain),
        "showlegend": False,
        "hovermode": "closest",
    }
    return figure_json([*lines, leaves], layout, height)


def _parts(join: Join) -> str:
    return " with ".join(" + ".join(str(cluster) for cluster in part) for part in join.parts)


def _split(split: Split) -> tuple[int, str, str, str]:
    rows = " + ".join(f"{size:,}" for size in split.sizes)
    return split.n_clusters, f"cluster {split.cluster}", rows, f"{split.loss:.4f}"
