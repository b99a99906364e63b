import type { EngineApi } from '@baton/engine';

/** Calls that are waiting for a commit: what is lost with this process, and comes again from its callers. */
export interface CountedEngine {
  readonly engine: EngineApi;
  readonly inFlight: () => number;
}

/** Counts the calls that change runs and leases. Questions and long polls are not counted. */
export function countCalls(engine: EngineApi): CountedEngine {
  let inFlight = 0;
  const counted = <Args extends readonly unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      inFlight += 1;
      try {
        return await call(...args);
      } finally {
        inFlight -= 1;
      }
    };
  };
  return {
    inFlight: () => inFlight,
    engine: {
      start: counted((command) => engine.start(command)),
      startWith: counted((command, write) => engine.startWith(command, write)),
      report: counted((report) => engine.report(report)),
      reportAndLease: counted((report, wish) => engine.reportAndLease(report, wish)),
      acquire: counted((call) => engine.acquire(call)),
      heartbeat: counted((call) => engine.heartbeat(call)),
      claim: counted((call) => engine.claim(call)),
      claimable: (...args) => engine.claimable(...args),
      signal: counted((command) => engine.signal(command)),
      retry: counted((command) => engine.retry(command)),
      retryCompensation: counted((command) => engine.retryCompensation(command)),
      cancel: counted((command) => engine.cancel(command)),
      fireDue: counted((items) => engine.fireDue(items)),
      getRun: (...args) => engine.getRun(...args),
      listRuns: (query) => engine.listRuns(query),
      history: (...args) => engine.history(...args),
      awaitResult: (...args) => engine.awaitResult(...args),
      awaitOutcome: (...args) => engine.awaitOutcome(...args),
      close: () => engine.close(),
    },
  };
}
