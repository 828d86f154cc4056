"""The records of a run and of a trial that passed; tests replace what they are about."""

from kubedyno.measure.records import (
    FORMAT,
    AuditLine,
    Check,
    Host,
    Measurement,
    Program,
    RunRecord,
    TrialRecord,
    Verdict,
)
from kubedyno.model.settings import Evidence, Setting

RUN = RunRecord(
    format=FORMAT,
    id="20260102-030405-a1b2c3",
    kubedyno="0.1",
    command=("kubedyno", "run", "hello"),
    started_at="2026-01-02T03:04:05.000000Z",
    ended_at=None,
    host=Host(cores=4, memory_bytes=1, kernel="Linux 6", architecture="x86_64", python="3.11"),
    programs={"etcd": Program(version="v3", source="PATH", path="/bin/etcd")},
    trials=(),
    verdict=None,
    exit_code=None,
)

TRIAL = TrialRecord(
    format=FORMAT,
    scenario="hello",
    description="Says hello.",
    tags=("first-steps",),
    parameters={"nodes": 4},
    seed=0,
    time="real",
    engine="local",
    scheduler="kai",
    kubelet="kwok",
    profile="scale",
    simulated=("simulated training operator",),
    started_at="2026-01-02T03:04:06.000000Z",
    setup_s=5.0,
    duration_s=1.5,
    settings=(
        Setting(component="binder", field="qps", wanted=None, value="50", evidence=Evidence.ARGV, source="/proc/1"),
    ),
    measurements=(Measurement(name="time", unit="s", value=1.25, lower=1.0, upper=1.5, samples=(1.25,)),),
    checks=(Check(name="no node is crowded", passed=True, detail=""),),
    audit=(AuditLine(name="stall", value=0.1, unit="s", limit=0.5),),
    verdict=Verdict.PASSED,
    message="",
)
