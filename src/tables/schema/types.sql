-- Types that several tables share.

-- A scheduling state as the kernel prints it. Member i is the text of the flag bits of i, in the order of the letters
-- (bit 0 is S), R when none is set; behind those come R+ (preempted) and what thread_state has for a thread on a CPU.
-- src/tables/enums.h has the same numbers for the loader.
CREATE TYPE sched_state AS ENUM (
  SELECT CASE i
           WHEN 0 THEN 'R'
           WHEN 4096 THEN 'R+'
           WHEN 4097 THEN 'Running'
           ELSE concat_ws('',
             CASE WHEN i & 1 <> 0 THEN 'S' END, CASE WHEN i & 2 <> 0 THEN 'D' END,
             CASE WHEN i & 4 <> 0 THEN 'T' END, CASE WHEN i & 8 <> 0 THEN 't' END,
             CASE WHEN i & 16 <> 0 THEN 'X' END, CASE WHEN i & 32 <> 0 THEN 'Z' END,
             CASE WHEN i & 64 <> 0 THEN 'P' END, CASE WHEN i & 128 <> 0 THEN 'x' END,
             CASE WHEN i & 256 <> 0 THEN 'K' END, CASE WHEN i & 512 <> 0 THEN 'W' END,
             CASE WHEN i & 1024 <> 0 THEN 'N' END, CASE WHEN i & 2048 <> 0 THEN 'I' END)
         END
  FROM range(4098) AS numbers(i) ORDER BY i);

-- What kind of value an argument has; the order is ArgType's in src/tables/enums.h.
CREATE TYPE arg_type AS ENUM ('int', 'uint', 'string', 'real', 'pointer', 'bool', 'json', 'null');
