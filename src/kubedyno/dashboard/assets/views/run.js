// One run: its tests, what they measured, why they failed, and the logs that its report has.

import { facts, h, link, table } from "../dom.js";
import { elsewhere } from "../state.js";
import { boundsText, glyph, kindOf, timeText, valueText } from "../wording.js";

const SHOWN_CHARS = 200_000;
const OWN_FILES = ["index.html", "run.json", "summary.md", "junit.xml", "kwok_scale_test.json"];

export async function show(main, page) {
  const entry = page.store.entry(page.state.run);
  const run = page.store.rows.get(page.state.run);
  main.append(h("p", {}, link(elsewhere(page.state, "runs"), "← all runs")));
  if (!entry) {
    main.append(h("h2", {}, "No such run"), h("p", { class: "bad" }, `The manifest of the store has no ${page.state.run || "run of that name"}: it may have been pruned.`));
    return null;
  }
  if (!run) {
    main.append(h("h2", {}, entry.id), h("p", { class: "bad" }, "This run is not in the index: run `kubedyno index rebuild`."), files(entry, null, page));
    return null;
  }
  const before = page.store.entries.filter((other) => other.began < run.began).sort((a, b) => b.began - a.began)[0];
  main.append(h("div", {},
    h("h2", {}, run.id, " ", h("span", { class: `badge ${kindOf(run.status)}` }, glyph(run.status), " ", run.status)),
    run.reason ? h("p", { class: "bad" }, run.reason) : null,
    facts({
      began: `${timeText(run.began)} UTC`,
      ...(run.commit ? { commit: page.commit(run.commit) } : {}),
      ...(run.ref ? { "branch or tag": run.ref } : {}),
      "written by": run.source,
      ...(run.host ? { machine: run.host } : {}),
      ...(run.versions.length > 0 ? { versions: run.versions.join(", ") } : {}),
    }),
    files(entry, run, page),
    before ? h("p", {}, link(elsewhere(page.state, "compare", { a: before.path, b: run.path }), "Compare with the run before")) : null));
  const places = run.tests.map((test) => {
    const told = h("div", {});
    return { test, told, element: testElement(test, told) };
  });
  main.append(...places.map(({ element }) => element));
  const state = h("p", { class: "quiet", role: "status" }, "Reading the report…");
  main.append(state);
  try {
    const specs = await page.store.report(run.path);
    if (page.current()) add(main, places, specs, page.store.address(run.path));
    state.remove();
  } catch (error) {
    state.className = "bad";
    state.textContent = `Messages and logs are missing: the report cannot be read: ${error.message}`;
  }
  return null;
}

function files(entry, run, page) {
  const folder = entry.path.slice(0, entry.path.lastIndexOf("/"));
  const names = ["report.json", ...(page.config.complete && run?.source === "kubedyno" ? OWN_FILES : [])];
  const links = names.map((name) => [name, page.store.address(name === "report.json" ? entry.path : `${folder}/${name}`)]);
  return h("p", {}, "Files: ", links.flatMap(([name, address]) => [address ? link(address.href, name) : name, " "]));
}

function testElement(test, told) {
  const bad = kindOf(test.status) === "bad";
  return h("details", { class: `card test ${kindOf(test.status)}`, open: bad },
    h("summary", {}, h("span", { class: `badge ${kindOf(test.status)}` }, glyph(test.status), " ", test.status), " ", h("strong", {}, test.name), " ",
      h("span", { class: "quiet" }, [test.scheduler, test.engine, test.nodes === null ? "" : `${test.nodes} nodes`, test.repeat > 1 ? `repeat ${test.repeat}` : "", test.duration === null ? "" : valueText(test.duration, "s")].filter(Boolean).join(", "))),
    test.message ? h("pre", { class: "message" }, test.message) : null,
    told,
    test.figures.length > 0 ? table(`Figures of ${test.name}`, ["figure", "value", "bounds"], test.figures.map((figure) => [figure.name, valueText(figure.value, figure.unit), boundsText(figure)])) : null,
    test.tags.length > 0 ? h("p", { class: "quiet" }, `Tags: ${test.tags.join(", ")}`) : null,
    Object.keys(test.configuration).length > 0 ? h("details", {}, h("summary", {}, "Configuration"), facts(test.configuration)) : null);
}

/** Put what the report has beside the tests: they are in the same order; what is about no test comes at the end. */
function add(main, places, specs, address) {
  const tests = specs.filter((spec) => spec.isTest);
  const alike = tests.length === places.length;
  if (alike) tests.forEach((spec, place) => addTo(places[place].told, places[place].test, spec, address));
  const rest = specs.filter((spec) => !(alike && spec.isTest) && (spec.message || spec.log));
  for (const spec of rest) {
    const told = h("div", {});
    addTo(told, { message: "" }, spec, address);
    main.append(h("details", { class: "card test", open: spec.message !== "" }, h("summary", {}, spec.name), told));
  }
}

function addTo(told, test, spec, address) {
  if (spec.message && spec.message !== test.message) told.append(h("h4", {}, "Message"), h("pre", { class: "message" }, ending(spec.message)));
  if (spec.log) {
    told.append(h("h4", {}, "Log"), h("pre", { class: "log", tabindex: "0", "aria-label": `Log of ${spec.name}` }, ending(spec.log)));
    if (spec.log.length > SHOWN_CHARS) told.append(h("p", {}, "The end of it; all of it is in the ", link(address.href, "report"), "."));
  }
}

function ending(text) {
  return text.slice(-SHOWN_CHARS);
}
