"""What people do with the program, in small: a command each, and how they go on after it was stopped."""
import dataclasses

from workplace import BACKBONE, DATA, TRAIN

OFTEN = ["--checkpoint-seconds", 0]
RUN = "{trial}/run"


@dataclasses.dataclass
class Scenario:
    name: str
    command: list
    prepare: list = dataclasses.field(default_factory=list)  # commands before it, which nothing disturbs
    killed: tuple | None = None  # a command before it that is killed at its n-th change of the disk, and n
    resume: list | None = None  # what a person types when told of --resume; the command with it if not given

    @property
    def resumed(self):
        return self.resume or [*self.command, "--resume"]

    @property
    def overwriting(self):
        return self.command if "--overwrite" in self.command else [*self.command, "--overwrite"]


def training(name, verb, *more):
    return Scenario(name, [verb, *TRAIN, *OFTEN, *more, "--out", RUN, "--json"], resume=[verb, "--out", RUN, "--resume", "--json"])


def of_methods(methods):
    """`train` of every method: heads that a method does not have are not asked for, wide ones are made narrow."""
    head = ["--head-hidden", 32, "--projection", 16]
    wide = [*head, "--wide-projection", 48]
    flags = {"protogcd": head, "simgcd": head, "mugcd": head, "protogcd-plus": wide, "gcd": wide, "xcon": wide, "dccl": wide, "gpc": wide}
    for method in methods:
        scenario = training(f"train {method}", "train", "--k", 16, "--method", method, "--report=false")
        at = scenario.command.index("--head-hidden")
        scenario.command[at:at + 4] = flags.get(method, [])
        yield scenario


def all_scenarios(methods):
    data = [*DATA, *BACKBONE]
    model = ["--model", "{material}/run"]
    yield training("discover", "discover", "--bank-views", 2, "--beginnings", 2)
    yield training("discover, tuned", "discover", "--k", 16, "--views", "bank", "--bank-views", 2, "--tune", "--report=false")
    yield Scenario("discover --quick", ["discover", "--quick", *data, "--k", 16, "--out", RUN], resume=["discover", "--out", RUN, "--resume"])
    yield training("train with fresh views", "train", "--k", 16, "--report=false")
    yield training("train with a bank on disk", "train", "--k", 16, "--views", "bank", "--bank-home", "file", "--report=false")
    yield Scenario("train over an earlier run", ["train", *TRAIN, *OFTEN, "--k", 16, "--report=false", "--out", RUN, "--overwrite"],
                   prepare=[["train", *TRAIN, "--k", 16, "--seed", 7, "--report=false", "--out", RUN]],
                   resume=["train", "--out", RUN, "--resume"])
    began = training("", "train", "--k", 16, "--views", "bank", "--bank-views", 2, "--bank-home", "file", "--report=false")
    yield Scenario("train, gone on with", began.resumed, killed=(began.command, 80), resume=began.resumed)
    yield from of_methods(methods)
    yield training("discover, K by clusters", "discover", "--rule", "clusters", "--cluster-steps", 12, "--k-max", 24, "--bank-views", 2, "--report=false")
    yield Scenario("pretrain", ["pretrain", "--labelled", "{material}/demo/labelled", "--depth", 2, "--width", 32, "--heads", 2,
                                "--patch", 6, "--size", 24, "--batch-size", 16, "--steps", 12, "--report-every", 3, "--threads", 1,
                                *OFTEN, "--out", "{trial}/backbone.safetensors"])
    yield Scenario("predict", ["predict", *model, "--images", "{material}/demo/unlabelled", "--threads", 1, "--out", "{trial}/predictions.csv"])
    yield Scenario("predict over an earlier table", ["predict", *model, "--images", "{material}/demo/unlabelled", "--threads", 1,
                                                     "--out", "{trial}/predictions.csv", "--overwrite"],
                   prepare=[["predict", *model, "--images", "{material}/demo/outliers", "--out", "{trial}/predictions.csv"]])
    yield Scenario("predict --shard", ["predict", *model, "--images", "{material}/demo/unlabelled", "--threads", 1,
                                       "--shard", "1/2", "--out", "{trial}/predictions.csv"])
    yield Scenario("gather", ["gather", "{trial}/p-1-of-2.csv", "{trial}/p-2-of-2.csv", "--out", "{trial}/all.csv"],
                   prepare=[["predict", *model, "--images", "{material}/demo/unlabelled", "--shard", f"{i}/2", "--out", "{trial}/p.csv"] for i in (1, 2)])
    yield Scenario("embed", ["embed", "--images", "{material}/demo/unlabelled", *BACKBONE, "--batch", 4, "--tokens", "--out", "{trial}/features.npy"])
    yield Scenario("embed --shard", ["embed", "--images", "{material}/demo/unlabelled", *BACKBONE, "--batch", 4, "--shard", "1/2",
                                     "--out", "{trial}/features.npy"])
    yield Scenario("cluster", ["cluster", *data, "--k", 16, "--out", "{trial}/clusters.csv"])
    yield Scenario("sweep", ["sweep", "{material}/sweep.toml", "--jobs", 1, "--threads", 1, "--out", "{trial}/sweep"],
                   resume=["sweep", "{material}/sweep.toml", "--jobs", 1, "--threads", 1, "--out", "{trial}/sweep"])
    yield Scenario("sweep --share", ["sweep", "{material}/sweep.toml", "--jobs", 1, "--threads", 1, "--share", "--out", "{trial}/sweep"],
                   resume=["sweep", "{material}/sweep.toml", "--jobs", 1, "--threads", 1, "--share", "--out", "{trial}/sweep"])
    yield Scenario("corrupt", ["corrupt", "--images", "{material}/demo/outliers", "--corruptions", "fog,jpeg_compression", "--severities", "1,5",
                               "--threads", 1, "--out", "{trial}/corrupted", "--sheet", "{trial}/sheet.png"])
    yield Scenario("datasets make-demo", ["datasets", "make-demo", "--out", "{trial}/demo", "--per-class", 3, "--size", 32, "--threads", 1])
    yield Scenario("ood", ["ood", *model, "--id", "{material}/demo/unlabelled", "--outliers", "{material}/demo/outliers", "--threads", 1,
                           "--out", "{trial}/ood"])
    yield Scenario("retrieve", ["retrieve", *model, "--threads", 1, "--out", "{trial}/examples"])
    yield Scenario("attention", ["attention", *model, "--images", "{material}/demo/outliers", "--threads", 1, "--out", "{trial}/attention"])
    of_a_run = [["train", *TRAIN, "--k", 16, "--report=false", "--out", RUN]]
    yield Scenario("report", ["report", RUN, "--threads", 1, "--export", "{trial}/export"], prepare=of_a_run)
    yield Scenario("labels", ["labels", RUN, "--out", "{trial}/labels.csv"], prepare=of_a_run)
    yield Scenario("sort", ["sort", RUN, "--out", "{trial}/sorted"], prepare=of_a_run)
    yield Scenario("corrections", ["discover", *TRAIN, *OFTEN, "--k", 16, "--report=false", "--previous", "{material}/run",
                                   "--corrections", "{material}/corrections.csv", "--out", RUN],
                   resume=["discover", "--out", RUN, "--resume"])
    yield Scenario("weights export", ["weights", "export", *model, "--out", "{trial}/trained.safetensors"])
    yield Scenario("weights convert", ["weights", "convert", "{material}/tiny.safetensors", "{trial}/half.safetensors", "--dtype", "float16"])
