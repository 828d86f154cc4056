"""Places that are gone, slow, or refuse: a sentence that names the place and what to check, and nothing is lost."""

import socket
from pathlib import Path

import pytest
from tests.s3 import S3, s3_server
from tests.unit.results.publishing.conftest import RunMaker, over

from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.results.publishing import buckets
from kubedyno.results.publishing.opening import open_place
from kubedyno.results.publishing.places import Place, StoreError

pytestmark = pytest.mark.unit


async def refusal(place: Place, folder: Path) -> str:
    before = sorted(path.name for path in folder.rglob("*"))
    with pytest.raises(StoreError) as caught:
        await over(place).publish(folder, commit="")
    assert caught.value.exit_code == ExitCode.ENGINE
    assert "Debug source" not in str(caught.value)
    assert sorted(path.name for path in folder.rglob("*")) == before
    return str(caught.value)


async def test_a_folder_that_cannot_be_written_to(make_run: RunMaker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = await refusal(open_place(str(tmp_path / "file" / "store"), {}), make_run("r1"))
    assert said == (
        f"the store {tmp_path}/file/store refused {tmp_path}/file/store/Public/manifest.json: Not a directory; "
        "check that the folder is there and may be written to"
    )


async def test_a_folder_that_is_read_only(make_run: RunMaker) -> None:
    # Of /proc not even root may make a folder.
    said = await refusal(open_place("/proc/kubedyno", {}), make_run("r1"))
    assert said.startswith("the store /proc/kubedyno refused /proc/kubedyno")
    assert said.endswith("; check that the folder is there and may be written to")


async def test_a_bucket_that_is_not_there(s3: S3, make_run: RunMaker) -> None:
    said = await refusal(open_place("s3://nobody-made-this/x", s3.env), make_run("r1"))
    assert said.startswith("the store s3://nobody-made-this/x did not take or give Public/manifest.json: ")
    assert "NoSuchBucket" in said
    assert said.endswith("; check the name of the bucket")


async def test_wrong_credentials(make_run: RunMaker) -> None:
    with s3_server(checks_keys_after=1) as server:
        server.make_bucket("bucket")
        said = await refusal(open_place("s3://bucket", server.env), make_run("r1"))
    assert "InvalidAccessKeyId" in said
    assert said.endswith("; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's policy")


async def test_a_server_that_is_gone(make_run: RunMaker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    env = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    said = await refusal(open_place("s3://bucket", env), make_run("r1"))
    assert said.endswith("; check AWS_ENDPOINT_URL, AWS_REGION and the network, and try again")


async def test_a_server_that_never_answers(make_run: RunMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_ANSWERED_WITHIN_S", 0.2)
    monkeypatch.setattr(buckets, "_TRIES", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        env = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{listening.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
        }
        said = await refusal(open_place("s3://bucket", env), make_run("r1"))
    assert said.startswith("the store s3://bucket did not take or give Public/manifest.json: ")
    assert said.endswith("; check AWS_ENDPOINT_URL, AWS_REGION and the network, and try again")


def test_half_of_the_credentials() -> None:
    with pytest.raises(UsageError) as caught:
        open_place("s3://bucket", {"AWS_ACCESS_KEY_ID": "a"})
    assert str(caught.value) == (
        "s3://bucket cannot be used: Generic S3 error: Missing SecretAccessKey; "
        "set AWS's variables as its own tools need them"
    )


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("s3://", "'s3://' names no bucket: write s3://BUCKET or s3://BUCKET/PREFIX"),
        ("https://x/y", "'https://x/y' is no place for a store: write s3://BUCKET/PREFIX or a folder"),
    ],
)
def test_what_is_no_place(url: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_place(url, {})
    assert str(caught.value) == sentence


async def test_a_large_log_goes_in_parts(s3: S3, make_run: RunMaker) -> None:
    folder = make_run("r1")
    log = folder / "trials" / "1-hello" / "logs" / "scheduler.log"
    log.parent.mkdir()
    with log.open("wb") as file:
        file.truncate(40 * 2**20)
    s3.make_bucket("large")
    store = over(open_place("s3://large", s3.env))
    await store.publish(folder, commit="")
    stored = await store.place.read("Public/r1/trials/1-hello/logs/scheduler.log")
    assert stored is not None
    assert stored.data == log.read_bytes()
