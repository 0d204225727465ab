#!/usr/bin/env python3
"""usage: grow_perf_data.py IN OUT SAMPLES: a perf.data with at least so many samples, those of IN again and again, each
round later than the one before and ended by FINISHED_ROUND, as perf record writes them."""
import struct
import sys

IP, TID, TIME, ADDR, IDENTIFIER = 1, 2, 4, 8, 1 << 16
SAMPLE, FINISHED_ROUND = 9, 68


def main():
    source, target, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3])
    data = open(source, "rb").read()
    attrs_offset, _, data_offset, data_size = struct.unpack_from("<4Q", data, 24)
    sample_type, = struct.unpack_from("<Q", data, attrs_offset + 24)
    time_at = 8 * (1 + bin(sample_type & (IDENTIFIER | IP | TID)).count("1"))
    assert sample_type & TIME
    head, samples, tail = bytearray(), [], bytearray()
    at, end = data_offset, data_offset + data_size
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        record = data[at:at + size]
        if kind == SAMPLE:
            samples.append(bytearray(record))
        elif kind != FINISHED_ROUND:
            (tail if samples else head).extend(record)
        at += size
    times = [struct.unpack_from("<Q", record, time_at)[0] for record in samples]
    span = max(times) - min(times) + 1
    round_end = struct.pack("<IHH", FINISHED_ROUND, 0, 8)
    with open(target, "wb") as out:
        out.write(data[:data_offset])
        out.write(head)
        written = len(head)
        count = copies = 0
        while count < wanted:
            for number, record in enumerate(samples):
                struct.pack_into("<Q", record, time_at, times[number] + copies * span)
                out.write(record)
                written += len(record)
                if number % 4096 == 4095 or number + 1 == len(samples):
                    out.write(round_end)
                    written += len(round_end)
            count += len(samples)
            copies += 1
        # What follows the samples (exits) is of no account for the profile.
        features = data[data_offset + data_size:]
        delta = written - data_size
        flags = struct.unpack_from("<4Q", data, 72)
        sections = sum(bin(word).count("1") for word in flags)
        for number in range(sections):
            offset, size = struct.unpack_from("<2Q", features, number * 16)
            out.write(struct.pack("<2Q", offset + delta, size))
        out.write(features[sections * 16:])
        out.seek(48)
        out.write(struct.pack("<Q", written))
    print(f"{count} samples")


if __name__ == "__main__":
    main()
