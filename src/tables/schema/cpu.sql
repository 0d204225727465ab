-- cpu: the CPUs of the machine.
--   id          the same as ucpu
--   ucpu        number of the CPU in this trace; equals cpu for a trace of one machine
--   cpu         the kernel's number of the CPU, from 0
--   cluster_id  group of CPUs that share a clock; NULL when unknown
--   processor   model, as /proc/cpuinfo has it; NULL when unknown
--   machine_id  machine.id
--   capacity    the scheduler's measure of its speed, 1024 for the fastest; NULL when unknown
--   arg_set_id  further arguments (args.arg_set_id); NULL for none
--   idle_name   the kernel's name of its idle thread, "swapper/3"; all idle threads are utid 0. NULL when it was never
--               seen idle. A column of culprit's own
CREATE TABLE cpu (
  id BIGINT NOT NULL,
  ucpu BIGINT NOT NULL,
  cpu BIGINT NOT NULL,
  cluster_id BIGINT,
  processor VARCHAR,
  machine_id BIGINT,
  capacity BIGINT,
  arg_set_id BIGINT,
  idle_name VARCHAR
);
