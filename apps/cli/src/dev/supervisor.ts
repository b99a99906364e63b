import { checkKafkaPrerequisites, type ProcessIdentity } from '@baton/local-stack';
import { checkExternalServers, type ExternalServers } from './external.js';
import { checkExternalDatabase } from './external-database.js';
import type { Layout } from './layout.js';
import { kafkaLauncher, launchService, postgresLauncher, type ServerLauncher } from './launch.js';
import { dataFolderServers, endLeftovers, findLeftovers } from './leftovers.js';
import { choosePorts, type PlatformPorts } from './ports.js';
import type { Progress } from './progress.js';
import { awaitReady } from './readiness.js';
import { addressesOf, serviceSpecs, type ServiceSpec } from './services.js';
import { readState, removeState, writeState, type Addresses, type Phase, type RecordedProcess } from './state.js';
import { Supervised, type Launched } from './supervised.js';

export interface SupervisorOptions {
  readonly layout: Layout;
  readonly self: ProcessIdentity;
  readonly progress: Progress;
  readonly external: ExternalServers;
}

const READY_TIMEOUT_MS = 90_000;
/** One after the other: what others need stops later. Together below 15 s even when every grace is used up. */
const STOP_ORDER: readonly { readonly names: readonly string[]; readonly graceMs: number }[] = [
  { names: ['demo-workers', 'api-gateway', 'timer-service'], graceMs: 3_500 },
  { names: ['coordinator', 'definition-registry'], graceMs: 3_500 },
  { names: ['outbox-relay'], graceMs: 2_500 },
];
const SERVER_STOP_MS = 5_000;

/**
 * Owns the processes of a development platform: starts them, starts them again when they crash, stops them in order.
 * Does not own the lock that keeps a second supervisor away, nor what is run on the platform.
 */
export class PlatformSupervisor {
  private readonly parts = new Map<string, Supervised>();
  private readonly records = new Map<string, RecordedProcess>();
  private readonly startedAt = new Date().toISOString();
  private phase: Phase = 'starting';
  private addresses: Addresses | undefined;
  private begun = false;

  constructor(private readonly options: SupervisorOptions) {}

  async start(): Promise<Addresses> {
    const { layout, progress, external } = this.options;
    await checkExternalServers(external);
    if (external.databaseUrl !== undefined) await checkExternalDatabase(external.databaseUrl);
    if (external.brokers === undefined) await checkKafkaPrerequisites();
    await this.endEarlierPlatform();
    this.begun = true;
    this.save();
    const { ports, notes } = await choosePorts(
      new Set([
        ...(external.databaseUrl === undefined ? [] : ['postgres' as const]),
        ...(external.brokers === undefined ? [] : ['kafka' as const]),
      ]),
    );
    for (const note of notes) progress.say(note);
    const kafka = this.kafka(ports);
    // Told where it is awaited; until then a failure must not count as unhandled.
    kafka.catch(() => undefined);
    const databaseUrl = await this.database(ports);
    const addresses = addressesOf(ports, databaseUrl, external.brokers ?? `127.0.0.1:${ports.kafka}`);
    const specs = serviceSpecs({ layout, ports, addresses });
    progress.say('Starting the services');
    await Promise.all(specs.filter((spec) => !spec.needsKafka).map((spec) => this.service(spec)));
    await progress.step('Kafka', kafka);
    await Promise.all(specs.filter((spec) => spec.needsKafka).map((spec) => this.service(spec)));
    await this.allReady(specs);
    this.addresses = addresses;
    this.save();
    return addresses;
  }

  enter(phase: Phase): void {
    this.phase = phase;
    this.save();
  }

  /** Tells whether there was anything to stop. */
  async stop(): Promise<boolean> {
    // Until then the state file is that of an earlier platform, and tells of its processes.
    if (!this.begun) return false;
    this.enter('stopping');
    for (const { names, graceMs } of STOP_ORDER) {
      await Promise.all(names.map((name) => this.parts.get(name)?.stop(graceMs)));
    }
    await Promise.all(['kafka', 'postgres'].map((name) => this.parts.get(name)?.stop(SERVER_STOP_MS)));
    // A server whose start was cut short is not among the parts' processes yet.
    await endLeftovers(findLeftovers(undefined, dataFolderServers(this.options.layout)));
    removeState(this.options.layout);
    return true;
  }

