SELECT j.seq, j.epoch, j.kind, j.node_id, j.task_id, j.task_kind, j.attempt, j.code, j.detail, j.at
FROM baton.run_journal j
WHERE j.run_id = :runId::uuid AND j.namespace = :namespace::text AND j.seq > :afterSeq::bigint
ORDER BY j.seq
LIMIT :limit::integer
