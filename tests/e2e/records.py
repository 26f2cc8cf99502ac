# SPDX-License-Identifier: MIT
"""The records of a recording, read by its own description: the schema chunk says what there is."""
import re
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace

SCHEMA, RECORDS, PACKED = 1, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def chunks(data):
    at = 0
    while at < len(data):
        magic, kind, _, _, _, length = struct.unpack_from("<IHHQII", data, at)
        assert magic == 0x31504E44
        payload = data[at + 32:at + 32 + length]
        at += 32 + length
        yield (RECORDS, zlib.decompress(payload[4:], -15)) if kind == PACKED else (kind, payload)


def fields(schema):
    """{record id: (name, [(field, type)])}"""
    known = {}
    for line in schema.decode().splitlines():
        if record := re.match(r"record (\d+) (\w+):", line):
            known[int(record[1])] = (record[2], [])
            last = known[int(record[1])][1]
        elif field := re.match(r"  ([uis]) (\w+):", line):
            last.append((field[2], field[1]))
    return known


def decode(body, layout):
    record, at = {}, 0
    for name, kind in layout:
        if at == len(body):
            value = b"" if kind == "s" else 0
        else:
            value, at = varint(body, at)
            if kind == "i":
                value = value >> 1 ^ -(value & 1)
            elif kind == "s":
                value, at = body[at:at + value], at + value
        record[name] = value
    return SimpleNamespace(**record)


def read(path, *names):
    """Those of these names in order, as (name, record); each thing that has a time of its own."""
    known = {}
    for kind, payload in chunks(Path(path).read_bytes()):
        if kind == SCHEMA:
            known = fields(payload)
        at = 0
        while kind == RECORDS and at < len(payload):
            number, at = varint(payload, at)
            length, at = varint(payload, at)
            name, layout = known[number]
            if name in names:
                yield name, decode(payload[at:at + length], layout)
            at += length


def slices(record):
    """(start, end, processor, how it ended) of a record of that name."""
    at, time = 0, record.time_ns
    while at < len(record.slices):
        gap, at = varint(record.slices, at)
        length, at = varint(record.slices, at)
        where, at = varint(record.slices, at)
        time += gap
        yield time, time + length, where >> 3, where & 7
        time += length


def samples(path):
    """(time, record) of each sample."""
    time = 0
    for name, record in read(path, "base", "sample"):
        time = record.time_ns if name == "base" else time + record.delta_ns
        if name == "sample":
            yield time, record
