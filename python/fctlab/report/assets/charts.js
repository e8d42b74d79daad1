"use strict";
// Draws the charts of a page, each time anew from what is chosen. See charts.py for what they are.

const DASHES = ["solid", "dash", "dashdot", "dot"];
const MARKERS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];
const PHONE = 600; // pixels
const MANY = 60; // steps that nobody tells from a line

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
  return chart.series.filter((series) =>
    choices(chart).every(({ name }) => {
      const values = chosen(chart, name);
      return !values || series.keys[name] === undefined || values.includes(series.keys[name]);
    }));
}

// An axis may depend on a choice.
function axis(chart, which) {
  const found = chart[which];
  if ("title" in found) return found;
  return found[(chosen(chart, chart.by) ?? Object.keys(found))[0]];
}

function place(chart, series) {
  const choice = choices(chart).find(({ name }) => name === chart.lines);
  const key = series.keys[chart.lines];
  const number = choice ? choice.options.findIndex(([value]) => value === key) : 0;
  const label = choice ? choice.options[number][1] : "";
  return { number, label: label + (series.label ?? "") };
}

function colour(number) {
  const found = page.colours[number % page.colours.length];
  return found === "#000000" ? css("--text") : found;
}

function told(found, value) {
  return found.words ? value : value == null ? "?" : value > 0 ? prefixed(value, found.unit) : `${value}`;
}

function line(chart, series) {
  const { number, label } = place(chart, series);
  const steps = chart.kind === "steps";
  const open = new Set(series.open ?? []);
  const [x, y] = [axis(chart, "x"), axis(chart, "y")];
  const notes = series.y.map((value, i) => [
    `${x.title} ${escaped(told(x, series.x[i]))}`,
    `${y.title} ${open.has(i) ? "> " : ""}${told(y, value)}` +
      (series.low?.[i] == null ? "" : `, 95%: ${told(y, series.low[i])} to ${told(y, series.high[i])}`),
    (series.notes ?? [])[i] ?? "",
  ].filter(Boolean).join("<br>"));
  return {
    type: "scatter", x: series.x, y: series.y, name: escaped(label), text: notes,
    mode: { steps: "lines", points: "markers" }[chart.kind] ?? "lines+markers",
    line: { color: colour(number), dash: DASHES[number % DASHES.length], width: 2, shape: steps && series.x.length < MANY ? "hv" : "linear" },
    marker: {
      size: 8, color: colour(number),
      symbol: series.y.map((_, i) => MARKERS[number % MARKERS.length] + (open.has(i) ? "-open" : "")),
    },
    error_y: series.low && {
      type: "data", symmetric: false, thickness: 1.2, width: 3, color: colour(number),
      array: series.y.map((value, i) => (series.high[i] ?? value) - value),
      arrayminus: series.y.map((value, i) => value - (series.low[i] ?? value)),
    },
    hovertemplate: `<b>${escaped(label)}</b><br>%{text}<extra></extra>`,
  };
}

function units(found) {
  return found.unit ? { tickformat: "~s", ticksuffix: found.unit } : {};
}

// An axis; a logarithmic one gets its range and ticks here, so that few decades have several of them.
function scale(found, values) {
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
  const digits = high - low < 0.7 ? [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9] : high - low < 3 ? [1, 2, 5] : [1];
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
  return series.flatMap((each) => which === "y" ? [...each.y, ...(each.high ?? []), ...(each.low ?? [])] : each.x);
}

function layout(chart, series, width) {
  const small = width < PHONE;
  const [x, y] = [axis(chart, "x"), axis(chart, "y")];
  return {
    height: small ? 340 : 420, scattermode: chart.kind === "points" ? "group" : "overlay", margin: { l: 10, r: 10, t: 10, b: 10 }, hovermode: "closest",
    paper_bgcolor: "transparent", plot_bgcolor: "transparent",
    font: { family: css("--font"), size: 13, color: css("--text") },
    hoverlabel: { bgcolor: css("--page"), bordercolor: css("--soft"), font: { color: css("--text") } },
    xaxis: scale(x, extent(series, "x")), yaxis: scale(y, extent(series, "y")), showlegend: Boolean(chart.lines),
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
  };
}

function draw(chart) {
  const node = document.querySelector(`#${CSS.escape(chart.id)} .plot`);
  const series = shown(chart);
  const traces = series.map((each) => line(chart, each));
  const options = { displayModeBar: false, responsive: true };
  const drawn = layout(chart, series, node.clientWidth);
  if (!traces.length) {
    drawn.annotations = [{ text: "nothing is chosen", showarrow: false, x: 0.5, y: 0.5, xref: "paper", yref: "paper" }];
  }
  return Plotly.react(node, traces, drawn, options);
}

function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}

function drawAll() {
  document.querySelectorAll(".key").forEach((key) => {
    key.style.background = colour(Number(key.dataset.line));
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
