// One chart: a line for each configuration, its bounds as a band, what failed as crosses, and regressions with their commit.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { h } from "./dom.js";
import { boundsText, kindOf, shortCommit, timeText, turnText, valueText } from "./wording.js";

const HEIGHT = 230;
const HAND = 4;
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const DENSE = 200;
const CORNERS = {
  triangle: [[0, -1.2], [1.1, 1], [-1.1, 1]],
  down: [[0, 1.2], [1.1, -1], [-1.1, -1]],
  diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
};
const SHAPES = ["circle", "square", "triangle", "diamond", "down"];
// Okabe and Ito's colours, which colour-blind people tell apart; each has a shape and a dash besides.
const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6", "--line-7"];

/** How the line of a place looks: colour, dash and shape come round at different times. */
export function look(place) {
  const colour = getComputedStyle(document.documentElement).getPropertyValue(COLOURS[place % COLOURS.length]).trim();
  return { colour, dash: DASHES[place % DASHES.length], shape: SHAPES[place % SHAPES.length] };
}

/** A small picture of a line, for the legend. */
export function sample(place) {
  const canvas = h("canvas", { width: "56", height: "24", class: "sample", "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const { colour, dash, shape } = look(place);
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 3 });
  context.setLineDash(dash.map((length) => length * 1.5));
  context.beginPath();
  context.moveTo(0, 12);
  context.lineTo(56, 12);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  trace(context, shape, 28, 12, 8);
  context.fill();
  return canvas;
}

/** Draw into `host`; `open` is called with a run that is chosen. Gives back what ends it. */
export function drawChart(host, { title, unit, runs, lines, names, regressions, open }) {
  const values = [runs.map((run) => run.began / 1000), ...lines.map((line) => line.points.map((point) => point?.value ?? null))];
  const note = h("div", { class: "note", role: "status", hidden: true });
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--quiet").trim();
  const grid = { stroke: style.getPropertyValue("--rule").trim(), width: 1 };
  const marks = { bad: style.getPropertyValue("--bad").trim(), ground: style.getPropertyValue("--card").trim(), quiet: ink };
  const [low, high] = extent(lines);
  const chart = new uPlot({
    width: host.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    legend: { show: false },
    cursor: { points: { show: false }, y: false },
    scales: { x: { time: true, range: (_, from, to) => padded(from, to) }, y: { range: [low, high] } },
    axes: [
      { stroke: ink, grid, ticks: grid, values: "{YYYY}-{MM}-{DD}", space: 90 },
      { stroke: ink, grid, ticks: grid, size: 64, values: (_, ticks) => ticks.map((tick) => valueText(tick, "")) },
    ],
    series: [{}, ...lines.map((_, place) => {
      const { colour, dash } = look(place);
      return { stroke: colour, dash, width: 1.5, spanGaps: true, points: { show: false } };
    })],
    hooks: {
      drawAxes: [(u) => bands(u, lines)],
      draw: [(u) => points(u, lines, marks), (u) => changes(u, runs, regressions, marks)],
      setCursor: [(u) => tell(u)],
    },
  }, values, host);

  function tell(u) {
    const place = u.cursor.idx;
    const told = place === null || place === undefined ? [] : lines.flatMap((line, number) => (line.points[place] ? [[line.points[place], names[number], line]] : []));
    note.hidden = told.length === 0;
    if (told.length === 0) return;
    const run = runs[place];
    const changed = regressions.filter((one) => isOf(one, run));
    note.replaceChildren(
      h("strong", {}, timeText(run.began)), " ", run.commit ? `commit ${shortCommit(run.commit)}` : "no commit told",
      ...told.map(([point, name, line]) => h("div", {}, pointText(point, unit), h("span", { class: "quiet" }, ` ${name}`), told.length === 1 ? h("div", { class: "quiet small" }, configurationText(line)) : null)),
      ...changed.map((one) => h("div", { class: one.regressed ? "bad" : null }, `since here: ${turnText(one)}`)),
    );
    const left = u.cursor.left ?? 0;
    note.style.left = left > u.over.clientWidth / 2 ? "auto" : `${left + 76}px`;
    note.style.right = left > u.over.clientWidth / 2 ? `${u.over.clientWidth - left + 14}px` : "auto";
  }

  host.append(note);
  host.tabIndex = 0;
  host.setAttribute("role", "group");
  host.setAttribute("aria-label", `${title}: chart with ${lines.length} lines over ${runs.length} runs; arrow keys go from run to run, Enter opens one`);
  let at = -1;
  const go = (place) => {
    at = Math.max(0, Math.min(runs.length - 1, place));
    chart.setCursor({ left: chart.valToPos(values[0][at], "x"), top: HAND });
  };
  host.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") go(at + 1);
    else if (event.key === "ArrowLeft") go(at < 0 ? runs.length - 1 : at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(runs.length - 1);
    else if (event.key === "Enter" && at >= 0) open(runs[at]);
    else if (event.key === "Escape") note.hidden = true;
    else return;
    event.preventDefault();
  });
  host.addEventListener("blur", () => { note.hidden = true; });
  let pressed = 0;
  chart.over.addEventListener("mousedown", (event) => { pressed = event.clientX; });
  chart.over.addEventListener("click", (event) => {
    // A drag chooses a part of the time; a click opens the run under it.
    const place = chart.cursor.idx;
    if (Math.abs(event.clientX - pressed) < HAND && place !== null && place !== undefined) open(runs[place]);
  });
  const resized = new ResizeObserver(() => {
    if (host.clientWidth > 0 && host.clientWidth !== chart.width) chart.setSize({ width: host.clientWidth, height: HEIGHT });
  });
  resized.observe(host);
  return () => {
    resized.disconnect();
    chart.destroy();
  };
}

