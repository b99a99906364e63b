-- R21: firing it failed; later, each time twice as long, at most five minutes. One row never holds a page.
UPDATE baton.timers SET
  failures = failures + 1,
  due_at = (SELECT baton.now()) + least(power(2, least(failures, 20)), 300) * interval '1 second'
WHERE timer_id = :timerId::uuid AND run_id = :runId::uuid AND namespace = :namespace::text
RETURNING failures
