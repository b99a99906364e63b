import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { KafkaArtifacts } from './artifacts.js';
import type { Java } from './java.js';
import type { Progress } from '../postgres/binaries.js';

export interface ArchiveContext {
  readonly artifacts: KafkaArtifacts;
  readonly java: Java;
  readonly onProgress: Progress;
  /** Runs a broker in a scratch folder with this flag, until it is ready, and stops it. */
  readonly train: (scratch: string, flag: string) => Promise<void>;
}

/**
 * The flag that shares a broker's loaded classes: it saves half of the CPU time of each later start. The archive is
 * made once by a broker in a scratch folder; a JVM that cannot make or use one starts without.
 */
export async function classArchiveFlag({ artifacts, java, onProgress, train }: ArchiveContext): Promise<string[]> {
  const archive = join(artifacts.folder, `classes-${java.version}.jsa`);
  if (!existsSync(archive)) {
    onProgress('Preparing fast starts of Kafka (once)');
    const scratch = mkdtempSync(join(artifacts.folder, 'training-'));
    const partial = join(scratch, 'classes.jsa');
    try {
      await train(scratch, `-XX:ArchiveClassesAtExit=${partial}`);
      if (existsSync(partial)) renameSync(partial, archive);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  return existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : [];
}
