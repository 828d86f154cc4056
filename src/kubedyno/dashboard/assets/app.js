// The page: reads what the address asks for, and shows it.

import { h, link } from "./dom.js";
import { choices, filtered } from "./filtering.js";
import { makeFilters } from "./filters.js";
import { cleared, elsewhere, format, parse, rangeOf } from "./state.js";
import { readConfig, Store } from "./store.js";
import { kindOf, shortCommit } from "./wording.js";
import * as compare from "./views/compare.js";
import * as run from "./views/run.js";
import * as runs from "./views/runs.js";
import * as trends from "./views/trends.js";

const SHOW = { trends, runs, run, compare };
const TABS = { trends: "Trends", runs: "Runs", compare: "Compare" };
const TOLD = 5;

const main = document.getElementById("main");
const notices = document.getElementById("notices");
let config = null;
let store = null;
let updateFilters = null;
let endView = null;
let turn = 0;
let lastView = "";
let known = { key: "", options: null };

async function start() {
  updateFilters = makeFilters(document.getElementById("filters"), {
    change: (change) => go(format({ ...state(), ...change }), { replace: "q" in change }),
    clear: () => go(format(cleared(state()))),
    now: () => Date.now(),
  });
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  tabs(state());
  try {
    config = await readConfig();
    store = new Store(config);
    await store.open();
  } catch (error) {
    main.replaceChildren(h("h2", {}, "The store cannot be read"), h("p", { class: "bad" }, `${store ? store.address("Public/manifest.json") : "config.json"}: ${error.message}`));
    return;
  }
  updateFilters(state(), await choices([]), config.days);
  window.addEventListener("hashchange", render);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
  await render();
}

function state() {
  return parse(location.hash);
}

/** Go to an address; what is typed letter by letter is one step of the history. */
function go(hash, { replace = false } = {}) {
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  render();
}

async function render() {
  const mine = ++turn;
  const current = () => mine === turn;
  const now = state();
  const range = rangeOf(now, config.days, Date.now());
  tabs(now);
  const within = store.within(range);
  const named = [now.run, now.a, now.b].map((path) => store.entry(path)).filter((entry) => entry !== null);
  const loading = h("p", { class: "quiet", role: "status" }, "Reading the index…");
  const slow = setTimeout(() => current() && main.replaceChildren(loading), 100);
  await store.load([...within, ...named], (count) => { loading.textContent = `Reading the index: ${count} runs so far…`; });
  clearTimeout(slow);
  if (!current()) return;
  const rows = within.map((entry) => store.rows.get(entry.path)).filter((row) => row !== undefined);
  const shown = await filtered(rows, now);
  const options = await optionsOf(rows);
  if (!current()) return;
  updateFilters(now, options, config.days);
  count(rows, range);
  tell(within);
  endView?.();
  endView = null;
  main.replaceChildren();
  const page = { config, store, state: now, shown, current, go, commit, change: (change) => go(format({ ...now, ...change })) };
  const end = await SHOW[now.view].show(main, page);
  if (current()) endView = end;
  else end?.();
  // Whoever follows a link by keyboard goes on from what it led to.
  if (current() && lastView && lastView !== now.view + now.run) {
    scrollTo(0, 0);
    if (!document.getElementById("filters").contains(document.activeElement)) main.focus({ preventScroll: true });
  }
  lastView = now.view + now.run;
}

/** What can be chosen changes with the range alone, not with each letter of a search. */
async function optionsOf(rows) {
  const key = `${rows.length} ${rows[0]?.path} ${rows.at(-1)?.path}`;
  if (known.key !== key) known = { key, options: await choices(rows) };
  return known.options;
}

function commit(name) {
  const text = shortCommit(name);
  return config.commitUrl ? link(config.commitUrl.replace("{commit}", encodeURIComponent(name)), text) : h("code", {}, text);
}

function tabs(now) {
  document.getElementById("tabs").replaceChildren(...Object.entries(TABS).map(([view, label]) =>
    h("a", { href: elsewhere(now, view), "aria-current": now.view === view || (view === "runs" && now.view === "run") ? "page" : null }, label)));
}

function count(rows, range) {
  const broken = rows.filter((row) => row.status === "broken").length;
  const failed = rows.filter((row) => row.status !== "broken" && (kindOf(row.status) === "bad" || row.tests.some((test) => kindOf(test.status) === "bad"))).length;
  const told = { [`runs in ${range.days} days`]: rows.length, "all passed": rows.length - failed - broken, "with failures": failed, ...(broken > 0 ? { broken } : {}) };
  document.getElementById("counters").replaceChildren(...Object.entries(told).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))));
}

/** What could not be read; the rest is shown all the same. */
function tell(within) {
  const missing = within.filter((entry) => !store.rows.has(entry.path));
  const timeless = store.entries.filter((entry) => !Number.isFinite(entry.began)).length;
  const lines = [...store.failures].map(([path, reason]) => `${path} cannot be read: ${reason}. What it tells is missing here.`);
  if (missing.length > 0) {
    lines.push(`${missing.length} ${missing.length === 1 ? "run is" : "runs are"} not in the index: run \`kubedyno index rebuild\` (${missing.slice(0, TOLD).map((entry) => entry.id).join(", ")}${missing.length > TOLD ? ", …" : ""})`);
  }
  if (timeless > 0) lines.push(`${timeless} entries of the manifest have no time that can be read, and are not shown.`);
  notices.replaceChildren(...lines.map((line) => h("p", { class: "notice" }, line)));
}

start();
