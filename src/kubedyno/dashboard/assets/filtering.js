// Which runs and which of their tests are shown.

import { each } from "./slices.js";
import { kindOf } from "./wording.js";

export const NOT_PASSED = "not passed";

/** The runs that have what is asked for, each with the tests that do: `[{run, tests}]`. */
export async function filtered(runs, state) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const ofTests = Boolean(state.scenario || state.scheduler || state.engine || state.nodes || state.tag);
  const found = [];
  await each(runs, (run) => {
    if (state.version && !run.versions.includes(state.version)) return;
    const open = words.filter((word) => !run.found.includes(word));
    const tests = run.tests.filter((test) => wanted(test, state) && open.every((word) => test.found.includes(word)));
    const itself = !ofTests && open.length === 0 && has(run.status, state.status);
    if (tests.length > 0 || itself) found.push({ run, tests });
  });
  return found;
}

function wanted(test, state) {
  return (!state.scenario || test.name === state.scenario)
    && (!state.scheduler || test.scheduler === state.scheduler)
    && (!state.engine || test.engine === state.engine)
    && (!state.nodes || String(test.nodes) === state.nodes)
    && (!state.tag || test.tags.includes(state.tag))
    && has(test.status, state.status);
}

function has(status, asked) {
  if (!asked) return true;
  return asked === NOT_PASSED ? kindOf(status) === "bad" : status === asked;
}

/** What can be chosen, by filter: what the runs of the range have. */
export async function choices(runs) {
  const found = { scenario: new Set(), scheduler: new Set(), version: new Set(), engine: new Set(), nodes: new Set(), status: new Set(), tag: new Set(), figure: new Set() };
  await each(runs, (run) => {
    found.status.add(run.status);
    for (const version of run.versions) found.version.add(version);
    for (const test of run.tests) {
      found.scenario.add(test.name);
      found.scheduler.add(test.scheduler);
      found.engine.add(test.engine);
      found.status.add(test.status);
      if (test.nodes !== null) found.nodes.add(test.nodes);
      for (const tag of test.tags) found.tag.add(tag);
      for (const figure of test.figures) found.figure.add(figure.name);
    }
  });
  return Object.fromEntries(Object.entries(found).map(([name, values]) => {
    values.delete("");
    const sorted = [...values].sort((a, b) => (typeof a === "number" ? a - b : a.localeCompare(b)));
    return [name, sorted.map(String)];
  }));
}
