import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LocalStackError } from '../errors.js';
import { batonFolder, projectFolder } from '../project.js';
import type { Progress } from '../postgres/binaries.js';

/** The files of this library that are not code: the list of artifacts and the broker's logging. */
export function kafkaResource(name: 'pom.xml' | 'log4j2.xml'): string {
  return join(projectFolder(), 'libs', 'local-stack', 'kafka', name);
}

export interface KafkaArtifacts {
  /** Belongs to one Kafka version; what is derived from its jars is kept here too. */
  readonly folder: string;
  readonly classpath: string;
}

/** Kafka's jars, copied by Maven once. */
export async function kafkaArtifacts(onProgress: Progress): Promise<KafkaArtifacts> {
  const folder = join(batonFolder(), 'kafka', kafkaVersion());
  const jars = join(folder, 'libs');
  if (!existsSync(jars)) await download(folder, jars, onProgress);
  return { folder, classpath: join(jars, '*') };
}

/** Whether Kafka's jars still have to be downloaded. */
export function kafkaIsMissing(): boolean {
  return !existsSync(join(batonFolder(), 'kafka', kafkaVersion(), 'libs'));
}

function kafkaVersion(): string {
  const version = /<kafka\.version>([^<]+)</.exec(readFileSync(kafkaResource('pom.xml'), 'utf8'))?.[1];
  if (version === undefined) throw new Error('pom.xml names no kafka.version');
  return version;
}

/** Copies beside and renames at the end: an interrupted download is never taken for a complete one. */
async function download(folder: string, jars: string, onProgress: Progress): Promise<void> {
  onProgress('Downloading Kafka with Maven (once)');
  mkdirSync(folder, { recursive: true });
  const partial = `${jars}.partial-${process.pid}`;
  await runMaven(
    ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${partial}`],
    folder,
    onProgress,
  );
  try {
    renameSync(partial, jars);
  } catch (error) {
    // Another process was faster: its folder is as good.
    if (!existsSync(jars)) throw error;
  }
}

const PROGRESS_INTERVAL_MS = 3_000;

function runMaven(goals: readonly string[], cwd: string, onProgress: Progress): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('mvn', ['-B', '-Dstyle.color=never', '-f', kafkaResource('pom.xml'), ...goals], {
      cwd,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let files = 0;
    let reported = performance.now();
    let problem: string | undefined;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (/Downloaded from|Copying /.test(line)) files += 1;
      problem ??= /\[ERROR\]\S*\s*(.+)/.exec(line)?.[1];
      if (performance.now() - reported < PROGRESS_INTERVAL_MS) return;
      reported = performance.now();
      onProgress(`Downloading Kafka: ${files} files so far`);
    });
    child.once('error', (cause) => reject(mavenMissing(cause)));
    child.once('close', (code) => (code === 0 ? resolve() : reject(mavenFailed(problem))));
  });
}

export function mavenMissing(cause: Error): LocalStackError {
  return new LocalStackError(
    'MAVEN_MISSING',
    'Kafka is downloaded with Maven and no "mvn" was found: install it (Debian: apt install maven), or set BATON_KAFKA_BROKERS to brokers that exist.',
    { cause },
  );
}

function mavenFailed(problem: string | undefined): LocalStackError {
  return new LocalStackError('DOWNLOAD_FAILED', `Maven could not download Kafka: ${problem ?? 'it gave no reason'}`);
}
