-- irq_slice: runs of interrupt handlers. A view of culprit's own on slice.
--   id        slice.id
--   ts        when the handler began, ns
--   dur       how long it ran, ns; -1 when its end was not seen
--   cpu       the CPU it ran on
--   name      the handler's name, as /proc/interrupts has it
--   track_id  slice.track_id
CREATE VIEW irq_slice AS
SELECT s.id, s.ts, s.dur, t.cpu, coalesce(nullif(regexp_extract(s.name, '^IRQ \((.*)\)$', 1), ''), s.name) AS name, s.track_id
FROM slice AS s
JOIN __intrinsic_track AS t ON s.track_id = t.id
WHERE t.type = 'cpu_irq';
