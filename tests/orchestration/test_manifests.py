"""What is printed for Kubernetes and AWS Batch, held to their schemas, and what their containers would run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from tests.conftest import Command
from tests.support.object_server import BUCKET, ObjectServer

BLUEPRINT = """\
# A quote ' and a dollar $HOME stay as they are.
framework = "numpy"
problem = "mnist_mlp"
batch_size = [4, 8]
steps = 3
warmup = 1
threads = 1
verify = false
"""
RESULTS = "s3://bucket/folder"
OPTIONS = ("--image=registry.example/benchmarker:1", "--dry-run")
ZONE = "eu-central-1"


def printed(command: Command, engine: str, *options: str) -> dict[str, Any]:
    (command.folder / "two.toml").write_text(BLUEPRINT)
    given = [option for option in options if option != "--"]
    own = any(option.startswith("--results") for option in options)
    done = command(
        "submit", "two.toml", f"--to={engine}", *([] if own else [f"--results={RESULTS}"]), *OPTIONS, *given
    )
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


# --- Kubernetes -----------------------------------------------------------------------------------


def test_the_manifest_is_strictly_valid(command: Command) -> None:
    found = printed(
        command, "kubernetes", "--cores=4", "--memory-gib=8", "--gpus=1", "--minutes=10", "--parallel=1"
    )
    config, job = found["items"]
    for item in (config, job):
        for version in ("1.28", kubernetes_validate.latest_version()):
            kubernetes_validate.validate(item, version, strict=True)
    assert config["data"] == {"two.toml": BLUEPRINT}
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (2, 1, "Indexed")
    (container,) = spec["template"]["spec"]["containers"]
    limits = container["resources"]["limits"]
    assert (
        limits == {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"} == container["resources"]["requests"]
    )
    (volume,) = spec["template"]["spec"]["volumes"]
    assert volume["configMap"]["name"] == config["metadata"]["name"]


def test_a_wrong_manifest_would_be_seen(command: Command) -> None:
    _, job = printed(command, "kubernetes")["items"]
    job["spec"]["completionMod"] = job["spec"].pop("completionMode")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)


# --- AWS Batch ------------------------------------------------------------------------------------


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of AWS Batch that speaks to moto, which runs no containers."""
    import boto3  # these two here alone: each process collects this file
    from moto import mock_aws

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws(config={"batch": {"use_docker": False}}):
        session = boto3.Session(region_name=ZONE)
        client = session.client("batch")
        _make_queue(session, client)
        yield client


def _make_queue(session: Any, client: Any) -> None:
    iam = session.client("iam")
    ec2 = session.client("ec2")
    role = iam.create_role(RoleName="measuring", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    profile = iam.create_instance_profile(InstanceProfileName="measuring")["InstanceProfile"]["Arn"]
    subnets = [subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"]][:1]
    group = ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"]
    client.create_compute_environment(
        computeEnvironmentName="measuring",
        type="MANAGED",
        state="ENABLED",
        serviceRole=role,
        computeResources={
            "type": "EC2",
            "minvCpus": 0,
            "maxvCpus": 8,
            "instanceTypes": ["c5.xlarge"],
            "subnets": subnets,
            "securityGroupIds": [group],
            "instanceRole": profile,
        },
    )
    client.create_job_queue(
        jobQueueName="measuring",
        state="ENABLED",
        priority=1,
        computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "measuring"}],
    )


def faults(client: Any, operation: str, parameters: Mapping[str, Any]) -> str:
    """Return what AWS' own model of the service finds wrong with a call."""
    from botocore.validate import ParamValidator

    shape = client.meta.service_model.operation_model(operation).input_shape
    report = ParamValidator().validate(parameters, shape)
    return str(report.generate_report())


def test_both_calls_are_as_the_service_model_has_them_and_moto_takes_them(
    command: Command, batch: Any
) -> None:
    found = printed(command, "aws-batch", "--queue=measuring", "--gpus=1")
    definition, job = found["register_job_definition"], found["submit_job"]
    assert faults(batch, "RegisterJobDefinition", definition) == ""
    assert faults(batch, "SubmitJob", job) == ""
    assert "Unknown parameter" in faults(batch, "SubmitJob", {**job, "arrays": {}})
    registered = batch.register_job_definition(**definition)
    assert registered["jobDefinitionName"] == definition["jobDefinitionName"]
    (described,) = batch.describe_job_definitions(jobDefinitionName=definition["jobDefinitionName"])[
        "jobDefinitions"
    ]
    assert described["containerProperties"]["environment"] == [{"name": "BLUEPRINT", "value": BLUEPRINT}]
    submitted = batch.submit_job(**job)["jobId"]
    (told,) = batch.describe_jobs(jobs=[submitted])["jobs"]
    assert told["arrayProperties"]["size"] == 2


