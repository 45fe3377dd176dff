"""What a page of the report holds, by the parser of the standard library."""

import base64
import json
from html.parser import HTMLParser

import numpy as np

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """A page in lists: ids, links, attributes of elements, texts, and data of figures."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.tags, self.data, self.text = [], [], [], {}, []
        self.figures, self.captions, self.headings, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert len(given) == len(attributes), f"an attribute twice in {tag}"
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("src", "href") if name in given]
        assert not any(name.startswith("on") for name in given), "a handler in an attribute"
        if given.get("class") == "plot":
            self.figures.append(given)
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        opened, _ = self.open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"

    def handle_data(self, text):
        if not self.open:
            return
        tag, given = self.open[-1]
        if tag == "script":
            if given.get("type") == "application/json":
                self.data[given["id"].removesuffix("-data")] = json.loads(text)
        elif tag != "style":
            self.text.append(text)
            self.captions += [text] if tag == "caption" else []
            self.headings += [(tag, text)] if tag in ("h1", "h2", "h3") else []

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())

    def sections(self):
        return [given["id"] for tag, given in self.tags if tag == "section"]


def unpacked(values):
    """Return numbers of a figure, packed or not."""
    if isinstance(values, dict):
        array = np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
        return array.reshape([int(part) for part in values["shape"].split(",")]) if "shape" in values else array
    return np.array(values)


def count_marks(figure):
    """Return how many points, bars or cells a figure has."""
    marks = 0
    for trace in figure["data"]:
        values = unpacked(trace["z"] if trace["type"] == "heatmap" else trace["y"])
        assert np.isfinite(values.astype(float)).all()
        marks += values.size
    return marks


def check_page(text):
    """Check what every page must keep, and return it."""
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids), "an id twice"
    assert all(link.startswith(("#", "data:")) for link in page.links), page.links
    for link in page.links:
        assert not link.startswith("#") or link[1:] in page.ids, f"{link} leads nowhere"
    assert page.figures
    for figure in page.figures:
        assert figure["role"] == "img"
        assert len(figure["aria-label"]) > 20
        assert count_marks(page.data[figure["id"]]) > 0
    for tag, given in page.tags:
        assert tag != "canvas" or given["aria-label"]
        assert tag not in ("iframe", "img", "object", "embed")
    assert len([1 for tag, _ in page.tags if tag == "table"]) == len(page.captions)
    assert [tag for tag, _ in page.headings].count("h1") == 1
    for landmark in ("header", "nav", "main", "footer"):
        assert [tag for tag, _ in page.tags].count(landmark) == 1
    return page
