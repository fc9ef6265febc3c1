# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles that choose variants (lib/bundle/FORMAT.md), written by hand: of code that need be neither right nor fast."""

import json

import bundles


def tuned(recorded, code, device, target, keys, suffix="cubin", kernels=None, **also):
    """Chooses this code for the recorded kernels (of names that begin with one of `kernels`), for launches with each of
    the keys: dicts of a choice's keys. `also` is what variants' configurations have besides."""
    members = bundles.read(recorded)
    info = bundles.parsed(members[0])
    info["memory"] = "none"
    out = [("bundle.json", bundles.compact(info))]
    choices = []
    for member in members:
        if member.name.startswith("code/"):
            out.append(member)
        if not member.name.startswith("kernels/"):
            continue
        kernel = member.name.split("/")[1]
        about = bundles.parsed(next(m for m in members if m.name == f"kernels/{kernel}/kernel.json"))
        if kernels and not about["demangled"].startswith(tuple(kernels)):
            continue
        out.append(member)
        if member.name.endswith("kernel.json") and "code" not in about:
            continue  # its IR follows
        configuration = {"target": f"{device}:{target}", "passes": "default<O3>", "codegen_opt": 3, "form": "auto",
                         "fuse": False, "ir": "", **also}
        text = json.dumps(configuration, separators=(",", ":"))
        variant = bundles.digest(kernel.encode() + text.encode())
        name = f"variants/{kernel}/{variant}"
        out.append((f"{name}/variant.json", bundles.compact(
            {"id": variant, "kernel": kernel, "configuration": configuration, "code": f"code.{suffix}",
             "code_digest": bundles.digest(code), "form": ""})))
        out.append((f"{name}/code.{suffix}", code))
        for key in keys:
            key = dict(key)
            launch = {"launch": key.pop("launch")} if "launch" in key else {}
            key = {"kernel": kernel, "device": device, "target": f"{device}:{target}", **key}
            name = bundles.digest(json.dumps(key, separators=(",", ":")).encode())
            choices.append((f"choices/{kernel}/{name}.json", bundles.compact(
                {"id": name, **key, "variant": variant, **launch, "baseline_ns": 2000, "median_ns": 1000, "ratio": 2,
                 "instances": 1})))
    return bundles.write(out + choices)


def key(grid, block, shared=0, **more):
    return {"grid": [grid, 1, 1], "block": [block, 1, 1], "shared_bytes": shared, **more}
