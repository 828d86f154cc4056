// Each test, each figure over time.

import { drawChart, isOf, sample } from "../chart.js";
import { h, link, table } from "../dom.js";
import { charted, labels, linesOf } from "../lines.js";
import { breath } from "../slices.js";
import { elsewhere } from "../state.js";
import { boundsText, shortCommit, timeText, turnText, valueText } from "../wording.js";

const AT_FIRST = 6;
const LISTED = 100;
const AT_ONCE = 6;

/** Fill `main`; charts are drawn when they come into sight. Gives back what ends them. */
export async function show(main, page) {
  const names = await charted(page.shown, page.state.figure);
  if (!page.current()) return null;
  const endings = [];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      waiting.push(entry.target);
    }
    pump();
  }, { rootMargin: "300px" });
  const waiting = [];
  const work = new Map();
  let busy = false;
  let ended = false;

  // One after the other, with a breath between: twenty that come into sight together are no standstill.
  async function pump() {
    if (busy) return;
    busy = true;
    while (waiting.length > 0 && !ended) {
      const card = waiting.shift();
      const end = work.get(card)();
      if (end) endings.push(end);
      await breath();
    }
    busy = false;
  }

  if (names.size === 0) main.append(h("p", { class: "quiet" }, "Nothing was measured in the runs that are shown: widen the range or the filters."));
  const changed = page.store.regressions.filter((one) => names.get(one.name)?.figures.has(one.figure) && page.shown.some(({ run }) => isOf(one, run)));
  if (changed.length > 0) main.append(changes(changed, page));
  let number = 0;
  for (const [name, { figures, runs }] of names) {
    if (number++ % AT_ONCE === 0 && number > 1) await breath();
    if (!page.current()) break;
    const cards = [...figures].map(([figure, unit]) => {
      const card = h("article", { class: "card chart" }, h("h3", {}, unit ? `${figure} (${unit})` : figure));
      work.set(card, () => fill(card, page, { name, figure, unit, dated: runs }));
      return card;
    });
    main.append(h("section", {}, h("h2", {}, name), h("div", { class: "cards" }, cards)));
    for (const card of cards) seen.observe(card);
  }
  return () => {
    ended = true;
    seen.disconnect();
    for (const end of endings) end();
  };
}

function changes(changed, page) {
  return h("section", { class: "card" }, h("h2", {}, "What changed"), h("ul", {}, changed.map((one) => {
    const { run } = page.shown.find(({ run: other }) => isOf(one, other));
    return h("li", {}, `${one.name}${one.scheduler ? ` [${one.scheduler}]` : ""}, ${one.figure}: `, h("strong", { class: one.regressed ? "bad" : null }, turnText(one)),
      ` since ${timeText(run.began)}`, one.commit ? [", commit ", page.commit(one.commit)] : null, " ",
      link(elsewhere(page.state, "run", { run: run.path }), "open the run"));
  })));
}

function fill(card, page, { name, figure, unit, dated }) {
  const runs = dated.map(({ run }) => run);
  // The newest first: what nobody measures any more is what is left out.
  const lines = linesOf(dated, figure).sort((a, b) => newest(b) - newest(a));
  const regressions = page.store.regressions.filter((one) => one.name === name && one.figure === figure);
  const host = h("div", { class: "plot" });
  const body = h("div", {});
  card.append(body);
  let end = null;

  function draw(few) {
    end?.();
    const shown = few ? lines.slice(0, AT_FIRST) : lines;
    const names = labels(shown);
    host.replaceChildren();
    const legend = h("ul", { class: "legend" }, shown.map((line, place) => h("li", { title: JSON.stringify(line.configuration) }, sample(place), names[place])));
    const more = shown.length < lines.length && h("button", { type: "button", onclick: () => draw(false) }, `Show ${lines.length - shown.length} further configurations`);
    const values = h("details", { class: "values" }, h("summary", {}, "Values"));
    values.addEventListener("toggle", () => {
      if (values.open && values.childElementCount === 1) values.append(listed(runs, shown, names, unit, page));
    });
    body.replaceChildren(host, legend, ...(more ? [more] : []), values);
    const series = new Set(shown.map((line) => line.series));
    end = drawChart(host, {
      title: `${name}, ${figure}`, unit, runs, lines: shown, names,
      regressions: regressions.filter((one) => series.has(one.series)),
      open: (run) => page.go(elsewhere(page.state, "run", { run: run.path })),
    });
  }

  draw(true);
  return () => end?.();
}

function newest(line) {
  return line.points.findLastIndex((point) => point !== null);
}

function listed(runs, lines, names, unit, page) {
  const rows = runs.flatMap((run, at) => lines.flatMap((line, place) => (line.points[at] ? [[run, line.points[at], names[place]]] : [])));
  const newestFirst = rows.reverse();
  const shown = newestFirst.slice(0, LISTED).map(([run, point, name]) => [
    link(elsewhere(page.state, "run", { run: run.path }), timeText(run.began)),
    shortCommit(run.commit), name, point.value === null ? "–" : valueText(point.value, unit), point.lower === null ? "" : boundsText(point), point.status,
  ]);
  const left = newestFirst.length - shown.length;
  return h("div", {}, table("Values", ["began (UTC)", "commit", "configuration", "value", "bounds", "status"], shown),
    left > 0 && h("p", { class: "quiet" }, `and ${left} older ones: choose a shorter range`));
}
