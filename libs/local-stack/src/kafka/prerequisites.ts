import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { kafkaIsMissing, mavenMissing } from './artifacts.js';
import { findJava } from './java.js';

const run = promisify(execFile);

/** Throws when a broker cannot be had on this machine: told before anything is started. */
export async function checkKafkaPrerequisites(): Promise<void> {
  await findJava();
  if (!kafkaIsMissing()) return;
  try {
    await run('mvn', ['--version']);
  } catch (cause) {
    throw mavenMissing(cause instanceof Error ? cause : new Error(String(cause)));
  }
}
