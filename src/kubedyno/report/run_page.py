"""The page of a run: `index.html`, one file that needs nothing else, made from the run's folder alone."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Final

from kubedyno.kit.durable import write_atomic
from kubedyno.measure.records import Measurement, RunRecord, TrialRecord, Verdict
from kubedyno.report import (
    charts,
    downloads,
    failure_section,
    gang_timeline,
    histograms,
    placement_map,
    run_curves,
    run_summaries,
    run_tables,
    sweep_section,
    trial_pictures,
)
from kubedyno.report.gang_ways import gang_ways
from kubedyno.report.placement import placement
from kubedyno.report.run_reading import RunRead, TrialRead, read

PAGE: Final = "index.html"

_STYLE: Final = """\
:root { color-scheme: light dark; --ink: #1f2933; --pale: #616e7c; --line: #d9dfe5; --ground: #fff; --box: #f5f7f9;
  --good: #00684d; --bad: #b3261e; --doubt: #8a5a00; --c0: #0072b2; --c1: #d55e00; --c2: #007a5a; --c3: #a4508b;
  --c4: #8a6d00; --c5: #5b6770; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --pale: #9aa5b1; --line: #3a444e; --ground: #14181c;
  --box: #1e242a; --good: #4cc9a0; --bad: #ff8a80; --doubt: #f2c14e; --c0: #56b4e9; --c1: #ff9e5e; --c2: #4cc9a0;
  --c3: #e09fd0; --c4: #e6c94c; --c5: #9aa5b1; } }
body { margin: 0 auto; max-width: 1200px; padding: 1rem 2rem 4rem; color: var(--ink); background: var(--ground);
  font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
.verdict { padding: .1rem .6rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .85rem; }
.passed, .yes { color: var(--good); } .failed, .error, .crashed, .interrupted, .no { color: var(--bad); }
.invalid, .suspect, .not-applicable, .skipped { color: var(--doubt); }
.told { border-left: 4px solid currentColor; padding: .3rem .8rem; background: var(--box); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .4rem 0; }
caption { text-align: left; color: var(--pale); padding-bottom: .2rem; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th { color: var(--pale); font-weight: normal; } th.text, td.text { text-align: left; }
ul.checks { list-style: none; padding: 0; margin: .3rem 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 1rem; }
figure { margin: 0; background: var(--box); border-radius: 6px; padding: .6rem .8rem; }
figcaption { font-weight: bold; } figcaption small { color: var(--pale); font-weight: normal; }
svg.chart { width: 100%; height: auto; display: block; } svg .grid { stroke: var(--line); fill: none; }
svg text { fill: var(--pale); font-size: 11px; } svg .y { text-anchor: end; } svg .x { text-anchor: middle; }
svg .curve { fill: none; stroke-width: 1.8; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); }
.c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); }
.key { display: inline-block; margin-right: 1rem; font-size: .85rem; white-space: nowrap; }
.key::before { content: ""; display: inline-block; width: .9rem;
  height: .2rem; margin-right: .35rem; vertical-align: middle; background: currentColor; }
.k0::before { background: var(--c0); } .k1::before { background: var(--c1); } .k2::before { background: var(--c2); }
.k3::before { background: var(--c3); } .k4::before { background: var(--c4); } .k5::before { background: var(--c5); }
#sweep table { font-size: .87rem; } #sweep td:not(.text), #sweep td .key, .whole { white-space: nowrap; }
#sweep th, #sweep td { padding: .2rem .5rem; } small { color: var(--pale); }
.charts.few { grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); }
.charts.broad { grid-template-columns: repeat(auto-fit, minmax(480px, 1fr)); }
img { max-width: 100%; } details { margin: .6rem 0; } summary { cursor: pointer; color: var(--pale); }
pre { background: var(--box); padding: .6rem .8rem; overflow: auto; max-height: 24rem; font-size: .8rem; }
.wrong { border-left: 4px solid var(--bad); padding: 0 .8rem; margin: 1rem 0; } .wrong h3 { margin-top: 0; }
svg .bars { fill: var(--c0); } svg .percentile { stroke: var(--c1); stroke-width: 1.5; fill: none; }
svg .band { fill: var(--c1); opacity: .25; } a { color: var(--c0); }
.timeline { overflow-x: auto; } .timeline svg { min-width: 700px; }
.timeline .waiting { fill: var(--c5); } .timeline .partly { fill: var(--c4); } .timeline .whole { fill: var(--c0); }
.timeline path.evicted { stroke: var(--bad); stroke-width: 2; filter: drop-shadow(0 0 1px var(--ground))
  drop-shadow(0 0 1px var(--ground)); } .timeline span.evicted { color: var(--bad); }
.lane.waiting::before { background: var(--c5); height: .12rem; } .lane.partly::before { background: var(--c4);
  height: .35rem; } .lane.whole::before { background: var(--c0); height: .7rem; }
.map canvas { width: 100%; aspect-ratio: 1 / .62; background: var(--box); border-radius: 6px; cursor: crosshair;
  touch-action: pan-y; display: block; } .map canvas:focus-visible { outline: 2px solid var(--c0); }
