/** 12 ms, 3.4 s, 2 min 5 s, 3 h 20 min. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** From one instant of the API to another (or to `now`, in ms since 1970). */
export function durationBetween(from: string, to: string | null, now: number): string {
  return formatDuration((to === null ? now : Date.parse(to)) - Date.parse(from));
}
