// The store: what of it was read, and what could not be.

import { readManifest, readRegressions, readReport } from "./rows.js";

/** The configuration beside the page, with the store's address made whole. */
export async function readConfig() {
  const raw = await readJson(new URL("config.json", document.baseURI));
  return {
    title: String(raw.title ?? ""),
    base: new URL(String(raw.store ?? ""), document.baseURI),
    commitUrl: String(raw.commit_url ?? ""),
    days: Number(raw.days) || 30,
    complete: raw.complete === true,
  };
}

async function readJson(url) {
  let answer;
  try {
    answer = await fetch(url, { cache: "no-cache" });
  } catch {
    throw new Error("the server does not answer, or does not let this page read (CORS)");
  }
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  try {
    return await answer.json();
  } catch {
    throw new Error("it is half-written or no JSON");
  }
}

export class Store {
  constructor(config) {
    this.base = config.base;
    this.entries = [];
    this.rows = new Map();
    this.failures = new Map();
    this.regressions = [];
    this.months = new Map();
    this.reader = null;
    this.waiting = new Map();
  }

  /** Where a file of the store lies; null: its path leads out of it. */
  address(path) {
    const parts = path.split("/");
    if (parts.some((part) => part === "" || part === "." || part === "..")) return null;
    return new URL(parts.map(encodeURIComponent).join("/"), this.base);
  }

  /** Read the manifest; throws what is wrong with it. */
  async open() {
    this.entries = readManifest(await readJson(this.address("Public/manifest.json")));
    try {
      this.regressions = readRegressions(await readJson(this.address("Public/regressions.json")));
    } catch (error) {
      // Most stores have none; one that is there and broken is told.
      if (!/answers (403|404)/.test(error.message)) this.failures.set("Public/regressions.json", error.message);
    }
  }

  entry(path) {
    return this.entries.find((entry) => entry.path === path) ?? null;
  }

  within(range) {
    return this.entries.filter((entry) => entry.began >= range.from && entry.began < range.to);
  }

  /** Have the rows of these runs, by reading the months that they began in, each once. */
  async load(entries, progress) {
    const months = new Set(entries.filter((entry) => Number.isFinite(entry.began)).map((entry) => new Date(entry.began).toISOString().slice(0, 7)));
    await Promise.all([...months].sort().reverse().map((month) => this.month(month, progress)));
  }

  month(month, progress) {
    if (!this.months.has(month)) this.months.set(month, this.readMonth(month, progress));
    return this.months.get(month);
  }

  readMonth(month, progress) {
    const path = `Public/index/${month}.json`;
    return new Promise((resolve) => {
      this.waiting.set(month, (message) => {
        for (const row of message.rows ?? []) this.rows.set(row.path, row);
        progress(this.rows.size);
        if (message.failed) this.failures.set(path, message.failed);
        if (message.failed || message.done) {
          this.waiting.delete(month);
          resolve();
        }
      });
      this.worker().postMessage({ month, url: this.address(path).href });
    });
  }

  worker() {
    if (this.reader === null) {
      this.reader = new Worker(new URL("reader.js", import.meta.url), { type: "module" });
      this.reader.addEventListener("message", ({ data }) => this.waiting.get(data.month)?.(data));
      this.reader.addEventListener("error", () => {
        for (const [month, hand] of this.waiting) hand({ month, failed: "the reader of this page did not start" });
      });
    }
    return this.reader;
  }

  async report(path) {
    const address = this.address(path);
    if (address === null) throw new Error("its path leads out of the store");
    return readReport(await readJson(address));
  }
}
