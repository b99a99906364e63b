/** setTimeout fires at once beyond 2^31 - 1 ms (24.8 days), so longer waits are walked in steps (B29). */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** Runs `fire` once after `ms`, however long that is. Returns the way to stop it. */
export function after(ms: number, fire: () => void): () => void {
  const dueAt = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const arm = () => {
    const left = dueAt - performance.now();
    timer = left > MAX_TIMEOUT_MS ? setTimeout(arm, MAX_TIMEOUT_MS) : setTimeout(fire, Math.max(0, Math.ceil(left)));
  };
  arm();
  return () => clearTimeout(timer);
}

/** Doubles from `first` to `max`, drawn from the upper half so that a crowd spreads out. */
export function backoffMs(tries: number, first: number, max: number): number {
  const full = Math.min(max, first * 2 ** Math.min(tries, 30));
  return full * (0.5 + Math.random() / 2);
}
