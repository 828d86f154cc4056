// Two runs, or two schedulers, side by side.

import { h, table } from "../dom.js";
import { boundsText, changeText, kindOf, median, timeText, valueText } from "../wording.js";

const SCHEDULERS = "schedulers";

export async function show(main, page) {
  const { state } = page;
  const bySchedulers = state.by === SCHEDULERS;
  main.append(h("div", { class: "bar left" },
    h("label", {}, "Compare ", select("by", [["", "two runs"], [SCHEDULERS, "two schedulers"]], state.by, (value) => page.change({ by: value, a: "", b: "" }))),
    ...(bySchedulers ? schedulerChoices(page) : runChoices(page))));
  const [a, b] = bySchedulers ? ["a", "b"].map((side) => ofScheduler(page, state[side])) : ["a", "b"].map((side) => ofRun(page, state[side]));
  if (!state.a || !state.b) {
    main.append(h("p", { class: "quiet" }, `Choose two ${bySchedulers ? "schedulers" : "runs"}.`));
    return null;
  }
  main.append(h("p", { class: "quiet small" }, bySchedulers
    ? "Medians over the runs that are shown; only tests that were configured alike but for the scheduler stand beside each other."
    : "Repeats are told by their medians. Whether a change is more than chance is what `kubedyno compare` says."));
  const names = [...new Set([...a.keys(), ...b.keys()])].sort();
  if (names.length === 0) main.append(h("p", { class: "bad" }, "Neither has a test: it is not in the index, or the filters leave nothing."));
  for (const key of names) main.append(beside(a.get(key), b.get(key), state));
  return null;
}

function select(id, options, chosen, onchange) {
  return h("select", { id, onchange: (event) => onchange(event.target.value) },
    options.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
}

function runChoices(page) {
  const option = (run) => [run.path, `${timeText(run.began)} ${run.id} ${run.status}`];
  const near = [...page.shown].sort((one, other) => other.run.began - one.run.began).map(({ run }) => option(run));
  return ["a", "b"].map((side) => {
    const chosen = page.state[side];
    // A link may name a run that the range or the filters leave out.
    const known = !chosen || near.some(([path]) => path === chosen);
    const options = [["", "choose a run"], ...(known ? [] : [page.store.rows.has(chosen) ? option(page.store.rows.get(chosen)) : [chosen, chosen]]), ...near];
    return h("label", {}, side === "a" ? "before " : "after ", select(side, options, chosen, (value) => page.change({ [side]: value })));
  });
}

function schedulerChoices(page) {
  const names = [...new Set(page.shown.flatMap(({ tests }) => tests.map((test) => test.scheduler)).filter(Boolean))].sort();
  return ["a", "b"].map((side) => h("label", {}, side === "a" ? "first " : "second ",
    select(side, [["", "choose a scheduler"], ...names.map((name) => [name, name])], page.state[side], (value) => page.change({ [side]: value }))));
}

/** The tests of a run by what was configured. */
function ofRun(page, path) {
  const run = page.store.rows.get(path);
  return grouped(run ? run.tests : [], (test) => `${test.name}\n${test.series}`);
}

/** The tests of a scheduler in all runs shown, by what else was configured. */
function ofScheduler(page, scheduler) {
  const tests = page.shown.flatMap((one) => one.tests).filter((test) => test.scheduler === scheduler);
  return grouped(tests, (test) => {
    const { scheduler: _, ...configuration } = test.configuration;
    return `${test.name}\n${JSON.stringify(Object.entries({ nodes: test.nodes, engine: test.engine, ...configuration }).sort(([one], [other]) => (one < other ? -1 : 1)))}`;
  });
}

function grouped(tests, keyOf) {
  const found = new Map();
  for (const test of tests) {
    const key = keyOf(test);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(test);
  }
  return found;
}

function beside(a, b, state) {
  const one = (a ?? b)[0];
  const about = [one.nodes === null ? "" : `${one.nodes} nodes`, one.engine, state.by === SCHEDULERS ? "" : one.scheduler].filter(Boolean).join(", ");
  const figures = new Map([...(a ?? []), ...(b ?? [])].flatMap((test) => test.figures.map((figure) => [figure.name, figure.unit])));
  const rows = [...figures].map(([name, unit]) => {
    const [left, right] = [a, b].map((tests) => merged(tests ?? [], name));
    return [name, told(left, unit), told(right, unit), left && right ? h("strong", {}, changeText(left.value, right.value)) : "", left && right ? within(left, right) : ""];
  });
  const headings = state.by === SCHEDULERS ? [state.a, state.b] : ["before", "after"];
  return h("section", { class: "card" }, h("h2", {}, one.name, " ", h("span", { class: "quiet small" }, about)),
    h("p", {}, `${headings[0]}: ${outcome(a)}; ${headings[1]}: ${outcome(b)}`),
    !a || !b ? h("p", { class: "quiet" }, `Only ${a ? headings[0] : headings[1]} has it configured like this.`) : null,
    table(`Figures of ${one.name}`, ["figure", ...headings, "change", ""], rows));
}

function merged(tests, name) {
  const found = tests.flatMap((test) => test.figures.filter((figure) => figure.name === name));
  if (found.length === 0) return null;
  const known = found.filter((figure) => figure.lower !== null && figure.upper !== null);
  return {
    value: median(found.map((figure) => figure.value)),
    lower: known.length > 0 ? Math.min(...known.map((figure) => figure.lower)) : null,
    upper: known.length > 0 ? Math.max(...known.map((figure) => figure.upper)) : null,
    count: found.length,
  };
}

function told(figure, unit) {
  if (figure === null) return "–";
  const bounds = boundsText(figure);
  return `${valueText(figure.value, unit)}${bounds ? ` (${bounds})` : ""}${figure.count > 1 ? `, n=${figure.count}` : ""}`;
}

function within(a, b) {
  if (a.lower === null || b.lower === null) return "";
  return a.lower <= b.upper && b.lower <= a.upper ? "within the bounds" : "beyond the bounds";
}

function outcome(tests) {
  if (!tests) return "not run";
  const bad = tests.filter((test) => kindOf(test.status) === "bad");
  return bad.length > 0 ? `✕ ${bad.length} of ${tests.length} failed` : `✓ ${tests.length} ${tests.length === 1 ? "test" : "tests"}, none failed`;
}
