// Which points share a line: those of one test, one figure and one configuration. Pure.

import { each } from "./slices.js";
import { kindOf, median } from "./wording.js";

/** What each test has, by name: `Map(name, {figures: Map(figure, unit), runs: [{run, tests}]})`, runs from old to new. */
export async function charted(shown, figure) {
  const names = new Map();
  const chronological = [...shown].sort((a, b) => a.run.began - b.run.began);
  await each(chronological, ({ run, tests }) => {
    for (const test of tests) {
      if (!names.has(test.name)) names.set(test.name, { figures: new Map(), runs: [] });
      const { figures, runs } = names.get(test.name);
      if (runs.at(-1)?.run === run) runs.at(-1).tests.push(test);
      else runs.push({ run, tests: [test] });
      for (const one of test.figures) {
        if ((!figure || one.name === figure) && !figures.has(one.name)) figures.set(one.name, one.unit);
      }
    }
  });
  return new Map([...names].filter(([, { figures }]) => figures.size > 0).sort(([a], [b]) => a.localeCompare(b)));
}

/** The lines of one figure of a test, each with a point or null for each of its runs. */
export function linesOf(runs, figure) {
  const bySeries = new Map();
  runs.forEach(({ tests }, place) => {
    for (const test of tests) {
      if (!bySeries.has(test.series)) bySeries.set(test.series, { series: test.series, configuration: configured(test), points: [] });
      const points = bySeries.get(test.series).points;
      points[place] ??= { tests: [], figures: [] };
      points[place].tests.push(test);
      const found = test.figures.find((one) => one.name === figure);
      if (found) points[place].figures.push(found);
    }
  });
  const lines = [...bySeries.values()].map((line) => ({
    ...line,
    points: Array.from(runs, (_, place) => (line.points[place] ? pointOf(line.points[place]) : null)),
  }));
  return lines.filter((line) => line.points.some((point) => point !== null && point.value !== null));
}

/** Repeats of one run are one point: their median, between the lowest and the highest that any of them may be. */
function pointOf({ tests, figures }) {
  const failed = tests.find((test) => kindOf(test.status) === "bad");
  const bounded = figures.length > 1 || figures.some((one) => one.lower !== null || one.upper !== null);
  return {
    value: figures.length > 0 ? median(figures.map((one) => one.value)) : null,
    lower: bounded ? Math.min(...figures.map((one) => one.lower ?? one.value)) : null,
    upper: bounded ? Math.max(...figures.map((one) => one.upper ?? one.value)) : null,
    repeats: tests.length,
    status: (failed ?? tests[0]).status,
  };
}

function configured(test) {
  const nodes = "-p nodes" in test.configuration ? null : test.nodes;
  const told = { scheduler: test.scheduler, engine: test.engine, nodes, ...test.configuration };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== "" && value !== null && value !== undefined));
}

/** What tells the lines of a chart apart; of a single one, what was tested. */
export function labels(lines) {
  const names = [...new Set(lines.flatMap((line) => Object.keys(line.configuration)))];
  const written = (line, name) => (name in line.configuration ? String(plain(line.configuration[name])) : "not told");
  const differing = names.filter((name) => new Set(lines.map((line) => written(line, name))).size > 1);
  return lines.map((line) => {
    const told = lines.length > 1 ? differing : ["scheduler", "engine"].filter((name) => name in line.configuration);
    const label = told.map((name) => (["scheduler", "engine"].includes(name) ? written(line, name) : `${name.replace(/^-p /, "")} ${written(line, name)}`)).join(", ");
    return label || `configuration ${line.series || "not told"}`;
  });
}

function plain(value) {
  return value !== null && typeof value === "object" ? JSON.stringify(value) : value;
}
