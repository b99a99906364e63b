import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { moveAside } from '../files.js';
import { isRunning, readIdentity, type ProcessIdentity } from '../processes/identity.js';
import type { Progress } from '../postgres/binaries.js';

/** Written after the format: without it the folder cannot hold messages yet. */
const MARKER = 'formatted';
const PID_FILE = 'kafka.pid.json';

export type KafkaFolderState = 'absent' | 'formatted' | 'half-formatted';

export function inspectKafkaFolder(dataDir: string): KafkaFolderState {
  const data = join(dataDir, 'data');
  if (!existsSync(data) || readdirSync(data).length === 0) return 'absent';
  return existsSync(join(dataDir, MARKER)) && hasClusterId(data) ? 'formatted' : 'half-formatted';
}

function hasClusterId(data: string): boolean {
  const file = join(data, 'meta.properties');
  return existsSync(file) && /^cluster\.id=\S+/m.test(readFileSync(file, 'utf8'));
}

/** Formats the folder once; what an interrupted format left is moved aside. */
export async function prepareKafkaFolder(
  dataDir: string,
  format: (clusterId: string) => Promise<void>,
  onProgress: Progress,
): Promise<void> {
  mkdirSync(dataDir, { recursive: true });
  const state = inspectKafkaFolder(dataDir);
  if (state === 'formatted') return;
  if (state === 'half-formatted') {
    const target = moveAside(join(dataDir, 'data'), 'half-formatted');
    onProgress(`The data folder of Kafka was half formatted: moved to ${target}`);
  }
  onProgress('Formatting the data folder of Kafka');
  const clusterId = newClusterId();
  await format(clusterId);
  writeFileSync(join(dataDir, MARKER), `${clusterId}\n`);
}

/** Kafka's own form: 16 random bytes in base64url, not starting with a dash (it would read as an option). */
function newClusterId(): string {
  for (;;) {
    const id = Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url');
    if (!id.startsWith('-')) return id;
  }
}

export function rememberKafka(dataDir: string, identity: ProcessIdentity): void {
  writeFileSync(join(dataDir, PID_FILE), JSON.stringify(identity));
}

/** The broker that runs on this folder now, whoever started it. */
export function runningKafka(dataDir: string): ProcessIdentity | undefined {
  const identity = readIdentity(join(dataDir, PID_FILE));
  return identity !== undefined && isRunning(identity) ? identity : undefined;
}
