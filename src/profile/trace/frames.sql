-- frames: the functions of stacks, one row a function: inlined ones first, the innermost in front.
--   id       the frame
--   name     NULL or '' when there is no symbol
--   module   the file it lies in, or "[kernel]"
--   rel_pc   address relative to the file
--   inlined  1 when it is inlined into the next row of the frame
SELECT f.id, coalesce(nullif(s.name, ''), nullif(f.deobfuscated_name, ''), f.name) AS name, m.name AS module, f.rel_pc,
       coalesce(s.inlined, 0) AS inlined
FROM stack_profile_frame AS f
LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping
LEFT JOIN stack_profile_symbol AS s ON s.symbol_set_id = f.symbol_set_id
ORDER BY f.id, s.id;
