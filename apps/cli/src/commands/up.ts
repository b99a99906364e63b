import { Option, type Command } from 'commander';
import { Gateway } from '../client/gateway.js';
import { addressTable } from '../dev/address-table.js';
import { runDemo, type DemoResult } from '../dev/demo-runs.js';
import { runDemoOrders } from '../dev/demo-orders.js';
import { BACKGROUND_FLAG, upDetached } from '../dev/detached.js';
import { demoGateway } from '../dev/gateway.js';
import { layoutOf, type Layout } from '../dev/layout.js';
import { chooseMode } from '../dev/mode.js';
import { untilStopped, withPlatform } from '../dev/platform-run.js';
import { Progress } from '../dev/progress.js';
import { terminalScreen } from '../io/output.js';
import { trace } from './run/trace.js';
import { isLibrary, runningPlatform, type Addresses } from '../dev/state.js';

/** A demo run takes seconds; one that does not end must not keep the platform from being up. */
const DEMO_RUN_TIMEOUT_MS = 60_000;

interface UpOptions {
  readonly detach?: boolean;
  readonly demo: boolean;
  readonly background?: boolean;
  readonly library?: boolean;
}

export function register(program: Command): void {
  program
    .command('up')
    .description('start the whole platform on this machine, run the demo and stay up until Ctrl-C')
    .option('-d, --detach', 'go on in the background; stop with "baton down"')
    .option('--no-demo', 'do not start the three demo runs')
    .option('--library', 'without Kafka: PostgreSQL and one service that runs its sagas itself')
    .addOption(new Option(BACKGROUND_FLAG).hideHelp())
    .action(async (options: UpOptions) => {
      process.exit(await up(options));
    });
}

async function up(options: UpOptions): Promise<number> {
  const layout = layoutOf();
  try {
    if (options.detach === true) return await detach(layout, options);
    await foreground(layout, options);
    return 0;
  } catch (error) {
    process.stderr.write(`baton: ${describe(error)}\n`);
    return 1;
  }
}

async function foreground(layout: Layout, { demo, background, library = false }: UpOptions): Promise<void> {
  const progress = new Progress((line) => process.stdout.write(`${line}\n`));
  const mode = await chooseMode({ library, say: progress.say });
  await withPlatform({
    layout,
    progress,
    mode,
    use: async (addresses, supervisor) => {
      progress.say('Everything is ready');
      if (demo) {
        supervisor.enter('demo');
        await showDemo(layout, addresses, progress);
      }
      supervisor.enter('up');
      const how = background === true ? '"./baton down"' : 'Ctrl-C';
      process.stdout.write(`\n${addressTable(addresses, layout)}\n\n${how} stops everything.\n`);
      await untilStopped();
    },
  });
}

/** A demo that fails is told, and the platform stays up: that is the moment to look into it. */
async function showDemo(layout: Layout, addresses: Addresses, progress: Progress): Promise<void> {
  try {
    const results = isLibrary(addresses)
      ? await runDemoOrders({ layout, url: addresses.embeddedSaga, timeoutMs: DEMO_RUN_TIMEOUT_MS })
      : await showDemoRuns(layout, new Gateway({ url: addresses.gateway, apiKey: undefined }));
    for (const result of results) progress.say(describeResult(result));
  } catch (error) {
    progress.say(`The demo runs could not be run: ${describe(error)}`);
  }
}

async function showDemoRuns(layout: Layout, gateway: Gateway): Promise<readonly DemoResult[]> {
  const screen = terminalScreen();
  const results = await runDemo({
    layout,
    timeoutMs: 0,
    gateway: demoGateway(gateway),
    watch: async (run, runId) => {
      screen.out(`\n${run.name}\n`);
      await trace({ gateway, screen, format: 'table' }, runId, false, AbortSignal.timeout(DEMO_RUN_TIMEOUT_MS));
    },
  });
  screen.out('\n');
  return results;
}

function describeResult({ name, runId, status, expected, ok }: DemoResult): string {
  return `${ok ? 'ok  ' : 'FAIL'} ${name}: ${status}${ok ? '' : ` (expected ${expected})`} (${runId})`;
}

async function detach(layout: Layout, { demo, library = false }: UpOptions): Promise<number> {
  const running = runningPlatform(layout);
  if (running?.phase === 'up' && running.addresses !== undefined) {
    process.stdout.write(`Baton is already up.\n\n${addressTable(running.addresses, layout)}\n`);
    return 0;
  }
  return upDetached(layout, [...(demo ? [] : ['--no-demo']), ...(library ? ['--library'] : [])]);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
