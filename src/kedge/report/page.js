"use strict";
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  // Points beyond which a canvas draws faster than vector graphics.
  const MANY_POINTS = 3000;
  let printing = false;

  const read = (name) => {
    const element = document.getElementById(`${name}-data`);
    return element === null ? null : JSON.parse(element.textContent);
  };

  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const isDark = dark.matches && !printing;
    if (printing) {
      return { isDark, surface: "#ffffff", text: "#000000", quiet: "#333333", line: "#bbbbbb" };
    }
    return {
      isDark, surface: colour("--surface"), text: colour("--text"), quiet: colour("--quiet"), line: colour("--line"),
    };
  };

  // From the paper to ink: more is further from the background in both themes.
  const scales = (now) => ({
    sequential: now.isDark
      ? [[0, now.surface], [0.4, "#1f5f95"], [0.75, "#56b4e9"], [1, "#e3f4ff"]]
      : [[0, now.surface], [0.35, "#a6cbe8"], [0.7, "#2f7fbd"], [1, "#062f57"]],
    diverging: now.isDark
      ? [[0, "#56b4e9"], [0.5, "#2a3138"], [1, "#f0913a"]]
      : [[0, "#0062a3"], [0.5, "#f5f6f7"], [1, "#c24e00"]],
  });

  const canDrawOnGraphicsCard = () => {
    try {
      return document.createElement("canvas").getContext("webgl") !== null;
    } catch {
      return false;
    }
  };

  const signed = (tenths) => `${tenths < 0 ? "−" : "+"}${(Math.abs(tenths) / 10).toFixed(1)}`;

  // What is said about a row of the map; its texts were escaped when the page was written.
  const describe = (hover, place, layer = null) => {
    const name = hover.names === undefined ? `row ${hover.rows[place]}` : `${hover.names[place]} (row ${hover.rows[place]})`;
    const lines = [name, layer === null ? `cluster ${hover.labels[place]}` : `cluster ${layer.labels[place]} of ${layer.n_clusters}`];
    if (hover.confidence !== undefined && layer === null) {
      lines[1] += `, confidence ${(hover.confidence[place] / 100).toFixed(2)}`;
    }
    for (const view of hover.views ?? []) {
      for (let rank = 0; rank < view.count; rank += 1) {
        const at = place * view.count + rank;
        if (view.tenths[at] !== 0) {
          lines.push(`${view.names[view.places[at]]} ${signed(view.tenths[at])}`);
        }
      }
    }
    return lines.join("<br>");
  };

  const unpack = (packed) => {
    if (Array.isArray(packed)) {
      return packed;
    }
    const bytes = Uint8Array.from(atob(packed.bdata), (letter) => letter.charCodeAt(0));
    const kinds = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array };
    return new kinds[packed.dtype](bytes.buffer);
  };

  // Which rows each trace of the map shows; filled when the map is prepared.
  const placesOf = new Map();

  const prepareMap = (figure, hover) => {
    const rows = figure.data.filter((trace) => trace.meta === "rows");
    const fast = hover.rows.length > MANY_POINTS && canDrawOnGraphicsCard();
    for (const trace of rows) {
      placesOf.set(trace.name, Array.from(unpack(trace.customdata)));
      trace.text = placesOf.get(trace.name).map((place) => describe(hover, place));
      delete trace.customdata;
    }
    if (fast) {
      for (const trace of figure.data) {
        trace.type = "scattergl";
      }
    }
  };

  // The map in the colours of another layer; anchors and the legend belong to the layer of the page.
  const inLayer = (figure, hover, layer) => ({
    data: figure.data.map((trace) => {
      if (trace.meta !== "rows") {
        return { ...trace, visible: false };
      }
      const places = placesOf.get(trace.name);
      const look = (kind) => places.map((place) => kind[layer.labels[place]]);
      const marker = { ...trace.marker, color: look(layer.colours), symbol: look(layer.symbols) };
      return { ...trace, marker, text: places.map((place) => describe(hover, place, layer)) };
    }),
    layout: {
      ...figure.layout, showlegend: false,
      annotations: layer.numbers.map(([cluster, x, y]) => ({ x, y, text: String(cluster), showarrow: false, borderpad: 2 })),
    },
  });

  // Labels that would lie on one another are left out; hovering still tells them.
  const thinOut = (layout, width) => {
    const axes = { xaxis: width - 70, yaxis: layout.height - 160 };
    for (const [key, room] of Object.entries(axes)) {
      const { tickvals, ticktext } = layout[key] ?? {};
      if (Array.isArray(tickvals) && tickvals.length > 1) {
        const keep = Math.ceil((15 * tickvals.length) / room);
        layout[key].tickvals = tickvals.filter((_, place) => place % keep === 0);
        layout[key].ticktext = ticktext.filter((_, place) => place % keep === 0);
      }
    }
  };

  const themed = (figure, now, width) => {
    const narrow = width < 600;
    const layout = { ...figure.layout };
    layout.paper_bgcolor = "rgba(0,0,0,0)";
    layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.font = { color: now.text, family: "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif", size: narrow ? 11 : 13 };
    layout.hoverlabel = { bgcolor: now.surface, bordercolor: now.quiet, font: { color: now.text }, align: "left" };
    for (const key of Object.keys(layout).filter((one) => /^[xy]axis/.test(one))) {
      layout[key] = { ...layout[key], gridcolor: now.line, zerolinecolor: now.line, linecolor: now.line, fixedrange: narrow };
    }
    layout.shapes = (layout.shapes ?? []).map((shape) => ({ ...shape, line: { ...shape.line, color: now.line } }));
    layout.annotations = (layout.annotations ?? []).map((note) => ({
      ...note, font: { color: now.text, size: narrow ? 11 : 13 }, bgcolor: now.surface, bordercolor: now.quiet, opacity: 0.85,
    }));
    if (narrow && figure.data.length > 6) {
      layout.showlegend = false;
    }
    if (narrow && layout.height > 420) {
      layout.height = 420;
    }
    layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: now.quiet, activecolor: now.text };
    thinOut(layout, width);
    const data = figure.data.map((trace) => {
      const scale = scales(now)[trace.meta];
      if (scale !== undefined) {
        return { ...trace, colorscale: scale };
      }
      if (trace.meta === "outlined") {
        const pattern = trace.marker.pattern && { ...trace.marker.pattern, fillmode: "overlay", fgcolor: now.surface, solidity: 0.25 };
        return { ...trace, marker: { ...trace.marker, pattern, line: { width: 1, color: now.quiet } } };
      }
      return trace;
    });
    return { data, layout };
  };

  const places = Array.from(document.querySelectorAll(".plot"));
  const figures = new Map(places.map((place) => [place, read(place.id)]));

  const drawFigures = () => {
    const now = theme();
    return Promise.all(places.map((place) => {
      const { data, layout } = themed(figures.get(place), now, place.clientWidth);
      // Only the map is worth a tool bar.
      const tools = place.id === "map-figure" && place.clientWidth >= 600 ? "hover" : false;
      place.style.minHeight = `${layout.height}px`;
      return Plotly.react(place, data, layout, {
        responsive: true, displaylogo: false, displayModeBar: tools,
        modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
      });
    }));
  };

  const drawImages = () => {
    const sources = new Map();
    const now = theme();
    for (const canvas of document.querySelectorAll("canvas[data-pixels]")) {
      const name = canvas.dataset.pixels;
      if (!sources.has(name)) {
        sources.set(name, read(name));
      }
      const { height, width, pixels } = sources.get(name);
      canvas.height = height;
      canvas.width = width;
      const image = new ImageData(width, height);
      pixels[Number(canvas.dataset.place)].forEach((value, at) => {
        const shade = now.isDark ? value : 255 - value;
        image.data.set([shade, shade, shade, 255], 4 * at);
      });
      canvas.getContext("2d").putImageData(image, 0, 0);
    }
  };

  const draw = () => {
    drawImages();
    return drawFigures();
  };

  const hover = read("map-hover");
  if (hover !== null) {
    const map = document.getElementById("map-figure");
    prepareMap(figures.get(map), hover);
    const ownLayer = figures.get(map);
    const layers = (read("map-layers") ?? []).map((layer) => ({ ...layer, labels: unpack(layer.labels) }));
    const select = document.getElementById("map-layer");
    const choose = () => {
      figures.set(map, select.selectedOptions[0].defaultSelected ? ownLayer : inLayer(ownLayer, hover, layers[Number(select.value)]));
      return drawFigures();
    };
    if (select !== null) {
      // A browser may come back to a page with the choice that was made there.
      select.selectedIndex = Array.from(select.options).findIndex((option) => option.defaultSelected);
      select.addEventListener("change", choose);
    }
  }
  dark.addEventListener("change", draw);
  window.addEventListener("beforeprint", () => { printing = true; draw(); });
  window.addEventListener("afterprint", () => { printing = false; draw(); });
  // Turning a phone changes what fits beside a figure.
  window.matchMedia("(max-width: 640px)").addEventListener("change", draw);
  draw().then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
