"""A server that speaks S3's protocol on loopback, in a process of its own: requests one after the other, each whole.

A server with several threads would look at a condition in one and write in another: conditional writes would be none.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import boto3

_PROGRAM = """
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

class Silent(WSGIRequestHandler):
    def log_request(self, *args): pass

application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, application, threaded=False, request_handler=Silent)
print(server.server_port, flush=True)
server.serve_forever()
"""


class S3:
    """A running server."""

    def __init__(self, url: str) -> None:
        self.env = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def make_bucket(self, name: str) -> None:
        client = boto3.client(
            "s3",
            endpoint_url=self.env["AWS_ENDPOINT_URL"],
            aws_access_key_id=self.env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.env["AWS_SECRET_ACCESS_KEY"],
            region_name=self.env["AWS_REGION"],
        )
        client.create_bucket(Bucket=name)
        client.close()


@contextlib.contextmanager
def s3_server(*, checks_keys_after: int | None = None) -> Iterator[S3]:
    """The server for the duration of a block; it is there when it has said its port.

    After so many requests it asks who one is: nobody has an account.
    """
    env = {**os.environ}
    if checks_keys_after is not None:
        env["INITIAL_NO_AUTH_ACTION_COUNT"] = str(checks_keys_after)
    with subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            yield S3(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.kill()
