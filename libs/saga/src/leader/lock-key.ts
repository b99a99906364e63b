/** L6: injective, also where ids hold a ':': the length says where the id of the saga ends. */
export function lockKey(run: { readonly sagaId: string; readonly runId: string }): string {
  return `saga:${run.sagaId.length}:${run.sagaId}:${run.runId}`;
}
