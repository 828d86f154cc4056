// Elements from data: whatever comes from a store becomes text, never markup.

/** An element; children that are no nodes become text, `null` and `false` nothing. `on…` are listeners. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== false));
  return element;
}

/** A link, if a browser may follow it: to http(s), or within this page; else the text alone. */
export function link(href, text, attributes = {}) {
  let target = null;
  try {
    target = new URL(href, document.baseURI);
  } catch {
    // no address: the text alone
  }
  if (target === null || !["http:", "https:"].includes(target.protocol)) return h("span", attributes, text);
  return h("a", { ...attributes, href: target.href, rel: "noreferrer" }, text);
}

/** A table with a caption that is read out; cells are nodes or text, the first of a row is its heading. */
export function table(caption, headings, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, headings.map((heading) => h("th", { scope: "col" }, heading)))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, place) =>
        place === 0 ? h("th", { scope: "row" }, cell) : h("td", {}, cell)))))));
}

/** Names and values; values that are no text are written as JSON. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, Object.entries(pairs).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, typeof value === "string" || value instanceof Node ? value : JSON.stringify(value)))));
}
