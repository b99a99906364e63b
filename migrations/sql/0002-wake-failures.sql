-- R21: how often handling a wake-up of this task failed since its wake-up was last decided; wake_at is pushed each time.
-- What timers.failures is for timers. No index: pushes and resets are as cheap as before (R35).
ALTER TABLE baton.task_instances ADD COLUMN wake_failures integer NOT NULL DEFAULT 0;
