"""The page in a real browser, opened from disk: nothing is loaded, nothing fails, every figure is drawn."""

import base64
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kedge import MSGL, SGL
from kedge.plots.fitted_model import sampled_by_cluster
from kedge.plots.projection import MOST_ANCHORS
from kedge.report import write_report

pytestmark = [pytest.mark.check, pytest.mark.needs("browser")]
ARTEFACTS = Path(__file__).parents[2] / "browser-artefacts"
DESKTOP, PHONE = 1280, 375
# What stands for a mark in the drawings of Plotly; heat maps are images, many points are on a canvas.
MARKS = ".point path, .points path.point, .scatterlayer .point, image, .gl-canvas"
COUNT_MARKS = f"""
return Array.from(document.querySelectorAll('.plot')).map(plot => [plot.id, plot.querySelectorAll('{MARKS}').length]);
"""
# Of every figure, what sticks out of it: texts that are cut off.
CUT_OFF = """
const cut = [];
for (const plot of document.querySelectorAll('.plot')) {
  const frame = plot.getBoundingClientRect();
  for (const text of plot.querySelectorAll('text')) {
    const box = text.getBoundingClientRect();
    if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)) {
      cut.push(plot.id + ': ' + text.textContent);
    }
  }
}
return cut;
"""
# Titles of axes that lie on the labels of their ticks.
OVERLAPS = """
const found = [];
for (const plot of document.querySelectorAll('.plot')) {
  for (const axis of ['x', 'y']) {
    const title = plot.querySelector(`.g-${axis}title text`)?.getBoundingClientRect();
    for (const text of title ? plot.querySelectorAll(`.${axis}tick text`) : []) {
      const box = text.getBoundingClientRect();
      const lies = axis === 'x' ? box.bottom > title.top + 2 : box.right > title.left + 2 && box.left < title.right - 2;
      if (box.width && lies) { found.push(`${plot.id} ${axis}: ${text.textContent}`); }
    }
  }
}
return found;
"""
COLOURS = """
const text = document.querySelector('#sizes-figure .xtick text');
return [getComputedStyle(document.body).backgroundColor, getComputedStyle(text).fill];
"""


@pytest.fixture(scope="module")
def browser():
    selenium = pytest.importorskip("selenium.webdriver")
    options = selenium.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for switch in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = selenium.ChromeService(shutil.which("chromedriver"))
    driver = selenium.Chrome(options=options, service=service)
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, demo, digits, digits_model, many_rows, many_rows_model):
    folder = tmp_path_factory.mktemp("pages")
    shutil.copy(demo[0] / "run" / "report.html", folder / "demo.html")
    X, y = digits
    more = {"true_labels": y, "image_shape": (8, 8), "row_names": [f"<b>{row}</b>" for row in range(len(X))]}
    write_report(folder / "digits.html", digits_model, [X], view_names=["digits"], **more)
    write_report(folder / "many.html", many_rows_model, [many_rows], view_names=["many"])
    model = SGL(random_state=0).fit(X[:300])
    write_report(folder / "auto.html", model, [X[:300]], view_names=["digits"])
    halves = [X[:, :32], X[:, 32:]]
    model = MSGL(6, beta=0.1, random_state=0).fit(halves)
    names = [["</script><script>window.broken = 1</script>" * 3] * 32, None]
    write_report(folder / "halves.html", model, halves, view_names=["<i>upper", "lower"], feature_names=names)
    return folder


def open_page(browser, path, width, dark=False):
    """Open a page and wait until it is drawn."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    set_theme(browser, dark)
    browser.get(path.as_uri())
    wait_until_drawn(browser)


def set_theme(browser, dark):
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def wait_until_drawn(browser):
    browser.execute_async_script("""
        const done = arguments[0];
        const look = () => document.documentElement.dataset.drawn ? done() : requestAnimationFrame(look);
        look();
    """)


def keep_picture(browser, name):
    ARTEFACTS.mkdir(exist_ok=True)
    size = browser.execute_script("return [innerWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    (ARTEFACTS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def requests_of(browser):
    """Return what was asked of the disk or the network since the last call."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith(("data:", "blob:"))]


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        *(("demo", width, dark) for width in (DESKTOP, PHONE) for dark in (False, True)),
        ("many", DESKTOP, False),
        ("many", PHONE, False),
        ("halves", PHONE, False),
        ("auto", DESKTOP, True),
    ],
)
def test_every_figure_is_drawn_without_errors_or_requests(browser, pages, name, width, dark):
    browser.get_log("browser"), requests_of(browser)
    path = pages / f"{name}.html"
    open_page(browser, path, width, dark)
    keep_picture(browser, f"{name}-{width}-{'dark' if dark else 'light'}")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert requests_of(browser) == [path.as_uri()]
    marks = dict(browser.execute_script(COUNT_MARKS))
    assert {"sizes-figure", "map-figure", "graph-figure", "features-figure-0"} <= set(marks)
    assert all(marks.values()), marks
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(CUT_OFF) == []
    assert browser.execute_script(OVERLAPS) == []
    assert browser.execute_script("return window.broken") is None


