import { resolveWait } from './advance.js';
import { goOnBelow } from './conclude.js';
import type { SignalReceived } from './events.js';
import { MAX_BUFFERED_SIGNALS } from './policy.js';
import { isTerminal } from './status.js';
import type { TaskState } from './state.js';
import { refused, type Outcome, type Transition } from './transition.js';

/** Kept from the moment it arrives, delivered once, FIFO for each name, told apart by its id. */
export function onSignal(t: Transition, event: SignalReceived): Outcome {
  const known = t.knownSignal(event.signalId);
  if (known === undefined) return { kind: 'applied' }; // asked for
  if (known !== null) {
    return known.payloadHash === event.payloadHash
      ? { kind: 'ignored', reason: 'the signal is known already', duplicate: true }
      : refused('SIGNAL_CONFLICT', `signal ${event.signalId} was received with another payload`);
  }
  // R32: an ended run answers for what it knows, and takes nothing new.
  if (isTerminal(t.state.status)) return refused('RUN_TERMINAL', `the run has ended: ${t.state.status}`);
  const wait = openWaitFor(t, event.name);
  if (wait !== undefined) {
    deliver(t, event, wait);
    return { kind: 'applied', signalDelivered: true };
  }
  if (t.state.bufferedSignals >= MAX_BUFFERED_SIGNALS && !dropExpired(t)) {
    return refused('TOO_MANY_SIGNALS', `the run holds ${MAX_BUFFERED_SIGNALS} signals that nothing has taken`);
  }
  buffer(t, event);
  return { kind: 'applied', signalDelivered: false };
}

/**
 * R32: what has expired does not count. It is taken by nobody, so its id stays known; all at once, so that this costs
 * one look in many signals. Answers whether there is room now.
 */
function dropExpired(t: Transition): boolean {
  for (const { signalId, name } of t.expiredSignals() ?? []) {
    t.apply({ type: 'ConsumeSignal', signalId, name, byTaskId: null, insert: null });
  }
  return t.state.bufferedSignals < MAX_BUFFERED_SIGNALS;
}

/** Of several open waits for one name, the first in the order of the graph. */
function openWaitFor(t: Transition, name: string): TaskState | undefined {
  for (const nodeId of t.dag.order) {
    const node = t.dag.nodes.get(nodeId);
    if (node?.type !== 'wait' || node.signal !== name) continue;
    const row = t.rows.current(nodeId);
    if (row?.status === 'WAITING') return row;
  }
  return undefined;
}

function deliver(t: Transition, event: SignalReceived, wait: TaskState): void {
  const { signalId, name, payload, payloadHash } = event;
  const insert = { payload, payloadHash, seq: t.nextSeq };
  t.apply({ type: 'ConsumeSignal', signalId, name, byTaskId: wait.taskId, insert });
  t.journal('signal.received', { detail: name });
  t.journal('signal.consumed', { detail: name }, wait);
  // B52: the loser's timer goes in the same commit.
  t.apply({ type: 'ClearTimers', which: { scope: 'node', nodeId: wait.nodeId } });
  resolveWait(t, wait.taskId, payload);
  goOnBelow(t, [wait.nodeId]);
}

function buffer(t: Transition, event: SignalReceived): void {
  t.apply({
    type: 'BufferSignal',
    signalId: event.signalId,
    name: event.name,
    payload: event.payload,
    payloadHash: event.payloadHash,
    expiresInMs: event.expiresInMs ?? null,
    seq: t.nextSeq,
  });
  t.journal('signal.received', { detail: event.name });
}
