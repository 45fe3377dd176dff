"""
Documents with links
====================

Each document has two views: the words in it, and the documents it cites. Both are sparse matrices and stay sparse.
:class:`kedge.MSGL` uses both together and learns how much each one counts.

The program makes the documents. Every topic prefers some words, documents mostly cite their own topic, and a fifth of
the documents cite nothing at all.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from kedge import MSGL
from kedge.metrics import clustering_accuracy

N_DOCUMENTS, N_WORDS, N_TOPICS = 1_200, 2_000, 5
rng = np.random.default_rng(0)
topics = rng.integers(0, N_TOPICS, N_DOCUMENTS)

preference = rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
everyday = rng.dirichlet(np.full(N_WORDS, 0.5))
lengths = rng.poisson(60, N_DOCUMENTS)
words = sparse.csr_array(
    np.stack([rng.multinomial(n, 0.2 * preference[t] + 0.8 * everyday) for n, t in zip(lengths, topics, strict=True)])
).astype(float)

same = topics[:, None] == topics
links = sparse.csr_array(rng.random((N_DOCUMENTS, N_DOCUMENTS)) < np.where(same, 0.05, 0.006)).astype(float)
silent = rng.random(N_DOCUMENTS) < 0.2
links = sparse.csr_array(sparse.diags_array((~silent).astype(float)) @ links)
print(f"{words.nnz / N_DOCUMENTS:.0f} different words and {links.nnz / N_DOCUMENTS:.1f} links per document")

# %%
# Each view alone, then both
# --------------------------
# A document that cites nothing lacks the second view. ``observed`` tells kedge, so that it clusters this document by
# its words alone. Otherwise its row of zeros would look like every other row of zeros.

alone = {}
for name, view in {"words": words, "links": links}.items():
    alone[name] = clustering_accuracy(topics, MSGL(N_TOPICS, random_state=0).fit({name: view}).labels_)
    print(f"{name} alone: accuracy {alone[name]:.3f}")

has_links = np.diff(links.indptr) > 0
observed = np.column_stack([np.ones(N_DOCUMENTS, dtype=bool), has_links])
model = MSGL(N_TOPICS, random_state=0).fit({"words": words, "links": links}, observed=observed)
both = clustering_accuracy(topics, model.labels_)
without = clustering_accuracy(topics[~has_links], model.labels_[~has_links])
print(f"both: accuracy {both:.3f}; of the {np.sum(~has_links)} documents without links {without:.3f}")

# %%
# How much each view counts
# -------------------------

weights = dict(zip(model.view_names_, model.view_weights_, strict=True))
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8))
left.bar([*alone, "both"], [*alone.values(), both])
left.set_ylabel("accuracy")
right.bar(list(weights), list(weights.values()))
right.set_ylabel("weight of the view")
figure.tight_layout()

# %%
# New documents
# -------------
# New documents may have words only.

new = sparse.csr_array(rng.multinomial(200, 0.2 * preference[3] + 0.8 * everyday, size=5)).astype(float)
print("five new documents of one topic:", model.predict({"words": new}))
