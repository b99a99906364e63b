import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pollUntil } from '../conditions.js';
import { LocalStackError } from '../errors.js';
import type { Progress } from '../postgres/binaries.js';
import type { ProcessIdentity } from '../processes/identity.js';
import { describePortOwner, freePort, isPortFree } from '../processes/ports.js';
import { spawnServer, type ExitInfo, type ServerProcess } from '../processes/spawn-server.js';
import { kafkaArtifacts, kafkaResource, type KafkaArtifacts } from './artifacts.js';
import { classArchiveFlag } from './class-archive.js';
import { DEFAULT_HEAP, jvmFlags, kafkaConfig, type ExtraListener } from './config.js';
import { prepareKafkaFolder, rememberKafka, runningKafka } from './data-folder.js';
import { findJava, type Java } from './java.js';

const run = promisify(execFile);

export interface KafkaOptions {
  readonly dataDir: string;
  /** A free one when not given. */
  readonly port?: number;
  /** For a proxy in front of the broker. */
  readonly extraListener?: ExtraListener;
  /** Heap of the broker, for instance `1g` for a bench. */
  readonly heap?: string;
  readonly logFile?: string;
  readonly onProgress?: Progress;
}

export interface RunningKafka {
  /** host:port, as clients want it. */
  readonly brokers: string;
  readonly port: number;
  readonly pid: number;
  readonly identity: ProcessIdentity;
  /** Settles when the present process ends, wanted or not. */
  readonly exited: Promise<ExitInfo>;
  stop(): Promise<void>;
  /** SIGKILL, as a crash would be: every acknowledged message is there after restart(). */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Lets this process end while the server goes on; whoever ends it needs its identity. */
  detach(): void;
}

const READY_LINE = 'Kafka Server started';
const READY_TIMEOUT_MS = 90_000;
const STOP_GRACE_MS = 8_000;

export async function startKafka(options: KafkaOptions): Promise<RunningKafka> {
  const { dataDir, heap = DEFAULT_HEAP, extraListener } = options;
  const onProgress = options.onProgress ?? (() => undefined);
  const java = await findJava();
  const artifacts = await kafkaArtifacts(onProgress);
  const jvm: Jvm = { java, artifacts, flags: jvmFlags(heap) };
  const archive = await classArchiveFlag({
    artifacts,
    java,
    onProgress,
    train: (folder, flag) => train(jvm, folder, flag),
  });
  const fast: Jvm = { ...jvm, flags: [...jvm.flags, ...archive] };
  const logFile = options.logFile ?? join(dataDir, 'kafka.log');
  refuseSecondBroker(dataDir);
  if (options.port !== undefined) await refuseTakenPort(options.port);
  const port = options.port ?? (await freePort());
  await prepareKafkaFolder(dataDir, (clusterId) => format(fast, dataDir, clusterId), onProgress);
  const launch = async (): Promise<ServerProcess> => {
    refuseSecondBroker(dataDir);
    await refuseTakenPort(port);
    return launchBroker({ jvm: fast, dataDir, port, logFile, ...(extraListener !== undefined && { extraListener }) });
  };
  return new KafkaProcess(port, await launch(), launch);
}

class KafkaProcess implements RunningKafka {
  constructor(
    readonly port: number,
    private server: ServerProcess,
    private readonly launch: () => Promise<ServerProcess>,
  ) {}

  get brokers(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.server.pid;
  }

  get identity(): ProcessIdentity {
    return this.server.identity;
  }

  get exited(): Promise<ExitInfo> {
    return this.server.exited;
  }

  detach(): void {
    this.server.detach();
  }

  async stop(): Promise<void> {
    await stopBroker(this.server, STOP_GRACE_MS);
  }

  async kill(): Promise<void> {
    this.server.send('SIGKILL');
    await this.server.exited;
  }

  async restart(): Promise<void> {
    if (this.server.exitInfo() === undefined) await this.stop();
    this.server = await this.launch();
  }
}

