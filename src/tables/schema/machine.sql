-- machine: the machine that was recorded; one row, id 0, for a trace of one machine.
--   id                what machine_id means in other tables
--   raw_id            id in the trace's packets, 0 for the host
--   name              host name; NULL when unknown
--   sysname           "Linux"
--   release           kernel release, as uname -r
--   version           kernel version, as uname -v
--   arch              "x86_64", "aarch64" ...
--   num_cpus          number of CPUs
--   system_ram_bytes  memory, bytes; NULL when unknown
--   system_ram_gb     the same in 2^30 bytes, rounded
CREATE TABLE machine (
  id BIGINT NOT NULL,
  raw_id BIGINT,
  name VARCHAR,
  sysname VARCHAR,
  release VARCHAR,
  version VARCHAR,
  arch VARCHAR,
  num_cpus BIGINT,
  system_ram_bytes BIGINT,
  system_ram_gb BIGINT
);