def test_points_bars_and_cells_are_as_many_as_the_numbers(browser, pages, digits_model):
    open_page(browser, pages / "digits.html", DESKTOP)
    count = "return document.querySelectorAll(arguments[0]).length"
    assert browser.execute_script(count, "#sizes-figure .bars .point path") == 10
    points = browser.execute_script(count, "#map-figure .scatterlayer path.point")
    n_anchors = len(sampled_by_cluster(digits_model.anchor_labels_, 10, MOST_ANCHORS))
    assert points == len(digits_model.labels_) + n_anchors
    images = browser.execute_script("""
        return Array.from(document.querySelectorAll('canvas[data-pixels]')).map(canvas => {
          const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          return new Set(pixels).size;
        });
    """)
    assert len(images) == 50
    assert min(images) > 5


def test_hovering_tells_row_cluster_confidence_and_features_as_text(browser, pages):
    open_page(browser, pages / "digits.html", DESKTOP)
    words = browser.execute_script("""
        Plotly.Fx.hover('map-figure', [{curveNumber: 1, pointNumber: 0}]);
        const texts = document.querySelectorAll('#map-figure .hoverlayer text');
        return Array.from(texts, text => text.textContent).join(' ');
    """)
    assert "<b>" in words
    for part in ("(row ", "cluster 0", "confidence ", "feature "):
        assert part in words


@pytest.mark.parametrize(("name", "width"), [("digits", DESKTOP), ("digits", PHONE), ("many", DESKTOP)])
def test_rows_take_the_colours_of_the_layer_that_is_chosen(browser, pages, name, width):
    open_page(browser, pages / f"{name}.html", width)
    looks = """
        const [choice, done] = arguments;
        const select = document.getElementById('map-layer');
        if (choice !== null) { select.value = choice; select.dispatchEvent(new Event('change')); }
        const plot = document.getElementById('map-figure');
        setTimeout(() => {
          const rows = plot.data.filter((trace) => trace.meta === 'rows');
          const looks = new Set(rows.flatMap((trace) => Array.isArray(trace.marker.color)
            ? trace.marker.color.map((colour, at) => colour + trace.marker.symbol[at])
            : [trace.marker.color + trace.marker.symbol]));
          const numbers = plot.querySelectorAll('.annotation').length;
          done([looks.size, numbers, select.selectedOptions[0].textContent, rows[0].text[0]]);
        }, 500);
    """
    before = browser.execute_async_script(looks, None)
    coarsest = browser.execute_script("return document.getElementById('map-layer').options.length - 1")
    n_looks, n_numbers, words, hover = browser.execute_async_script(looks, str(coarsest))
    assert (n_looks, n_numbers, words) == (2, 2, "2 clusters")
    assert "cluster 0 of 2" in hover or "cluster 1 of 2" in hover
    chosen = "return Array.from(document.getElementById('map-layer').options).findIndex((one) => one.defaultSelected)"
    assert browser.execute_async_script(looks, str(browser.execute_script(chosen))) == before
    assert before[:2] == ([24, 24] if name == "many" else [10, 10])
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_figures_follow_the_theme_also_when_it_changes(browser, pages):
    open_page(browser, pages / "digits.html", DESKTOP, dark=True)
    dark = browser.execute_script(COLOURS)
    set_theme(browser, dark=False)
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    light = browser.execute_script(COLOURS)
    for (paper, ink), lighter_paper in ((dark, False), (light, True)):
        paper, ink = (np.array([int(part) for part in colour[4:-1].split(",")][:3]) for colour in (paper, ink))
        assert (paper.sum() > ink.sum()) == lighter_paper
        assert abs(int(paper.sum()) - int(ink.sum())) > 400, "hard to read"


def test_a_dark_page_is_printed_on_white_paper(browser, pages):
    open_page(browser, pages / "demo.html", DESKTOP, dark=True)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    keep_picture(browser, "demo-print")
    paper, ink = browser.execute_script(COLOURS)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert (paper, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")


def test_the_skip_link_comes_first_and_leads_to_the_content(browser, pages):
    open_page(browser, pages / "digits.html", PHONE)
    browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Tab", "windowsVirtualKeyCode": 9})
    assert browser.execute_script("return document.activeElement.className") == "skip"
    browser.execute_script("document.activeElement.click()")
    assert browser.execute_script("return location.hash") == "#content"
