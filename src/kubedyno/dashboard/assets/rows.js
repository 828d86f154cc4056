// What a store says, as the page uses it: fields have the kind that they should have, whoever wrote them.

export const FORMAT = 1;
const LITTLE = 0.05;

const text = (value) => (typeof value === "string" ? value : "");
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);
const list = (value) => (Array.isArray(value) ? value : []);
const mapping = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});

/** The runs of a manifest; throws what is wrong with it. */
export function readManifest(raw) {
  if (!Array.isArray(mapping(raw).runs)) throw new Error("it has no list of runs");
  if ((raw.format ?? FORMAT) !== FORMAT) throw new Error(`its format is ${JSON.stringify(raw.format)}, and this page knows ${FORMAT}: build the site with a newer kubedyno`);
  return raw.runs.map(mapping).filter((entry) => text(entry.path) !== "").map((entry) => ({
    path: entry.path,
    id: runId(entry.path),
    commit: text(entry.commit),
    began: momentOf(text(entry.timestamp)),
  }));
}

/** Milliseconds; a time without a zone is UTC, as for whoever wrote the index. */
function momentOf(timestamp) {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/i.test(timestamp) || !timestamp.includes(":");
  return Date.parse(zoned ? timestamp : `${timestamp.replace(" ", "T")}Z`);
}

function runId(path) {
  return path.split("/").at(-2) ?? path;
}

/** The rows of a month's index; throws what is wrong with it. */
export function readShard(raw) {
  if (!Array.isArray(mapping(raw).runs)) throw new Error("it has no list of runs");
  if ((number(raw.format) ?? FORMAT) > FORMAT) throw new Error(`its format is ${raw.format}, and this page knows ${FORMAT}: build the site with a newer kubedyno`);
  return raw.runs.map(mapping).filter((row) => text(row.path) !== "").map(readRun);
}

function readRun(row) {
  const versions = Object.entries(mapping(row.versions)).map(([name, version]) => `${name} ${String(version)}`);
  const run = {
    id: text(row.id) || runId(row.path),
    path: row.path,
    began: momentOf(text(row.started_at)),
    source: text(row.source),
    status: text(row.status) || "unknown",
    reason: text(row.reason),
    commit: text(row.commit),
    ref: text(row.ref),
    versions,
    host: text(row.host),
    tests: list(row.tests).map(mapping).map(readTest),
  };
  run.found = [run.id, run.source, run.status, run.reason, run.commit, run.ref, run.host, ...versions].join("\n").toLowerCase();
  return run;
}

function readTest(raw) {
  const test = {
    name: text(raw.name) || "(no name)",
    series: text(raw.series),
    status: text(raw.status) || "unknown",
    duration: number(raw.duration_s),
    scheduler: text(raw.scheduler),
    engine: text(raw.engine),
    nodes: number(raw.nodes),
    repeat: number(raw.repeat) ?? 1,
    tags: list(raw.tags).map(String),
    configuration: mapping(raw.configuration),
    message: text(raw.message),
    folder: text(raw.folder),
    figures: list(raw.figures).map(mapping).filter((figure) => number(figure.value) !== null).map((figure) => ({
      name: text(figure.name),
      unit: text(figure.unit),
      value: figure.value,
      lower: number(figure.lower),
      upper: number(figure.upper),
    })),
  };
  if (test.duration !== null) test.figures.unshift({ name: "duration", unit: "s", value: test.duration, lower: null, upper: null });
  test.found = [test.name, test.status, test.scheduler, test.engine, test.message, test.series, ...test.tags, JSON.stringify(test.configuration)].join("\n").toLowerCase();
  return test;
}

/** Where figures took a new level: what got worse, and what else changed by more than a little. A file that does not say
 * which it was tells of what got worse. */
export function readRegressions(raw) {
  return list(mapping(raw).regressions).map(mapping).map((one) => ({
    name: text(one.name),
    series: text(one.series),
    figure: text(one.figure),
    run: text(one.run),
    commit: text(one.commit),
    scheduler: text(one.scheduler),
    change: number(one.change),
    outcome: text(one.outcome) || "changed",
    regressed: one.regressed !== false,
  })).filter((one) => one.regressed || Math.abs(one.change ?? 1) >= LITTLE);
}

/** The tests of a report with what only it has: whole messages, and logs. In the order of the index. */
export function readReport(raw) {
  const suites = Array.isArray(raw) ? raw : "SpecReports" in mapping(raw) ? [raw] : null;
  if (suites !== null) return suites.flatMap((suite) => list(mapping(suite).SpecReports)).map(mapping).map(readSpec);
  const results = mapping(mapping(raw).results ?? raw);
  if (!Array.isArray(results.tests)) throw new Error("it is neither a report of Ginkgo nor one of KAI's scale tests");
  return results.tests.map(mapping).map((test) => ({ name: text(test.test_name), isTest: true, status: text(test.status), message: "", log: "" }));
}

function readSpec(spec) {
  const failures = [mapping(spec.Failure), ...list(spec.AdditionalFailures).map((one) => mapping(mapping(one).Failure))];
  return {
    name: [...list(spec.ContainerHierarchyTexts).map(String), text(spec.LeafNodeText) || text(spec.LeafNodeType)].join(" > "),
    isTest: (spec.LeafNodeType ?? "It") === "It",
    status: text(spec.State),
    message: failures.map((failure) => text(failure.Message)).filter(Boolean).join("\n\n"),
    log: [text(spec.CapturedGinkgoWriterOutput), text(spec.CapturedStdOutErr)].filter(Boolean).join("\n"),
  };
}
