import { findJava, LocalStackError } from '@baton/local-stack';
import { externalServers } from './external.js';

/** platform: the services and Kafka. library: one service with the runtime inside, and PostgreSQL alone. */
export type Mode = 'platform' | 'library';

export interface ModeQuestion {
  /** Asked for on the command line. */
  readonly library: boolean;
  readonly say: (line: string) => void;
}

/**
 * Without a Java runtime there is no broker, unless there is one already: then library mode, with one line that says so.
 * A Java that is too old, or a Maven that is missing, stays an error: those can be mended.
 */
export async function chooseMode({ library, say }: ModeQuestion): Promise<Mode> {
  if (library) return 'library';
  if (externalServers().brokers !== undefined) return 'platform';
  try {
    await findJava();
  } catch (error) {
    if (!(error instanceof LocalStackError) || error.code !== 'JAVA_MISSING') return 'platform';
    say(
      'No Java runtime, so no Kafka: starting sagas embedded in one service, on PostgreSQL alone (as --library does)',
    );
    return 'library';
  }
  return 'platform';
}
