import { describePortOwner, isPortFree } from '@baton/local-stack';

/** Every port of the development platform, on loopback. */
export interface PlatformPorts {
  readonly gateway: number;
  readonly gatewayAdmin: number;
  readonly coordinator: number;
  readonly coordinatorInternal: number;
  readonly coordinatorAdmin: number;
  readonly registry: number;
  readonly registryAdmin: number;
  readonly relayAdmin: number;
  readonly timerAdmin: number;
  readonly postgres: number;
  readonly kafka: number;
  readonly embeddedSaga: number;
}

export const DEFAULT_PORTS: PlatformPorts = {
  gateway: 8080,
  gatewayAdmin: 9080,
  coordinator: 7401,
  coordinatorInternal: 7402,
  coordinatorAdmin: 9081,
  registry: 7403,
  registryAdmin: 9082,
  relayAdmin: 9083,
  timerAdmin: 9084,
  postgres: 54320,
  kafka: 19092,
  embeddedSaga: 8090,
};

export type PortName = keyof PlatformPorts;

const PORT_TITLES: Readonly<Record<PortName, string>> = {
  gateway: 'the gateway',
  gatewayAdmin: "the gateway's admin port",
  coordinator: 'the coordinator',
  coordinatorInternal: "the coordinator's internal port",
  coordinatorAdmin: "the coordinator's admin port",
  registry: 'the definition registry',
  registryAdmin: "the definition registry's admin port",
  relayAdmin: "the relay's admin port",
  timerAdmin: "the timer service's admin port",
  postgres: 'PostgreSQL',
  kafka: 'Kafka',
  embeddedSaga: 'the example service',
};

export interface PortChoice {
  readonly ports: PlatformPorts;
  /** One sentence for each port that had to be another one. */
  readonly notes: readonly string[];
}

export interface PortProbe {
  readonly isFree: (port: number) => Promise<boolean>;
  readonly describeOwner: (port: number) => string;
}

const SYSTEM: PortProbe = { isFree: isPortFree, describeOwner: describePortOwner };
const HIGHEST_PORT = 65_535;

/** The default ports; a taken one is left to its owner and the next free one is used instead. */
export async function choosePorts(
  unneeded: ReadonlySet<PortName> = new Set(),
  probe: PortProbe = SYSTEM,
): Promise<PortChoice> {
  const chosen: Record<PortName, number> = { ...DEFAULT_PORTS };
  const notes: string[] = [];
  const reserved = new Set<number>(Object.values(DEFAULT_PORTS));
  for (const name of Object.keys(DEFAULT_PORTS) as PortName[]) {
    const wanted = DEFAULT_PORTS[name];
    if (unneeded.has(name) || (await probe.isFree(wanted))) continue;
    const port = await nextFree(wanted, reserved, probe);
    chosen[name] = port;
    reserved.add(port);
    notes.push(`Port ${wanted} is taken by ${probe.describeOwner(wanted)}: ${PORT_TITLES[name]} uses ${port} instead.`);
  }
  return { ports: chosen, notes };
}

async function nextFree(wanted: number, reserved: ReadonlySet<number>, probe: PortProbe): Promise<number> {
  for (let port = wanted + 1; port <= HIGHEST_PORT; port += 1) {
    if (!reserved.has(port) && (await probe.isFree(port))) return port;
  }
  throw new Error(`No free port above ${wanted}.`);
}
