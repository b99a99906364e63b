import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Gateway } from '../../client/gateway.js';
import type { ResultView } from '../../client/views.js';
import { CliError, EXIT, failed } from '../../errors.js';

const longPollMs = 20_000;
const answerGraceMs = 10_000;
/** A gateway that restarts is back by then; one that is not is gone. */
const lostContactMs = 30_000;
const retryMs = 500;

/** Waits until the run is terminal. Outlives a restart of the gateway; `timeoutMs` undefined waits for ever. */
export async function waitForRun(
  gateway: Gateway,
  runId: string,
  timeoutMs: number | undefined,
): Promise<Answer<ResultView>> {
  const deadline = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
  let lostAt: number | undefined;
  for (;;) {
    const waitMs = Math.max(0, Math.min(longPollMs, deadline - Date.now()));
    try {
      const answer = await poll(gateway, runId, waitMs);
      lostAt = undefined;
      if (answer.view.finished) return answer;
      if (Date.now() >= deadline) throw failed(`run ${runId} is still ${answer.view.run.status}`);
    } catch (error) {
      lostAt ??= Date.now();
      if (!isUnreachable(error) || Date.now() - lostAt > lostContactMs || Date.now() >= deadline) throw error;
      await sleep(retryMs);
    }
  }
}

function poll(gateway: Gateway, runId: string, waitMs: number): Promise<Answer<ResultView>> {
  return gateway.call<ResultView>({
    method: 'GET',
    path: `/v1/runs/${runId}/result`,
    query: { waitMs: Math.round(waitMs) },
    timeoutMs: waitMs + answerGraceMs,
  });
}

function isUnreachable(error: unknown): boolean {
  return error instanceof CliError && error.exitCode === EXIT.unreachable;
}
