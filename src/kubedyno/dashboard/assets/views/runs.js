// The list of runs, with a mark for each test.

import { h, link } from "../dom.js";
import { breath } from "../slices.js";
import { elsewhere } from "../state.js";
import { glyph, kindOf, timeText } from "../wording.js";

const AT_ONCE = 40;
const MARKS = 60;

const ORDERS = {
  "": ["newest first", (a, b) => b.run.began - a.run.began],
  oldest: ["oldest first", (a, b) => a.run.began - b.run.began],
  failures: ["most failures first", (a, b) => failures(b) - failures(a) || b.run.began - a.run.began],
};

function failures({ run, tests }) {
  return tests.filter((test) => kindOf(test.status) === "bad").length + (run.status === "broken" ? 0.5 : 0);
}

/** Fill `main`, a piece of the list at a time; more comes when its end is seen, or asked for. */
export async function show(main, page) {
  const [, order] = ORDERS[page.state.sort] ?? ORDERS[""];
  const sorted = [...page.shown].sort(order);
  const list = h("ol", { class: "runs", "aria-label": "Runs" });
  const more = h("button", { type: "button", onclick: () => add() }, "Show more");
  const sorting = h("select", { id: "sort", onchange: (event) => page.change({ sort: event.target.value }) },
    Object.entries(ORDERS).map(([value, [label]]) => h("option", { value, selected: value === page.state.sort }, label)));
  main.append(
    h("div", { class: "bar" }, h("p", { id: "found" }, `${sorted.length} ${sorted.length === 1 ? "run" : "runs"}`), h("label", {}, "Order ", sorting)),
    h("p", { class: "quiet small" }, "✓ passed, ✕ failed or worse, – did not run"), list, more);
  let next = 0;

  function add() {
    const piece = sorted.slice(next, next + AT_ONCE);
    next += piece.length;
    list.append(...piece.map((one) => item(one, page)));
    more.hidden = next >= sorted.length;
  }

  add();
  const end = new IntersectionObserver(async (entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    await breath();
    if (next < sorted.length) add();
    // Seen again if the piece was shorter than the window.
    end.unobserve(more);
    if (next < sorted.length) end.observe(more);
  }, { rootMargin: "600px" });
  end.observe(more);
  return () => end.disconnect();
}

function item({ run, tests }, page) {
  const bad = tests.filter((test) => kindOf(test.status) === "bad");
  const marks = tests.slice(0, MARKS).map((test) => h("span", { class: `mark ${kindOf(test.status)}`, title: `${test.name}: ${test.status}` }, glyph(test.status)));
  if (tests.length > MARKS) marks.push(` and ${tests.length - MARKS} more`);
  const good = tests.filter((test) => kindOf(test.status) === "good").length;
  const schedulers = [...new Set(tests.map((test) => test.scheduler).filter(Boolean))].join(", ");
  return h("li", { class: `card run ${kindOf(run.status)}` },
    h("div", { class: "head" },
      h("span", { class: `badge ${kindOf(run.status)}` }, glyph(run.status), " ", run.status),
      link(elsewhere(page.state, "run", { run: run.path }), timeText(run.began), { class: "when" }),
      h("span", { class: "id" }, run.id),
      run.commit ? h("span", {}, "commit ", page.commit(run.commit)) : null,
      schedulers ? h("span", { class: "quiet" }, schedulers) : null,
      tests.length < run.tests.length ? h("span", { class: "quiet" }, `${tests.length} of ${run.tests.length} tests match`) : null),
    run.reason ? h("p", { class: "bad" }, run.reason) : null,
    tests.length > 0 ? h("div", { class: "marks", role: "img", "aria-label": `${good} of ${tests.length} tests passed, ${bad.length} failed` }, marks) : null,
    bad.length > 0 ? h("p", { class: "small" }, bad.slice(0, 3).map((test) => `${test.name}${test.message ? `: ${test.message.split("\n", 1)[0].slice(0, 160)}` : ""}`).join(" · "),
      bad.length > 3 ? ` · and ${bad.length - 3} more` : null) : null);
}
