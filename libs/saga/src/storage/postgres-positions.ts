import type { PositionStore } from './saga-store.js';
import type { Sql } from './sql.js';

const READ = `SELECT cursor, stopped_at, failure FROM baton.subscriber_positions WHERE namespace = $1 AND subscriber = $2`;
const CREATE = `INSERT INTO baton.subscriber_positions (namespace, subscriber, cursor) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING RETURNING 1`;
const MOVE = `UPDATE baton.subscriber_positions SET cursor = $3, stopped_at = NULL, failure = NULL, moved_at = baton.now()
  WHERE namespace = $1 AND subscriber = $2 AND cursor IS NOT DISTINCT FROM $4 RETURNING 1`;
const MARK = `UPDATE baton.subscriber_positions SET stopped_at = $3, failure = $4 WHERE namespace = $1 AND subscriber = $2`;

export function postgresPositions(db: Sql): PositionStore {
  return {
    async read(namespace, subscriber) {
      const [row] = await db.query(READ, [namespace, subscriber]);
      if (row === undefined) return undefined;
      const text = (name: string) => (row[name] === null ? null : String(row[name]));
      return { cursor: text('cursor'), stoppedAt: text('stopped_at'), failure: text('failure') };
    },
    async move(namespace, subscriber, from, to) {
      const rows =
        from === undefined
          ? await db.query(CREATE, [namespace, subscriber, to])
          : await db.query(MOVE, [namespace, subscriber, to, from]);
      return rows.length > 0;
    },
    async mark(namespace, subscriber, stop) {
      await db.query(MARK, [namespace, subscriber, stop?.event ?? null, stop?.failure ?? null]);
    },
  };
}
