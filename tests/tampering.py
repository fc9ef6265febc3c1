# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings changed so that they are still consistent, but no longer what happened: a replay must be found out."""

import bundles
from bundles import BLOCK, Member
from support import run, tool


class Recording:
    """A bundle from mneme-capture, taken apart."""

    def __init__(self, archive):
        self.archive, self.members = archive, bundles.read(archive)
        self.kernels = {m.name.split("/")[1]: bundles.parsed(m) for m in self.members
                        if m.name.endswith("/kernel.json")}
        self.instances = [i for i, m in enumerate(self.members) if m.name.startswith("instances/")]

    def instance_of(self, kernel):
        """The index of the member with the last instance of the kernel whose name starts so; any, if it is empty."""
        return [i for i in self.instances
                if self.kernels[bundles.parsed(self.members[i])["kernel"]]["demangled"].startswith(kernel)][-1]

    def memory(self, index):
        """{address: (bytes before, bytes after)} of an instance's segments, as mneme-restore tells."""
        restored = run([tool("restore")], input=self.archive)
        assert restored.status == 0, restored.text()
        members = {m.name: m.data for m in bundles.read(restored.out)}
        # A state that two instances share is there once, its members named as the first of them names its segments.
        contents = {}
        for instance in [bundles.parsed(self.members[i]) for i in self.instances]:
            for state in (instance["prologue"], instance["epilogue"]):
                for segment in bundles.segments(instance):
                    for file in (segment["address"], segment.get("symbol")):
                        data = members.get(f"memory/{state}/{file}.raw")
                        if data is not None:
                            contents[state, segment["address"]] = data
        instance = bundles.parsed(self.members[index])

        def content(when, segment):
            # A segment that only a later instance has is zeros in a state shared with an earlier one.
            return contents.get((instance[when], segment["address"]), bytes(segment["size"]))

        return {int(segment["address"], 16): (content("prologue", segment), content("epilogue", segment))
                for segment in bundles.segments(instance)}

    def with_changed_epilogue(self, index):
        """One byte, of those that the kernel changed if it changed any, is another in the epilogue of the instance,
        which must be the last one. The bundle, the segment's address, and the offset in it."""
        memory = self.memory(index)
        changed = [(address, i) for address, (before, after) in memory.items()
                   for i in range(len(after)) if before[i] != after[i]]
        changed = changed or [(address, i) for address, (_, after) in memory.items() for i in range(len(after))]
        address, offset = changed[len(changed) // 2]
        start = (address + offset) // BLOCK * BLOCK
        block = bytearray(BLOCK)
        for segment, (_, after) in memory.items():
            for i in range(max(segment, start), min(segment + len(after), start + BLOCK)):
                block[i - start] = after[i - segment]
        block[address + offset - start] ^= 0x40

        instance = bundles.parsed(self.members[index])
        old = next(m for m in self.members if m.name == f"states/{instance['epilogue']}")
        blocks = dict(bundles.read_state(old.data))
        blocks[start] = bundles.digest(block)
        state = bundles.write_state(sorted(blocks.items()))
        instance["epilogue"] = bundles.digest(state)
        members = list(self.members)
        number = 1 + sum(m.name.endswith(".pack") for m in members)
        members[index:index + 1] = [Member(f"memory/{number}.pack", bundles.pack_of(bytes(block))),
                                    Member(f"states/{instance['epilogue']}", state),
                                    Member(members[index].name, bundles.compact(instance))]
        return bundles.write(members), address, offset

    def with_changed_argument(self, index, offset, value):
        """The instance launched with other argument bytes, under the hash that it then has."""
        instance = bundles.parsed(self.members[index])
        arguments = bytearray.fromhex(instance["arguments"])
        arguments[offset:offset + len(value)] = value
        old, instance["arguments"] = instance["id"], arguments.hex()
        instance["id"] = bundles.instance_id(instance)
        members = list(self.members)
        members[index] = Member(members[index].name.replace(old, instance["id"]), bundles.compact(instance))
        summary = bundles.parsed(members[-1])
        for entry in summary["occurrences"]:
            entry["instance"] = entry["instance"].replace(old, instance["id"])
        members[-1] = Member("summary.json", bundles.compact(summary))
        return bundles.write(members)


def pattern_of(address, offset):
    """What a verdict that names this place matches."""
    return rf"0x{address:x}\b.*\b({offset}|0x{offset:x})\b"
