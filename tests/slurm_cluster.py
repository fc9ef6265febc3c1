# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Slurm cluster of one node, this machine, for as long as a test takes: all that it has lies in a folder."""

import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import time

DAEMONS = ["munged", "slurmctld", "slurmd"]

CONFIGURATION = """\
ClusterName=mneme{control}
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={control}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=2
MaxArraySize={most_tasks}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
"""


def find(command):
    """Daemons lie where only root's PATH leads."""
    return shutil.which(command, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin")


def lacking():
    """What of Slurm is not installed."""
    return [command for command in [*DAEMONS, "sbatch", "squeue", "scancel", "sinfo"] if not find(command)]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    """`env` is what Slurm's commands need."""

    def __init__(self, folder, most_tasks):
        self.folder = pathlib.Path(folder)
        for name in (".", "state", "spool"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        self.env = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self.daemons = []
        control, node = free_ports(2)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, host=socket.gethostname().split(".")[0], user=os.getuid(), control=control, node=node,
            cpus=os.cpu_count(), most_tasks=most_tasks))
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)

    def start(self):
        munge = [f"--{name}={self.folder / f'munge.{suffix}'}" for name, suffix in
                 [("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("seed-file", "seed")]]
        self._launch("munged", "--foreground", "--force", *munge)
        self._until("munged", (self.folder / "munge.socket").exists)
        self._launch("slurmctld", "-D")
        self._launch("slurmd", "-D")
        self._until("the node", lambda: self.ask("sinfo", "--noheader", "--format=%t").stdout.strip() == "idle")

    def _launch(self, name, *words):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.daemons.append(subprocess.Popen([find(name), *words], env={**os.environ, **self.env}, stdout=log,
                                                 stderr=log, stdin=subprocess.DEVNULL, start_new_session=True))

    def _until(self, what, is_so, seconds=60):
        end = time.monotonic() + seconds
        while not is_so():
            ended = [daemon.args[0] for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > end:
                logs = "".join(f"\n{path.name}:\n{path.read_text()[-2000:]}" for path in self.folder.glob("*.log"))
                raise AssertionError(f"{what} of the test's Slurm is not up after {seconds} s; ended: {ended}{logs}")
            time.sleep(0.1)

    def ask(self, *words):
        return subprocess.run([find(words[0]), *words[1:]], env={**os.environ, **self.env}, capture_output=True, text=True)

    def processes(self):
        """Whatever lives by this cluster's configuration, the calling process left out: daemons, steps and jobs."""
        found, mark = [], f"SLURM_CONF={self.env['SLURM_CONF']}".encode()
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes().split(b"\0") and int(path.name) != os.getpid():
                    found.append((int(path.name), (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                pass  # gone, or somebody else's
        return found

    def stop(self):
        if len(self.daemons) == 3:
            self.ask("scancel", "--quiet", "--me")
            end = time.monotonic() + 20
            while time.monotonic() < end and self.ask("squeue", "--noheader").stdout.strip():
                time.sleep(0.2)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(15)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons = []
