import { checkKafkaPrerequisites, type ProcessIdentity } from '@baton/local-stack';
import { checkExternalServers, type ExternalServers } from './external.js';
import { checkExternalDatabase } from './external-database.js';
import type { Layout } from './layout.js';
import { kafkaLauncher, launchService, postgresLauncher, type ServerLauncher } from './launch.js';
import { dataFolderServers, endLeftovers, findLeftovers } from './leftovers.js';
import type { Mode } from './mode.js';
import { choosePorts, DEFAULT_PORTS, type PlatformPorts, type PortName } from './ports.js';
import type { Progress } from './progress.js';
import { awaitReady } from './readiness.js';
import { addressesOf, embeddedSagaSpec, libraryAddressesOf, serviceSpecs, type ServiceSpec } from './services.js';
import { readState, removeState, writeState, type Addresses, type Phase, type RecordedProcess } from './state.js';
import { Supervised, type Launched } from './supervised.js';

export interface SupervisorOptions {
  readonly layout: Layout;
  readonly self: ProcessIdentity;
  readonly progress: Progress;
  readonly external: ExternalServers;
  readonly mode: Mode;
}

const READY_TIMEOUT_MS = 90_000;
/** One after the other: what others need stops later. Together below 15 s even when every grace is used up. */
const STOP_ORDER: readonly { readonly names: readonly string[]; readonly graceMs: number }[] = [
  { names: ['demo-workers', 'api-gateway', 'timer-service', 'embedded-saga'], graceMs: 3_500 },
  { names: ['coordinator', 'definition-registry'], graceMs: 3_500 },
  { names: ['outbox-relay'], graceMs: 2_500 },
];
const SERVER_STOP_MS = 5_000;
/** R29: without a relay there is no publication, and claims need indexes of their own. */
const MIGRATIONS = {
  platform: { publication: true, library: false },
  library: { publication: false, library: true },
} as const;

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
    this.addresses = await (this.options.mode === 'library' ? this.startLibrary() : this.startPlatform());
    this.save();
    return this.addresses;
  }

  /** PostgreSQL and the example service alone. */
  private async startLibrary(): Promise<Addresses> {
    const { layout, external } = this.options;
    const { databaseUrl } = external;
    await checkExternalServers(databaseUrl === undefined ? {} : { databaseUrl });
    await this.endEarlierPlatform();
    this.begun = true;
    this.save();
    const needed: readonly PortName[] = databaseUrl === undefined ? ['postgres', 'embeddedSaga'] : ['embeddedSaga'];
    const ports = await this.ports((name) => needed.includes(name));
    const url = await this.database(ports);
    const spec = embeddedSagaSpec(layout, ports.embeddedSaga, url);
    await this.service(spec);
    await this.allReady([spec]);
    return libraryAddressesOf(ports.embeddedSaga, url);
  }

  private async startPlatform(): Promise<Addresses> {
    const { layout, progress, external } = this.options;
    await checkExternalServers(external);
    if (external.databaseUrl !== undefined) await checkExternalDatabase(external.databaseUrl);
    if (external.brokers === undefined) await checkKafkaPrerequisites();
    await this.endEarlierPlatform();
    this.begun = true;
    this.save();
    const unneeded: readonly PortName[] = [
      'embeddedSaga',
      ...(external.databaseUrl === undefined ? [] : ['postgres' as const]),
      ...(external.brokers === undefined ? [] : ['kafka' as const]),
    ];
    const ports = await this.ports((name) => !unneeded.includes(name));
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
    return addresses;
  }

  private async ports(isNeeded: (name: PortName) => boolean): Promise<PlatformPorts> {
    const names = Object.keys(DEFAULT_PORTS) as PortName[];
    const { ports, notes } = await choosePorts(new Set(names.filter((name) => !isNeeded(name))));
    for (const note of notes) this.options.progress.say(note);
    return ports;
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
    const { layout, progress, external, mode } = this.options;
    const launch = { layout, port: ports.postgres, onProgress: progress.say, mode };
    const url = external.databaseUrl ?? (await this.server('postgres', postgresLauncher(launch)));
    progress.say(
      external.databaseUrl === undefined
        ? `PostgreSQL is ready on port ${ports.postgres}`
        : 'Using the PostgreSQL of BATON_DATABASE_URL',
    );
    // Loaded here: most commands never migrate.
    const { migrate } = await import('@baton/migrations');
    const { applied } = await progress.step('Migrations', migrate({ url, ...MIGRATIONS[mode] }));
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
