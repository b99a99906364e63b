import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LocalStackError } from '../errors.js';

const run = promisify(execFile);
const OLDEST_JAVA = 17;

export interface Java {
  readonly command: string;
  /** For instance `17.0.15`: class archives are made for one version. */
  readonly version: string;
}

/** The Java runtime of this machine: JAVA_HOME, else the one on the PATH. */
export async function findJava(): Promise<Java> {
  const home = process.env['JAVA_HOME'];
  const command = home === undefined || home === '' ? 'java' : join(home, 'bin', 'java');
  const version = await versionOf(command);
  if (version === undefined) {
    throw new LocalStackError(
      'JAVA_MISSING',
      `Kafka needs a Java runtime (${OLDEST_JAVA} or newer) and none was found: install one (Debian: apt install default-jdk-headless maven), or set BATON_KAFKA_BROKERS to brokers that exist.`,
    );
  }
  if (Number.parseInt(version, 10) < OLDEST_JAVA) {
    throw new LocalStackError(
      'JAVA_TOO_OLD',
      `Kafka needs Java ${OLDEST_JAVA} or newer and ${command} is ${version}: set JAVA_HOME to a newer one, or set BATON_KAFKA_BROKERS to brokers that exist.`,
    );
  }
  return { command, version };
}

async function versionOf(command: string): Promise<string | undefined> {
  try {
    const { stderr } = await run(command, ['-version']);
    return /version "([^"]+)"/.exec(stderr)?.[1];
  } catch {
    return undefined;
  }
}