def test_one_job_is_no_array(command: Command) -> None:
    found = printed(command, "aws-batch", "--queue=measuring", "--cells-per-job=2")
    assert "arrayProperties" not in found["submit_job"]
    assert "--part=1/1" in found["register_job_definition"]["containerProperties"]["command"][2]


# --- the containers' command ----------------------------------------------------------------------


@pytest.mark.framework("numpy")
def test_the_commands_run_the_parts_of_their_indexes_and_the_records_come_home_by_the_store(
    command: Command, tmp_path: Path
) -> None:
    server = ObjectServer(tmp_path)
    server.start()
    try:
        found = printed(command, "aws-batch", "--queue=measuring", f"--results=s3://{BUCKET}/campaigns")
        containers = [_container(command, server, found, index) for index in (0, 1)]
        for container in containers:
            _, told = container.communicate(timeout=240)
            assert container.returncode == 0, told
        name = found["submit_job"]["jobName"].removeprefix("benchmarker-")
        home = Command(command.folder, {**command.environment, **server.environment})
        done = home("results", "merge", f"s3://{BUCKET}/campaigns/{name}", "--into=results")
        assert done.status == 0, done.stderr
    finally:
        server.kill()
    records = [json.loads(path.read_text()) for path in (command.folder / "results").glob("*.json")]
    assert sorted(record["batch_size"] for record in records) == [4, 8]
    assert (command.folder / "carried-1.toml").read_text() == BLUEPRINT


def _container(
    command: Command, server: ObjectServer, found: Mapping[str, Any], index: int
) -> subprocess.Popen[str]:
    """Start what the container of an index would run, with a home of its own."""
    shell, flag, line = found["register_job_definition"]["containerProperties"]["command"]
    (variable,) = found["register_job_definition"]["containerProperties"]["environment"]
    own = {
        **command.environment,
        **server.environment,
        # As in the image, where python has benchmarker.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "BENCHMARKER_HOME": str(command.folder / f"home-{index}"),
        "AWS_BATCH_JOB_ARRAY_INDEX": str(index),
        variable["name"]: variable["value"],
    }
    line = line.replace("/tmp/two.toml", str(command.folder / f"carried-{index}.toml"))  # noqa: S108
    return subprocess.Popen([shell, flag, line], env=own, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("engine", "options", "sentence"),
    [
        ("kubernetes", ("--image=i", "--results=here"), "needs --results in an object store"),
        ("kubernetes", ("--results=s3://a/b",), "name one that has benchmarker with --image"),
        (
            "kubernetes",
            ("--image=i", "--results=s3://a/b", "--queue=x"),
            "--queue does not apply to --to=kubernetes",
        ),
        ("kubernetes", ("--image=i", "--results=s3://a/b", "--nodes=2"), "gives each job one node"),
        ("aws-batch", ("--image=i", "--results=s3://a/b"), "needs the name of a job queue"),
        ("aws-batch", ("--image=i", "--results=s3://a/b", "--option=a=b"), "--option does not apply to"),
    ],
)
def test_what_they_cannot_say_is_refused(
    command: Command, engine: str, options: tuple[str, ...], sentence: str
) -> None:
    (command.folder / "two.toml").write_text(BLUEPRINT)
    done = command("submit", "two.toml", f"--to={engine}", "--dry-run", *options)
    assert (done.status, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_blueprint_too_long_to_travel_is_refused(command: Command) -> None:
    Path(command.folder / "two.toml").write_text(BLUEPRINT + "# x\n" * 5000)
    done = command("submit", "two.toml", "--to=aws-batch", "--queue=q", "--results=s3://a/b", *OPTIONS)
    assert done.status == 2
    assert "carries a blueprint of at most 16,384 bytes, got 20,1" in done.stderr
