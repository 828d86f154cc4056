// A worker: reads the index of a month, and hands its rows over in small pieces, so that the page never stands still.

import { readShard } from "./rows.js";

const AT_ONCE = 20;

self.addEventListener("message", async ({ data: { month, url } }) => {
  try {
    const answer = await fetch(url, { cache: "no-cache" });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const rows = readShard(await answer.json());
    for (let start = 0; start < rows.length; start += AT_ONCE) {
      self.postMessage({ month, rows: rows.slice(start, start + AT_ONCE) });
    }
    self.postMessage({ month, done: true });
  } catch (error) {
    self.postMessage({ month, failed: error instanceof Error ? error.message : String(error) });
  }
});