interface Jvm {
  readonly java: Java;
  readonly artifacts: KafkaArtifacts;
  readonly flags: readonly string[];
}

function jvmArguments(jvm: Jvm, mainClass: string, args: readonly string[]): readonly string[] {
  const logging = `-Dlog4j2.configurationFile=${kafkaResource('log4j2.xml')}`;
  return [...jvm.flags, logging, '-cp', jvm.artifacts.classpath, mainClass, ...args];
}

interface Broker {
  readonly jvm: Jvm;
  readonly dataDir: string;
  readonly port: number;
  readonly logFile: string;
  readonly extraListener?: ExtraListener;
}

async function launchBroker({ jvm, dataDir, port, logFile, extraListener }: Broker): Promise<ServerProcess> {
  const config = await writeConfig(dataDir, port, extraListener);
  const args = jvmArguments(jvm, 'kafka.Kafka', [config]);
  const server = await spawnServer({ command: jvm.java.command, args, logFile, marker: config, cwd: dataDir });
  rememberKafka(dataDir, server.identity);
  const outcome = await pollUntil(
    () => {
      if (server.exitInfo() !== undefined) return 'exited';
      return server.output().includes(READY_LINE) ? 'ready' : undefined;
    },
    { timeoutMs: READY_TIMEOUT_MS, intervalMs: 50 },
  );
  if (outcome === 'ready') return server;
  await stopBroker(server, 0);
  throw new LocalStackError('SERVER_FAILED', `Kafka did not start: ${reasonIn(server.output())}`);
}

async function writeConfig(dataDir: string, port: number, extra?: ExtraListener): Promise<string> {
  const file = join(dataDir, 'server.properties');
  const ports = { broker: port, controller: await freePort(), ...(extra !== undefined && { extra }) };
  writeFileSync(file, kafkaConfig(dataDir, ports));
  return file;
}

async function stopBroker(server: ServerProcess, graceMs: number): Promise<void> {
  server.send('SIGTERM');
  const stopped = await pollUntil(() => server.exitInfo(), { timeoutMs: graceMs });
  if (stopped === undefined) server.send('SIGKILL');
  await server.exited;
}

function reasonIn(output: string): string {
  const line = output.split('\n').find((text) => /\b(ERROR|FATAL)\b|Exception|Error:/.test(text));
  return line?.trim() ?? 'it gave no reason within the time; see its log.';
}

async function format(jvm: Jvm, dataDir: string, clusterId: string): Promise<void> {
  const config = await writeConfig(dataDir, await freePort());
  try {
    await run(
      jvm.java.command,
      jvmArguments(jvm, 'kafka.tools.StorageTool', ['format', '-t', clusterId, '-c', config]),
    );
  } catch (cause) {
    const reason =
      cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim().split('\n')[0] : String(cause);
    throw new LocalStackError('SERVER_FAILED', `The data folder of Kafka could not be formatted: ${reason}`, { cause });
  }
}

const TRAINING_STOP_MS = 60_000;

async function train(jvm: Jvm, scratch: string, flag: string): Promise<void> {
  await prepareKafkaFolder(
    scratch,
    (clusterId) => format(jvm, scratch, clusterId),
    () => undefined,
  );
  const training = { ...jvm, flags: [...jvm.flags, flag] };
  const broker = { jvm: training, dataDir: scratch, port: await freePort(), logFile: join(scratch, 'kafka.log') };
  // The archive is written while the JVM exits.
  await stopBroker(await launchBroker(broker), TRAINING_STOP_MS);
}

function refuseSecondBroker(dataDir: string): void {
  const running = runningKafka(dataDir);
  if (running === undefined) return;
  throw new LocalStackError('ALREADY_RUNNING', `A Kafka broker already runs on ${dataDir} (pid ${running.pid}).`);
}

async function refuseTakenPort(port: number): Promise<void> {
  if (await isPortFree(port)) return;
  throw new LocalStackError('PORT_TAKEN', `Port ${port}, wanted for Kafka, is taken by ${describePortOwner(port)}.`);
}
