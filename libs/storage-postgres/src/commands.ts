import { commandKey, type CommandRef, type StoredCommand } from '@baton/engine';
import { text } from './decode.js';
import type { Session } from './pool.js';

/** R24: command ids are keys of their run. */
export async function readCommands(
  run: Session['run'],
  refs: readonly CommandRef[],
): Promise<ReadonlyMap<string, StoredCommand>> {
  const rows = await run('read-commands', {
    commands: {
      namespace: refs.map((ref) => ref.namespace),
      key: refs.map((ref) => commandKey(ref.runId, ref.commandId)),
    },
  });
  return new Map(rows.map((row) => [text(row[0]), { requestHash: text(row[1]) }]));
}
