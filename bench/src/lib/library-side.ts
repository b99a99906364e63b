/** One of the systems that run the same three-step saga on the same server. */
export interface LibrarySide {
  readonly name: string;
  /** Starts one run and waits for its end, as a caller in the same process does. Rejects if it did not succeed. */
  runOnce(n: number): Promise<void>;
  close(): Promise<void>;
}

/** The steps of every side: nothing but a turn of the event loop, and a small result. */
export const STEP_NAMES = ['reserve', 'charge', 'ship'] as const;

export interface StepOutput {
  readonly step: string;
  readonly n: number;
}

export async function stepBody(step: string, n: number): Promise<StepOutput> {
  await Promise.resolve();
  return { step, n };
}
