"""The page: its head, its sections, its style and its program, in one file."""

from importlib.resources import files

from kedge.report.markup import Section, escape
from kedge.report.material import Material
from kedge.report.sections.cluster_count import cluster_count
from kedge.report.sections.confidence import confidence
from kedge.report.sections.course import objective, view_weights
from kedge.report.sections.features import features
from kedge.report.sections.graph import graph
from kedge.report.sections.layers import layers
from kedge.report.sections.overview import overview, title_of
from kedge.report.sections.parameters import parameters
from kedge.report.sections.prototypes import prototypes
from kedge.report.sections.row_map import row_map
from kedge.report.sections.scores import scores
from kedge.report.sections.sizes import sizes

# In the order of the page.
SECTIONS = (
    sizes,
    row_map,
    layers,
    features,
    prototypes,
    confidence,
    scores,
    graph,
    view_weights,
    objective,
    cluster_count,
    parameters,
)
# The page may not load anything from anywhere; Plotly compiles its drawing of many points, which is evaluation.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def render_page(material: Material, plotly_program: str) -> str:
    """Return the whole page."""
    sections = [made for make in SECTIONS if (made := make(material)) is not None]
    title = escape(f"{title_of(material)}: kedge report", 200)
    links = "".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections)
    data = "".join(
        f'<script type="application/json" id="{name}-data">{content}</script>\n'
        for one in sections
        for name, content in one.figures.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{_asset("page.css")}
</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>{escape(title_of(material), 200)}</h1>
{overview(material)}
<noscript><p class="note">Figures need JavaScript; the tables hold their numbers.</p></noscript>
</header>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main id="content" tabindex="-1">
{"".join(_render(one) for one in sections)}
</main>
<footer><p>Written by kedge. This page holds all it shows and loads nothing.</p></footer>
{data}<script>
{plotly_program}
</script>
<script>
{_asset("page.js")}
</script>
</body>
</html>
"""


def _render(section: Section) -> str:
    heading = f'<h2 id="{section.name}-heading">{escape(section.title)}</h2>'
    return f'<section id="{section.name}" aria-labelledby="{section.name}-heading">{heading}{section.body}</section>\n'


def _asset(name: str) -> str:
    return files("kedge.report").joinpath(name).read_text(encoding="utf-8").strip()
