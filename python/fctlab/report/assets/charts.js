"use strict";
// Draws the charts of a page, each time anew from what is chosen. See charts.py for what they are.

const DASHES = ["solid", "dash", "dashdot", "dot"];
const MARKERS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];
const PHONE = 600; // pixels
const MANY = 60; // steps that nobody tells from a line
const CELL = 44; // pixels of a map's cell that a number fits into
const ROWS = 45; // of a map that numbers fit into
const LOW_TO_HIGH = [[0, "#0072B2"], [0.5, "#F4F1EA"], [1, "#D55E00"]]; // around a centre

const page = JSON.parse(document.getElementById("data").textContent);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// plotly.js, which is in the page compressed.
async function load() {
  const packed = atob(document.getElementById("library").textContent);
  const bytes = Uint8Array.from(packed, (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

// What is chosen for a chart: by its own controls, else by those of the whole page.
function chosen(chart, name) {
  for (const of of [chart.id, ""]) {
    const control = document.querySelector(`[data-choice="${name}"][data-chart="${of}"]`);
    if (!control) continue;
    if (control.tagName === "SELECT") return [control.value];
    return [...control.querySelectorAll("input:checked")].map((box) => box.value);
  }
  return null;
}

function choices(chart) {
  return [...chart.choices, ...page.choices];
}

function shown(chart) {
  const found = page.series[chart.series].filter((series) =>
    choices(chart).every(({ name }) => {
      const values = chosen(chart, name);
      return !values || series.keys[name] === undefined || values.includes(series.keys[name]);
    }));
  return chart.grid.length ? found.map((series) => slice(chart, series)) : found;
}

// Of a grid, numbers of the dimensions that are drawn along.
function along(chart) {
  const { options } = chart.choices.find(({ name }) => name === "along");
  return (chosen(chart, "along") ?? options[0])[0].split(" ").map(Number);
}

// Values of a series where the dimensions that are not drawn along have the values that are chosen.
function slice(chart, series) {
  const drawn = along(chart);
  let places = [0];
  chart.grid.forEach(({ values }, number) => {
    const fixed = drawn.includes(number) ? values.map((_, i) => i) : [Number((chosen(chart, `at${number}`) ?? [0])[0])];
    places = places.flatMap((place) => fixed.map((i) => place * values.length + i));
  });
  const pick = (list) => list && places.map((place) => list[place] ?? null);
  const open = new Set(series.open ?? []);
  return {
    ...series, x: chart.grid[drawn[0]].values, y: pick(series.y), low: pick(series.low), high: pick(series.high),
    notes: pick(series.notes), open: places.flatMap((place, i) => open.has(place) ? [i] : []),
  };
}

// An axis may depend on a choice.
function axis(chart, which) {
  if (which === "x" && chart.grid.length) return chart.grid[along(chart)[0]].axis;
  const found = chart[which];
  if ("title" in found) return found;
  return found[(chosen(chart, chart.by) ?? Object.keys(found))[0]];
}

function place(chart, series) {
  const choice = choices(chart).find(({ name }) => name === chart.lines);
  const key = series.keys[chart.lines];
  const number = choice ? choice.options.findIndex(([value]) => value === key) : 0;
  const label = choice ? choice.options[number][1] : "";
  return { number, look: stateColour(key) || colour(number), label: label + (series.label ?? "") };
}

// Colours of words such as "met".
function stateColour(state) {
  return css(`--state-${state}`);
}

function colour(number) {
  const found = page.colours[number % page.colours.length];
  return found === "#000000" ? css("--text") : found;
}

function told(found, value) {
  return found.words ? `${value ?? "-"}` : value == null ? "?" : value > 0 ? prefixed(value, found.unit) : `${value}`;
}

// What is told of a point that is pointed at.
function note(chart, series, i) {
  const y = axis(chart, "y");
  const bound = (series.open ?? []).includes(i) ? "> " : "";
  const ends = series.low?.[i] == null && series.high?.[i] == null ? "" :
    `, 95%: ${told(y, series.low?.[i])} to ${told(y, series.high?.[i])}`;
  return [`${y.title} ${bound}${escaped(told(y, series.y[i]))}${ends}`, escaped((series.notes ?? [])[i] ?? "")]
    .filter(Boolean).join("<br>");
}

// Dots have words on the left, and their values across.
function dots(chart, series) {
  const { x, y, error_y, ...trace } = line(chart, series);
  return { ...trace, x: y, y: x, mode: "markers", error_x: error_y };
}

function line(chart, series) {
  const { number, look, label } = place(chart, series);
  const steps = chart.kind === "steps";
  const open = new Set(series.open ?? []);
  const x = axis(chart, "x");
  const notes = series.y.map((_, i) => `${x.title} ${escaped(told(x, series.x[i]))}<br>${note(chart, series, i)}`);
  return {
    type: "scatter", x: series.x, y: series.y, name: escaped(label), text: notes,
    mode: { steps: "lines", points: "markers" }[chart.kind] ?? "lines+markers",
    line: { color: look, dash: DASHES[number % DASHES.length], width: 2, shape: steps && series.x.length < MANY ? "hv" : "linear" },
    marker: {
      size: 8, color: look,
      symbol: series.y.map((_, i) => MARKERS[number % MARKERS.length] + (open.has(i) ? "-open" : "")),
    },
    error_y: series.low && {
      type: "data", symmetric: false, thickness: 1.2, width: 3, color: look,
      array: series.y.map((value, i) => (series.high[i] ?? value) - value),
      arrayminus: series.y.map((value, i) => value - (series.low[i] ?? value)),
    },
    hovertemplate: `<b>${escaped(label)}</b><br>%{text}<extra></extra>`,
  };
}

// Colours over two dimensions, whose values are as far apart as they are many.
function map(chart, series, width) {
  const [across, up] = along(chart).map((number) => chart.grid[number]);
  const y = axis(chart, "y");
  const rows = (list) => up.values.map((_, j) => across.values.map((_, i) => list[i * up.values.length + j]));
  const at = series.y.map((_, k) => k);
  const open = new Set(series.open);
  const values = series.y.map((value) =>
    y.states.length ? (value == null ? null : y.states.indexOf(value)) : y.log ? (value > 0 ? Math.log10(value) : null) : value);
  const known = values.filter((value) => value != null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const needed = y.states.length ? CELL / 2 : width < PHONE ? CELL : 1.25 * CELL;
  const fits = width / across.values.length > needed && up.values.length < ROWS;
  const signs = { met: "✓", violated: "✗", undecided: "?" };
  const text = series.y.map((value, k) => value == null ? "" : y.states.length ? signs[value] ?? value :
    `${open.has(k) ? "> " : ""}${told(y, Number(value.toPrecision(3)))}`);
  const centre = y.centre == null ? null : y.log ? Math.log10(y.centre) : y.centre;
  const reach = Math.max(Math.abs(low - centre), Math.abs(high - centre), 1e-3);
  const last = y.states.length - 1;
  const colours = y.states.length ?
    { zmin: -0.5, zmax: last + 0.5, colorscale: y.states.flatMap((state, i) =>
      [[i / (last + 1), stateColour(state)], [(i + 1) / (last + 1), stateColour(state)]]) } :
    centre == null ? { zmin: low, zmax: high > low ? high : low + 1e-3, colorscale: "Cividis" } :
      { zmin: centre - reach, zmax: centre + reach, colorscale: LOW_TO_HIGH };
  const ticks = y.states.length ? y.states.map((_, i) => i) :
    [0, 0.25, 0.5, 0.75, 1].map((share) => colours.zmin + share * (colours.zmax - colours.zmin));
  const number = (value) => told(y, Number((y.log ? 10 ** value : value).toPrecision(3)));
  return {
    type: "heatmap", x: across.labels, y: up.labels, z: rows(values), text: rows(text),
    texttemplate: fits ? "%{text}" : "", textfont: y.states.length ? { size: 18 } : {},
    xgap: fits ? 2 : 0, ygap: fits ? 2 : 0, hoverongaps: false, ...colours,
    customdata: rows(at.map((k) => note(chart, series, k))),
    hovertemplate: `${escaped(across.axis.title)} %{x}<br>${escaped(up.axis.title)} %{y}<br>%{customdata}<extra></extra>`,
    colorbar: {
      thickness: 12, outlinewidth: 0, tickvals: ticks,
      ticktext: y.states.length ? y.states : ticks.map(number),
      ...(width < PHONE ? { orientation: "h", y: 1, yanchor: "bottom", len: 1 } : {}),
    },
  };
}

function units(found) {
  return found.unit ? { tickformat: "~s", ticksuffix: found.unit } : {};
}

// An axis; a logarithmic one gets its range and ticks here, so that few decades have several of them.
function scale(found, values, narrow = false) {
  const common = {
    title: { text: found.title, standoff: 10 }, gridcolor: css("--line"), linecolor: css("--soft"),
    zeroline: false, automargin: true, fixedrange: true,
  };
  if (found.words) return { ...common, type: "category" };
  const logs = values.filter((value) => value > 0).map(Math.log10);
  if (!found.log || !logs.length) return { ...common, ...units(found), rangemode: found.zero ? "tozero" : "normal" };
  const least = found.least ? Math.log10(found.least) : -Infinity;
  const [low, high] = [Math.max(Math.min(...logs), least), Math.max(...logs)];
  const margin = Math.max(0.05 * (high - low), 0.1);
  const decades = Array.from({ length: Math.ceil(high + margin) - Math.floor(low - margin) + 1 },
    (_, i) => Math.floor(low - margin) + i);
  const several = narrow ? [1, 1.5, 2, 3, 5, 7] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const digits = high - low < 0.7 ? several : high - low < (narrow ? 1 : 3) ? [1, 2, 5] : [1];
  const tickvals = decades.flatMap((decade) => digits.map((digit) => digit * 10 ** decade));
  return {
    ...common, type: "log", range: [low - margin, high + margin], tickvals,
    ticktext: tickvals.map((value) => prefixed(value, found.unit)),
  };
}

// With an SI prefix, as formats.py has it: "100 us".
function prefixed(value, unit) {
  if (!unit) return Number(value.toPrecision(4)).toString();
  const prefixes = { "-9": "n", "-6": "u", "-3": "m", 0: "", 3: "k", 6: "M", 9: "G" };
  const power = Math.min(Math.max(3 * Math.floor(Math.log10(value) / 3 + 1e-9), -9), 9);
  return `${Number((value / 10 ** power).toPrecision(3))} ${prefixes[power]}${unit}`;
}

function extent(series, which) {
  return series.flatMap((each) =>
    which === "y" ? [...each.y, ...(each.high ?? []), ...(each.low ?? []), ...(each.marks ?? [])] : each.x);
}

// What values are held against, and what they are compared with.
function marks(chart, series) {
  const line = (value, dash, color = css("--soft")) => ({
    type: "line", layer: "below", line: { color, width: 1.5, dash },
    ...(chart.kind === "dots" ? { yref: "paper", y0: 0, y1: 1, x0: value, x1: value } :
      { xref: "paper", x0: 0, x1: 1, y0: value, y1: value }),
  });
  const { centre } = axis(chart, "y");
  const held = series.flatMap((each) => (each.marks ?? []).map((mark) => [mark, place(chart, each).look]));
  return [
    ...(centre == null ? [] : [line(centre, "solid")]),
    ...held.map(([mark, look]) => line(mark, "dash", chart.kind === "dots" ? undefined : look)),
  ];
}

function mapLayout(chart, series, width) {
  const [x, y] = along(chart).map((number) => chart.grid[number]);
  const words = (found) => ({ ...scale({ ...found.axis, words: true }, []), showgrid: false });
  return {
    ...layout(chart, [], width), height: Math.min(Math.max(120 + 34 * y.values.length, 300), 900),
    xaxis: words(x), yaxis: { ...words(y), autorange: y.axis.words ? "reversed" : true }, showlegend: false, shapes: [],
  };
}

function layout(chart, series, width) {
  const small = width < PHONE;
  const [x, y] = [axis(chart, "x"), axis(chart, "y")];
  return {
    shapes: marks(chart, series), scattermode: chart.kind === "points" ? "group" : "overlay",
    height: small ? 340 : 420, margin: { l: 10, r: 10, t: 10, b: 10 }, hovermode: "closest",
    paper_bgcolor: "transparent", plot_bgcolor: "transparent",
    font: { family: css("--font"), size: 13, color: css("--text") },
    hoverlabel: { bgcolor: css("--page"), bordercolor: css("--soft"), font: { color: css("--text") } },
    xaxis: scale(x, extent(series, "x")), yaxis: scale(y, extent(series, "y"), small && chart.kind === "dots"), showlegend: Boolean(chart.lines),
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
  };
}

function dotsLayout(chart, series, width) {
  const drawn = layout(chart, series, width);
  const small = width < PHONE;
  const there = new Set(extent(series, "x"));
  const words = axis(chart, "x").states.filter((word) => there.has(word));
  // On a phone a label has two lines, and needs no title beside it.
  const labels = words.map((word) => small ? escaped(word).replace(" ", "<br>") : escaped(word));
  return {
    ...drawn, height: Math.max(180, 110 + (small ? 42 : 30) * words.length), xaxis: { ...drawn.yaxis, tickangle: 0 },
    yaxis: {
      ...drawn.xaxis, autorange: "reversed", categoryorder: "array", categoryarray: words,
      tickvals: words, ticktext: labels, ...(small ? { title: { text: "" } } : {}),
    },
  };
}

function draw(chart) {
  const node = document.querySelector(`#${CSS.escape(chart.id)} .plot`);
  const series = shown(chart).filter((each) => each.y.some((value) => value != null));
  const width = node.clientWidth;
  const [trace, look] = { map: [map, mapLayout], dots: [dots, dotsLayout] }[chart.kind] ?? [line, layout];
  const traces = (chart.kind === "map" ? series.slice(0, 1) : series).map((each) => trace(chart, each, width));
  const options = { displayModeBar: false, responsive: true };
  const drawn = look(chart, series, width);
  hide(chart);
  node.style.minHeight = `${drawn.height}px`;
  if (!traces.length) {
    drawn.annotations = [{ text: "nothing is there of what is chosen", showarrow: false, x: 0.5, y: 0.5, xref: "paper", yref: "paper" }];
  }
  return Plotly.react(node, traces, drawn, options);
}

// What is drawn along has no value to choose.
function hide(chart) {
  const drawn = chart.grid.length ? along(chart) : [];
  chart.choices.filter(({ name }) => /^at\d+$/.test(name)).forEach(({ name }) => {
    const control = document.querySelector(`[data-choice="${name}"][data-chart="${chart.id}"]`);
    if (control) control.closest(".pick").hidden = drawn.includes(Number(name.slice(2)));
  });
}

function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}

function drawAll() {
  document.querySelectorAll(".key").forEach((key) => {
    key.style.background = stateColour(key.dataset.value) || colour(Number(key.dataset.line));
  });
  return Promise.all(page.charts.map(draw));
}

async function start() {
  document.documentElement.classList.add("drawn");
  await load();
  await drawAll();
  document.querySelectorAll("[data-choice]").forEach((control) => {
    const { chart } = control.dataset;
    const charts = page.charts.filter(({ id }) => !chart || id === chart);
    control.addEventListener("change", () => charts.forEach(draw));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  matchMedia("print").addEventListener("change", drawAll);
  document.documentElement.dataset.ready = "yes";
}

start();
