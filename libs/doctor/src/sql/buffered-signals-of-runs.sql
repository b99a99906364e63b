SELECT a.run_id, s.buffered
FROM unnest($1::uuid[]) AS a(run_id)
CROSS JOIN LATERAL (
  SELECT count(*) AS buffered
  FROM baton.signals s
  WHERE s.run_id = ANY (ARRAY[a.run_id]) AND s.status = 'BUFFERED'
) s