  private async endEarlierPlatform(): Promise<void> {
    const { layout, progress } = this.options;
    const leftovers = findLeftovers(readState(layout), dataFolderServers(layout));
    if (leftovers.length === 0) return;
    const names = leftovers.map(({ name, identity }) => `${name} (pid ${identity.pid})`).join(', ');
    progress.say(`An earlier platform was killed and left processes running; ending ${names}`);
    await endLeftovers(leftovers);
  }

  private async database(ports: PlatformPorts): Promise<string> {
    const { layout, progress, external } = this.options;
    const url =
      external.databaseUrl ??
      (await this.server('postgres', postgresLauncher({ layout, port: ports.postgres, onProgress: progress.say })));
    progress.say(
      external.databaseUrl === undefined
        ? `PostgreSQL is ready on port ${ports.postgres}`
        : 'Using the PostgreSQL of BATON_DATABASE_URL',
    );
    // Loaded here: most commands never migrate.
    const { migrate } = await import('@baton/migrations');
    const { applied } = await progress.step('Migrations', migrate({ url, publication: true }));
    progress.say(applied.length === 0 ? 'The schema is up to date' : `Migrated the schema: ${applied.join(', ')}`);
    return url;
  }

  private async kafka(ports: PlatformPorts): Promise<void> {
    const { layout, progress, external } = this.options;
    if (external.brokers !== undefined) return progress.say('Using the brokers of BATON_KAFKA_BROKERS');
    await this.server('kafka', kafkaLauncher({ layout, port: ports.kafka, onProgress: progress.say }));
    progress.say(`Kafka is ready on port ${ports.kafka}`);
  }

  private async server(name: 'postgres' | 'kafka', launcher: ServerLauncher): Promise<string> {
    await this.supervise({ name, logFile: launcher.logFile }, launcher.launch);
    return launcher.address;
  }

  private async service(spec: ServiceSpec): Promise<void> {
    await this.supervise(spec, () => launchService(spec, this.options.layout.project));
  }

  private async supervise(
    spec: Pick<ServiceSpec, 'name' | 'logFile' | 'adminPort'>,
    launch: () => Promise<Launched>,
  ): Promise<void> {
    const { name, logFile, adminPort } = spec;
    const part = new Supervised({
      name,
      launch,
      onStarted: ({ identity }, restarts) => {
        this.records.set(name, {
          name,
          identity,
          restarts,
          logFile,
          ...(adminPort === undefined ? {} : { adminPort }),
        });
        this.save();
        if (restarts > 0) this.options.progress.say(`${name} runs again (pid ${identity.pid})`);
      },
      onCrashed: (description, retryMs) => {
        this.options.progress.say(`${name} ${description}; starting it again in ${retryMs / 1000} s (log: ${logFile})`);
      },
    });
    this.parts.set(name, part);
    await part.start();
  }

  private async allReady(specs: readonly ServiceSpec[]): Promise<void> {
    const { progress } = this.options;
    const pending = new Set(specs.filter((spec) => spec.adminPort !== undefined).map((spec) => spec.name));
    const ready = specs.map(async ({ name, adminPort, logFile }) => {
      if (adminPort === undefined) return;
      const restarts = (): number => this.parts.get(name)?.restarts ?? 0;
      await awaitReady(
        { name, adminPort, logFile, restarts },
        {
          timeoutMs: READY_TIMEOUT_MS,
          onReady: () => {
            pending.delete(name);
            progress.say(`${name} is ready`);
          },
        },
      );
    });
    await progress.step('Services', Promise.all(ready), () => [...pending].join(', '));
  }

  private save(): void {
    const { layout, self } = this.options;
    writeState(layout, {
      supervisor: self,
      phase: this.phase,
      startedAt: this.startedAt,
      ...(this.addresses === undefined ? {} : { addresses: this.addresses }),
      processes: [...this.records.values()],
    });
  }
}
