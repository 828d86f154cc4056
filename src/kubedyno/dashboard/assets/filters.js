// The form above every view: what it says is in the address, and the other way round.

import { h } from "./dom.js";
import { NOT_PASSED } from "./filtering.js";
import { narrowed } from "./state.js";
import { dateText } from "./wording.js";

const NARROW = "(max-width: 700px)";
const TYPED_MS = 150;
const SELECTS = {
  status: "Status", scenario: "Test", scheduler: "Scheduler", version: "Version", engine: "Engine", nodes: "Nodes", tag: "Tag", figure: "Figure",
};

/** Make the form once; `change` is called with what somebody chose, `clear` to forget all of it. */
export function makeFilters(form, { change, clear, now }) {
  const typed = (name) => (event) => change({ [name]: event.target.value });
  let timer = 0;
  const search = h("input", { id: "q", type: "search", placeholder: "name, commit, message…", autocomplete: "off",
    oninput: (event) => {
      clearTimeout(timer);
      timer = setTimeout(() => change({ q: event.target.value }), TYPED_MS);
    } });
  const selects = Object.fromEntries(Object.keys(SELECTS).map((name) => [name, h("select", { id: `filter-${name}`, onchange: typed(name) })]));
  const from = h("input", { id: "from", type: "date", onchange: (event) => change({ from: event.target.value, days: "" }) });
  const to = h("input", { id: "to", type: "date", onchange: typed("to") });
  const days = h("select", { id: "days", onchange: (event) => change({ days: event.target.value, from: "", to: "" }) });
  const summary = h("summary", {});
  const panel = h("details", { class: "panel", open: !matchMedia(NARROW).matches }, summary, h("div", { class: "fields" },
    h("label", {}, "Range", days), h("label", {}, "From", from), h("label", {}, "To", to),
    Object.entries(SELECTS).map(([name, label]) => h("label", { id: `label-${name}` }, label, selects[name])),
    h("button", { type: "button", onclick: clear }, "Clear")));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(h("label", { class: "search" }, "Search", search), panel);

  /** Show what the address says, with what can be chosen now. */
  return function update(state, options, usualDays) {
    // One run is one run, whatever is looked for among all.
    form.hidden = state.view === "run";
    if (document.activeElement !== search) search.value = state.q;
    for (const [name, select] of Object.entries(selects)) {
      const known = name === "status" ? [NOT_PASSED, ...options.status] : options[name];
      const all = state[name] && !known.includes(state[name]) ? [state[name], ...known] : known;
      const wanted = ["", ...all].join("\n");
      if (select.dataset.options !== wanted) {
        select.dataset.options = wanted;
        select.replaceChildren(h("option", { value: "" }, "all"), ...all.map((value) => h("option", { value }, value)));
      }
      select.value = state[name];
    }
    const set = [...new Set([7, 30, 90, 365, usualDays, Number(state.days) || usualDays])].sort((a, b) => a - b);
    days.replaceChildren(...set.map((count) => h("option", { value: count === usualDays ? "" : String(count) }, `${count} days`)),
      ...(state.from || state.to ? [h("option", { value: "chosen" }, "as chosen")] : []));
    days.value = state.from || state.to ? "chosen" : Number(state.days) === usualDays ? "" : state.days;
    from.value = state.from;
    to.value = state.to;
    to.max = dateText(now());
    const count = narrowed(state);
    summary.textContent = count > 0 ? `Filters (${count})` : "Filters";
    form.querySelector("#label-figure").hidden = state.view !== "trends";
  };
}
