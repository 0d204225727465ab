-- block_io: the requests to block devices, one row a request. A table of culprit's own.
--   id           number of the row
--   dev          the kernel's number of the device
--   device       its name where the recording tells it, "nvme0n1"; else the number as text, "259:0"
--   sector       first sector, of 512 bytes
--   bytes        size, bytes
--   op           what and how, as blktrace prints it: R read, W write, D discard, F flush; S sync, M metadata, A read-ahead
--   ts           the first moment seen of it, ns
--   insert_ts    when it was put into the queue, ns; NULL when not seen
--   issue_ts     when it was given to the device, ns; NULL when not seen
--   complete_ts  when the device had done it, ns; NULL when not seen
--   queue_ns     from insert to issue; NULL when either was not seen
--   service_ns   from issue to completion; NULL when either was not seen
--   utid         the thread that issued it; NULL when unknown
--   cpu          the CPU it was issued on; NULL when unknown
--   error        the kernel's error code, 0 for none; NULL when not completed
--   requeues     how often it was put back into the queue
--   merged_bios  how many bios were merged into it
CREATE TABLE __intrinsic_block_io (
  id INTEGER NOT NULL,
  dev BIGINT NOT NULL,
  sector BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  insert_ts BIGINT,
  issue_ts BIGINT,
  complete_ts BIGINT,
  utid INTEGER,
  cpu SMALLINT,
  error INTEGER,
  requeues INTEGER,
  merged_bios INTEGER,
  device VARCHAR NOT NULL,
  op VARCHAR NOT NULL
);

CREATE VIEW block_io AS
SELECT id::BIGINT AS id, dev, device, sector, bytes, op, coalesce(insert_ts, issue_ts, complete_ts) AS ts, insert_ts,
       issue_ts, complete_ts, issue_ts - insert_ts AS queue_ns, complete_ts - issue_ts AS service_ns,
       utid::BIGINT AS utid, cpu::BIGINT AS cpu, error::BIGINT AS error, requeues::BIGINT AS requeues,
       merged_bios::BIGINT AS merged_bios
FROM __intrinsic_block_io;