.controls { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin: .4rem 0; }
.controls button, .controls input { font: inherit; } .controls output { min-width: 6rem; }
.about { min-height: 1.5em; color: var(--pale); overflow-wrap: anywhere; }
code { background: var(--box); padding: .1rem .3rem; border-radius: 3px; overflow-wrap: anywhere; }
"""


def write(folder: Path) -> Path:
    """Draw the pictures of the trials of a run folder and write its page; where the page is."""
    run = read(folder)
    for trial in run.trials:
        trial_pictures.write(trial)
    path = folder / PAGE
    write_atomic(path, page(run))
    return path


def page(run: RunRead) -> str:
    """The page; files of the run's folder are linked by their paths within it."""
    record = run.record
    maps = _maps(run.trials)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>kubedyno run {escape(record.id)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>\n{_STYLE}</style></head><body><main>",
            f"<h1>Run {escape(record.id)} {_badge(record.verdict)}</h1>",
            f"<p>{escape(_where(record, [trial.record for trial in run.trials]))}</p>",
            run_tables.trials(run.trials),
            sweep_section.section([trial.record for trial in run.trials], record.host),
            *_compared(run.trials),
            *(part for trial in run.trials for part in _trial(run, trial, maps[trial.number])),
            "<h2>How it was made</h2>",
            f"<p><code>{escape(' '.join(record.command))}</code></p>",
            run_tables.host(record),
            downloads.section(downloads.found(run.folder, run.folder, downloads.OF_RUNS)),
            "</main>",
            placement_map.script() if 'class="map"' in "".join(maps.values()) else "",
            "</body></html>\n",
        ]
    )


def _where(record: RunRecord, trials: Sequence[TrialRecord]) -> str:
    engines = ", ".join(dict.fromkeys(trial.engine for trial in trials)) or "no"
    schedulers = ", ".join(dict.fromkeys(trial.subject for trial in trials)) or "none"
    return (
        f"{record.started_at} to {record.ended_at or 'an unknown end'} on the {engines} engine, "
        f"{'schedulers' if ',' in schedulers else 'scheduler'} {schedulers}, kubedyno {record.kubedyno}."
    )


def _compared(trials: Sequence[TrialRead]) -> Iterable[str]:
    """Trials of one scenario beside each other, where several schedulers ran it."""
    by_scenario: dict[str, list[TrialRead]] = {}
    for trial in trials:
        by_scenario.setdefault(trial.record.scenario, []).append(trial)
    for scenario, several in by_scenario.items():
        if len({trial.record.subject for trial in several}) > 1:
            yield f"<h2>{escape(scenario)}: schedulers side by side</h2>"
            yield run_tables.side_by_side(several)
            yield _drawn(run_curves.charts(several))


def _maps(trials: Sequence[TrialRead]) -> dict[int, str]:
    """The map of each trial, by its number; the page has room for so many cells."""
    room = placement_map.MOST_CELLS
    made = {}
    for trial in trials:
        placed = placement(trial)
        if len(placed.cells) <= room:
            room -= len(placed.cells)
            made[trial.number] = placement_map.section(placed, trial=trial.number)
        else:
            made[trial.number] = placement_map.left_out(placed)
    return made


def _trial(run: RunRead, trial: TrialRead, placed: str) -> Iterable[str]:
    record = trial.record
    yield f'<section id="trial-{trial.number}">'
    yield f"<h2>{escape(trial.title)} {_badge(record.verdict)}</h2>"
    yield f"<p>{escape(record.description)}</p>"
    if record.message:
        yield f'<p class="told {_css(record.verdict)}">{escape(record.message)}</p>'
    yield failure_section.of_trial(record, trial.folder / "logs")
    courses = (run_curves.phases(trial), run_curves.processors(trial), run_curves.memory(trial))
    yield _drawn([*run_curves.charts([trial]), *courses])
    yield run_tables.measurements("Measurements", record.measurements)
    yield run_tables.measurements("Quality", record.quality)
    yield _bars([*record.measurements, *record.quality])
    yield run_tables.cases(record)
    yield run_tables.checks(record)
    yield placed
    yield gang_timeline.section(gang_ways(trial))
    yield run_summaries.section(run.folder, trial.summaries)
    yield run_tables.violations(record)
    yield run_tables.findings(record)
    yield run_tables.communications(record)
    yield run_tables.audit(record)
    yield run_tables.parameters(record)
    yield run_tables.settings(record)
    yield downloads.section(downloads.found(run.folder, trial.folder, downloads.OF_TRIALS))
    yield "</section>"


def _bars(measured: Iterable[Measurement]) -> str:
    drawn = "".join(histograms.svg(one) for one in histograms.histograms(measured))
    return f'<div class="charts few">{drawn}</div>' if drawn else ""


def _drawn(made: Iterable[charts.Chart]) -> str:
    return f'<div class="charts">{"".join(charts.svg(chart) for chart in made)}</div>'


def _badge(verdict: Verdict | None) -> str:
    word = verdict or "unfinished"
    return f'<span class="verdict {_css(verdict)}">{escape(word)}</span>'


def _css(verdict: Verdict | None) -> str:
    return (verdict or "crashed").replace(" ", "-")
