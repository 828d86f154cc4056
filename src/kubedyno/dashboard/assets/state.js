// All that the page shows is said by its address: a link restores it.

export const VIEWS = ["trends", "runs", "run", "compare"];
const FILTERS = ["q", "scenario", "scheduler", "version", "engine", "nodes", "status", "tag"];
const KEYS = [...FILTERS, "from", "to", "days", "figure", "sort", "run", "by", "a", "b"];
const DAY_MS = 86_400_000;

/** `#/runs?status=failed&q=fill`; what is unknown is left out. */
export function parse(hash) {
  const [place, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const asked = new URLSearchParams(query);
  const state = { view: VIEWS.includes(place) ? place : "trends" };
  for (const key of KEYS) state[key] = asked.get(key) ?? "";
  return state;
}

export function format(state) {
  const query = new URLSearchParams();
  for (const key of KEYS) if (state[key]) query.set(key, state[key]);
  const text = query.toString();
  return `#/${state.view}${text ? `?${text}` : ""}`;
}

/** The same range and filters in another view. */
export function elsewhere(state, view, change = {}) {
  return format({ ...state, run: "", by: "", a: "", b: "", sort: "", figure: "", ...change, view });
}

/** Which filters are set, other than the text. */
export function narrowed(state) {
  return [...FILTERS, "from", "to", "days", "figure"].filter((key) => key !== "q" && state[key]).length;
}

export function cleared(state) {
  return Object.fromEntries(Object.entries(state).map(([key, value]) =>
    [key, [...FILTERS, "from", "to", "days", "figure"].includes(key) ? "" : value]));
}

/** From (inclusive) and to (not), in milliseconds: the days named, else so many until now. */
export function rangeOf(state, usualDays, now) {
  const last = Date.parse(state.to);
  const to = Number.isFinite(last) ? last + DAY_MS : now + DAY_MS;
  const first = Date.parse(state.from);
  const days = Number(state.days) > 0 ? Number(state.days) : usualDays;
  const from = Number.isFinite(first) ? first : (Number.isFinite(last) ? to : now) - days * DAY_MS;
  return { from, to, days: Math.max(1, Math.round(((Number.isFinite(last) ? to : now) - from) / DAY_MS)) };
}
