// How times, values and verdicts are written. Times are UTC everywhere: a store is read by people of many places.

const SKIPPED = new Set(["skipped", "not applicable"]);

/** `good`, `none` (it did not run) or `bad`: whatever else a verdict may be, it is no success. */
export function kindOf(status) {
  if (status === "passed") return "good";
  return SKIPPED.has(status) ? "none" : "bad";
}

const GLYPHS = { good: "✓", none: "–", bad: "✕" };

/** A shape for each kind, so that colour is not all that tells. */
export function glyph(status) {
  return GLYPHS[kindOf(status)];
}

export function timeText(ms) {
  return Number.isFinite(ms) ? new Date(ms).toISOString().slice(0, 16).replace("T", " ") : "no time";
}

export function dateText(ms) {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Four digits that count, thousands apart; a unit if there is one. */
export function valueText(value, unit) {
  if (!Number.isFinite(value)) return "–";
  const digits = Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 };
  const number = new Intl.NumberFormat("en-US", digits).format(value);
  return unit ? `${number} ${unit}` : number;
}

export function boundsText(figure) {
  if (figure.lower === null && figure.upper === null) return "";
  const side = (value) => (value === null ? "?" : valueText(value, ""));
  return `${side(figure.lower)} … ${side(figure.upper)}`;
}

/** Of a change by so much of what was before: `+12.3 %`. */
export function changeText(before, after) {
  if (!Number.isFinite(before) || !Number.isFinite(after)) return "";
  if (before === after) return "±0 %";
  if (before === 0) return "from 0";
  return shareText((after - before) / Math.abs(before));
}

export function shareText(share) {
  const percent = share * 100;
  return `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${Math.abs(percent).toFixed(1)} %`;
}

/** Of a new level: `slower, +18.0 %`. */
export function turnText(turn) {
  return turn.change === null ? turn.outcome : `${turn.outcome}, ${shareText(turn.change)}`;
}

export function shortCommit(commit) {
  return /^[0-9a-f]{12,}$/i.test(commit) ? commit.slice(0, 9) : commit;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
