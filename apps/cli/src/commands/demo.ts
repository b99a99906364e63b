import { Option, type Command } from 'commander';
import { Gateway } from '../client/gateway.js';
import { runDemoOrders } from '../dev/demo-orders.js';
import { runDemo, type DemoResult } from '../dev/demo-runs.js';
import { demoGateway } from '../dev/gateway.js';
import { layoutOf, type Layout } from '../dev/layout.js';
import { chooseMode } from '../dev/mode.js';
import { withPlatform } from '../dev/platform-run.js';
import { Progress } from '../dev/progress.js';
import { isLibrary, runningPlatform, type Addresses } from '../dev/state.js';
import { CliError } from '../errors.js';
import { setting } from '../io/environment.js';

export function register(program: Command): void {
  program
    .command('demo')
    .description('run the three demo runs on the platform that is up, or on one that is brought up for them')
    .option('--library', 'without Kafka, where nothing is up: PostgreSQL and one service that runs its sagas itself')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['json', 'table']).default('table'))
    .action(async ({ output, library }: { output: 'json' | 'table'; library?: true }) => {
      process.exit(await demo(output === 'json', library ?? false));
    });
}

/** Results go to standard output, everything else to standard error: scripts read the results alone. */
async function demo(json: boolean, library: boolean): Promise<number> {
  const layout = layoutOf();
  const progress = new Progress((line) => process.stderr.write(`${line}\n`));
  try {
    const results = await onSomePlatform(layout, progress, library);
    process.stdout.write(json ? `${JSON.stringify(results, null, 2)}\n` : tableOf(results));
    return results.length > 0 && results.every((result) => result.ok) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`baton: ${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof CliError ? error.exitCode : 1;
  }
}

async function onSomePlatform(layout: Layout, progress: Progress, library: boolean): Promise<readonly DemoResult[]> {
  const url = setting('BATON_URL');
  if (url !== undefined) return demoOn(layout, progress, url);
  const running = runningPlatform(layout)?.addresses;
  if (running !== undefined) return demoAt(layout, progress, running);
  let results: readonly DemoResult[] = [];
  await withPlatform({
    layout,
    progress,
    mode: await chooseMode({ library, say: progress.say }),
    use: async (addresses) => {
      results = await demoAt(layout, progress, addresses);
    },
  });
  return results;
}

function demoAt(layout: Layout, progress: Progress, addresses: Addresses): Promise<readonly DemoResult[]> {
  if (!isLibrary(addresses)) return demoOn(layout, progress, addresses.gateway);
  return progress.step('Demo orders', runDemoOrders({ layout, url: addresses.embeddedSaga }));
}

function demoOn(layout: Layout, progress: Progress, url: string): Promise<readonly DemoResult[]> {
  const gateway = demoGateway(new Gateway({ url, apiKey: setting('BATON_API_KEY') }));
  return progress.step('Demo runs', runDemo({ layout, gateway }));
}

function tableOf(results: readonly DemoResult[]): string {
  const width = Math.max(...results.map((result) => result.name.length));
  return results
    .map(({ name, runId, status, expected, ok }) => {
      const verdict = ok ? 'ok' : `FAIL, expected ${expected}`;
      return `${name.padEnd(width)}  ${status.padEnd(11)}  ${runId}  ${verdict}\n`;
    })
    .join('');
}