function pointText(point, unit) {
  const told = point.value === null ? "nothing measured" : valueText(point.value, unit);
  const bounds = point.lower === null ? "" : ` (${boundsText(point)})`;
  const repeats = point.repeats > 1 ? `, ${point.repeats} repeats` : "";
  return `${told}${bounds}, ${point.status}${repeats}`;
}

function configurationText(line) {
  return Object.entries(line.configuration).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
}

/** Room at both sides, so that the first and the last point are whole; a day where there is but one. */
function padded(from, to) {
  const room = from === to ? 86_400 : (to - from) * 0.02;
  return [from - room, to + room];
}

function extent(lines) {
  const all = lines.flatMap((line) => line.points.flatMap((point) => (point === null ? [] : [point.value, point.lower, point.upper].filter((value) => value !== null))));
  const low = all.reduce((a, b) => Math.min(a, b), Infinity);
  const high = all.reduce((a, b) => Math.max(a, b), -Infinity);
  const room = (high - low || Math.abs(high) || 1) * 0.12;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

export function isOf(regression, run) {
  return regression.run === run.id || regression.run === run.path;
}

function clipped(u, work) {
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  u.ctx.clip();
  work(u.ctx);
  u.ctx.restore();
}

function bands(u, lines) {
  clipped(u, (context) => lines.forEach((line, place) => {
    const bounded = line.points.flatMap((point, at) => (point !== null && point.lower !== null ? [[u.valToPos(u.data[0][at], "x", true), point]] : []));
    if (bounded.length === 0) return;
    context.fillStyle = look(place).colour;
    context.globalAlpha = 0.16;
    context.beginPath();
    for (const [x, point] of bounded) context.lineTo(x, u.valToPos(point.upper, "y", true));
    for (const [x, point] of bounded.reverse()) context.lineTo(x, u.valToPos(point.lower, "y", true));
    context.fill();
  }));
}

function points(u, lines, marks) {
  const size = (u.data[0].length > DENSE ? 1.7 : 3.2) * devicePixelRatio;
  clipped(u, (context) => lines.forEach((line, place) => {
    const { colour, shape } = look(place);
    const crosses = [];
    context.fillStyle = colour;
    context.beginPath();
    line.points.forEach((point, at) => {
      if (point === null) return;
      const x = u.valToPos(u.data[0][at], "x", true);
      const y = point.value === null ? u.bbox.top + u.bbox.height - 3 * size : u.valToPos(point.value, "y", true);
      if (point.value !== null) trace(context, shape, x, y, size);
      if (kindOf(point.status) === "bad") crosses.push([x, y]);
    });
    context.fill();
    for (const [x, y] of crosses) cross(context, x, y, 6 * devicePixelRatio, marks);
  }));
}

function changes(u, runs, regressions, marks) {
  clipped(u, (context) => {
    for (const one of regressions) {
      const at = runs.findIndex((run) => isOf(one, run));
      if (at < 0) continue;
      const x = u.valToPos(u.data[0][at], "x", true);
      const colour = one.regressed ? marks.bad : marks.quiet;
      Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 1.5 * devicePixelRatio, font: `${12 * devicePixelRatio}px system-ui, sans-serif`, textAlign: "left", textBaseline: "alphabetic" });
      context.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
      context.beginPath();
      context.moveTo(x, u.bbox.top);
      context.lineTo(x, u.bbox.top + u.bbox.height);
      context.stroke();
      context.setLineDash([]);
      const label = `${turnText(one)} ${shortCommit(one.commit)}`;
      const wide = context.measureText(label).width;
      const right = x + wide + 6 * devicePixelRatio > u.bbox.left + u.bbox.width;
      context.fillText(label, right ? x - wide - 4 * devicePixelRatio : x + 4 * devicePixelRatio, u.bbox.top + 12 * devicePixelRatio);
    }
  });
}

/** Add a shape to the path, to be filled with all others of its line. */
function trace(context, shape, x, y, size) {
  if (shape === "circle") {
    context.moveTo(x + size, y);
    context.arc(x, y, size, 0, 2 * Math.PI);
  } else if (shape === "square") context.rect(x - size, y - size, 2 * size, 2 * size);
  else {
    CORNERS[shape].forEach(([dx, dy], corner) => (corner ? context.lineTo(x + dx * size, y + dy * size) : context.moveTo(x + dx * size, y + dy * size)));
    context.closePath();
  }
}

/** Red on a pale edge, so that it is seen on every line. */
function cross(context, x, y, size, marks) {
  for (const [colour, width] of [[marks.ground, 4.6], [marks.bad, 2.4]]) {
    Object.assign(context, { strokeStyle: colour, lineWidth: width * devicePixelRatio });
    context.beginPath();
    context.moveTo(x - size, y - size);
    context.lineTo(x + size, y + size);
    context.moveTo(x + size, y - size);
    context.lineTo(x - size, y + size);
    context.stroke();
  }
}
