import type { JournalKind } from './actions.js';

/** Journal rows that are also published on `baton.<namespace>.events`: what other systems may rely on. */
export const PUBLISHED_JOURNAL_KINDS: ReadonlySet<JournalKind> = new Set<JournalKind>([
  'run.started',
  'run.reopened',
  'run.compensation_started',
  'run.succeeded',
  'run.failed',
  'run.compensated',
  'run.compensation_failed',
  'run.expired',
  'run.cancelled',
  'node.succeeded',
  'node.failed',
  'node.timed_out',
  'node.compensated',
  'node.compensation_failed',
]);
