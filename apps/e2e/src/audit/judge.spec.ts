import { judge } from './judge.js';
import type { JournalRecord, LedgerRecord, MessageRecord, Records, TaskRecord } from './records.js';
import { goodRecords, messagesOf } from './testing/good-records.js';

/** The audit of the long tests can fail: each fault that it is there to find is planted once, and found by its name. */
describe('the judge of order runs', () => {
  const good = goodRecords();
  const problemsOf = (change: Partial<Records>): readonly string[] => judge({ ...good, ...change }).problems;

  const ledger = (change: (rows: LedgerRecord[]) => LedgerRecord[]) => problemsOf({ ledger: change([...good.ledger]) });
  const tasks = (runId: string, node: string, change: Partial<TaskRecord>) =>
    problemsOf({ tasks: good.tasks.map((task) => (task.runId === runId && task.node === node ? { ...task, ...change } : task)) }); // prettier-ignore
  const journal = (change: (rows: JournalRecord[]) => JournalRecord[]) => problemsOf({ journal: change([...good.journal]) }); // prettier-ignore
  const messages = (change: (rows: MessageRecord[]) => MessageRecord[]) => problemsOf({ messages: change([...good.messages]) }); // prettier-ignore

  it('finds nothing where everything agrees, and counts it', () => {
    const { problems, figures } = judge(good);
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({
      runs: 2,
      ends: { SUCCEEDED: 1, COMPENSATED: 1 },
      handlerCalls: 11,
      callsOfLostAttempts: 1,
      finishedButLost: 1,
      attemptsLost: 1,
      duplicateMessages: 0,
    });
  });

  it('finds fault with having nothing to judge', () => {
    const nothing = { outcomes: [], runs: [], tasks: [], journal: [], outbox: [], ledger: [], messages: [] };
    expect(judge({ ...nothing, deadOutboxRows: 0 }).problems).toEqual(['there is nothing to judge']);
  });

  describe('runs', () => {
    it.each<[string, Partial<Records>, RegExp]>([
      ['a run that nobody started', { outcomes: good.outcomes.slice(1) }, /nobody started run ok/],
      ['a run that is lost', { runs: good.runs.slice(1) }, /order A has no run ok/],
      [
        'one run for two orders',
        { outcomes: [...good.outcomes, { ...good.outcomes[0], orderId: 'Z' } as never] },
        /2 orders were given the same run ok/,
      ],
      [
        'an end that should be another',
        { outcomes: good.outcomes.map((outcome) => ({ ...outcome, expected: 'SUCCEEDED' })) },
        /order B \(refused\) ended COMPENSATED, not SUCCEEDED/,
      ],
      [
        'a run that went on after the caller was told of its end',
        { runs: good.runs.map((run) => ({ ...run, status: 'COMPENSATED' })) },
        /run ok is COMPENSATED, the caller was told SUCCEEDED/,
      ],
      [
        'the output of another order',
        { outcomes: good.outcomes.map((o) => (o.runId === 'ok' ? { ...o, output: { orderId: 'A', paymentId: 'P-B' } } : o)) }, // prettier-ignore
        /order A was answered paymentId "P-B", not P-A/,
      ],
      ['a stuck run', { runs: good.runs.map((run) => ({ ...run, stuckReason: 'why' })) }, /run ok is stuck: why/],
      ['a timer that is left', { runs: good.runs.map((run) => ({ ...run, timers: 1 })) }, /has ended and has 1 timers/],
    ])('finds %s', (_what, change, wanted) => {
      expect(problemsOf(change).join('\n')).toMatch(wanted);
    });

    it('R17: wants a run undone of which a step may have had its effect, and only then', () => {
      const asked = good.outcomes.map((outcome) => ({ ...outcome, expected: outcome.runId === 'ok' ? 'SUCCEEDED' : 'FAILED' })); // prettier-ignore
      expect(problemsOf({ outcomes: asked }).join('\n')).toMatch(/order B \(refused\) ended COMPENSATED, not FAILED/);
      const tasks = good.tasks.map((task) => (task.taskId === 'undone-charge' ? { ...task, unknownOutcome: true } : task)); // prettier-ignore
      expect(problemsOf({ outcomes: asked, tasks })).toEqual([]);
      const runs = good.runs.map((run) => (run.runId === 'undone' ? { ...run, status: 'FAILED' } : run));
      const left = tasks.filter((task) => task.kind === 'forward');
      expect(problemsOf({ outcomes: asked, runs, tasks: left })).toContain('done by a handler and not undone: undone charge'); // prettier-ignore
    });

    it('finds a step that is left open, or missing', () => {
      expect(tasks('ok', 'notify', { status: 'SCHEDULED' }).join('\n')).toMatch(/its notify \(forward\) is SCHEDULED/);
      expect(tasks('ok', 'notify', { status: 'SKIPPED' }).join('\n')).toMatch(/run ok succeeded without notify/);
    });
  });

  describe('calls of handlers', () => {
    const isOf = (row: LedgerRecord, node: string, attempt = 1) => row.runId === 'ok' && row.node === node && row.attempt === attempt; // prettier-ignore

    it('finds a success that no handler finished', () => {
      const problems = ledger((rows) => rows.filter((row) => !(isOf(row, 'ship') && row.event === 'finished')));
      expect(problems).toContain('recorded as succeeded, but no handler finished it: ok ship forward 1');
      expect(problems).toContain('never ended in its handler, a success for Baton: ok ship forward 1');
    });

    it('finds an attempt that was called twice, and a call that ended twice', () => {
      const twice = ledger((rows) => [...rows, ...rows.filter((row) => isOf(row, 'ship'))]).join('\n');
      expect(twice).toMatch(/one attempt was called 2 times: ok ship forward 1/);
      expect(twice).toMatch(/one call ended 2 times: ok ship forward 1/);
    });

    it('finds a call of an attempt that was never dispatched, and of a step that does not exist', () => {
      const [row] = good.ledger.filter((candidate) => isOf(candidate, 'ship'));
      const stray = { ...row, attempt: 9 } as LedgerRecord;
      expect(ledger((rows) => [...rows, stray]).join('\n')).toMatch(/called, but never dispatched: ok ship forward 9/);
      const strange = { ...row, node: 'bribe' } as LedgerRecord;
      expect(ledger((rows) => [...rows, strange]).join('\n')).toMatch(/does not know: ok bribe forward/);
    });

    it('finds an attempt that was dispatched twice, or left out', () => {
      const isDispatch = (row: JournalRecord) => row.taskId === 'ok-charge' && row.kind === 'task.scheduled';
      expect(journal((rows) => [...rows, ...rows.filter(isDispatch).slice(1)])).toContain(
        'dispatched as 1, 2, 2, on attempt 2: ok charge forward',
      );
      expect(journal((rows) => rows.filter((row) => !(isDispatch(row) && row.attempt === 1)))).toContain(
        'dispatched as 2, on attempt 2: ok charge forward',
      );
    });

    it('finds work that was finished and recorded as a failure', () => {
      const problems = journal(
        (rows) =>
        rows.map((row) => (row.taskId === 'ok-ship' && row.kind === 'node.succeeded' ? { ...row, kind: 'task.retry_scheduled', code: 'TASK_FAILED' } : row)), // prettier-ignore
      );
      expect(problems).toContain('finished by a handler, forgotten by Baton (failure): ok ship forward 1');
    });

    it('finds work that was finished and is not recorded at all', () => {
      const problems = journal((rows) => rows.filter((row) => !(row.taskId === 'ok-ship' && row.kind === 'node.succeeded'))); // prettier-ignore
      expect(problems).toContain('finished by a handler, forgotten by Baton (open): ok ship forward 1');
    });

    it('finds a call again without a loss that explains it', () => {
      const problems = journal((rows) => rows.filter((row) => row.kind !== 'task.lease_lost'));
      expect(problems).toContain('finished by a handler, forgotten by Baton (redispatched): ok charge forward 1');
    });

    it('finds a failure in the handler that is a success for Baton', () => {
      const problems = ledger((rows) =>
        rows.map((row) => (isOf(row, 'ship') && row.event === 'finished' ? { ...row, event: 'failed' } : row)),
      );
      expect(problems).toContain('failed in its handler, a success for Baton: ok ship forward 1');
    });

    it('finds two successes of one step, and two idempotency keys', () => {
      const success = good.journal.filter((row) => row.taskId === 'ok-ship' && row.kind === 'node.succeeded');
      expect(journal((rows) => [...rows, ...success])).toContain('2 successes in the journal of ok ship forward');
      const row = good.tasks.filter((task) => task.taskId === 'ok-ship');
      expect(problemsOf({ tasks: [...good.tasks, ...row] })).toContain('recorded 2 times: ok ship forward');
      const other = ledger((rows) => rows.map((r) => (isOf(r, 'charge', 2) ? { ...r, key: 'another' } : r)));
      expect(other.join('\n')).toMatch(/2 idempotency keys for ok charge forward/);
    });
  });

  describe('undo', () => {
    const undo = { taskId: 'undone-charge-undo', attempt: 1 };

    it('finds a step that was done and is not undone, by the ledger and by the rows', () => {
      const without = good.tasks.filter((task) => task.taskId !== undo.taskId);
      expect(problemsOf({ tasks: without })).toContain('done by a handler and not undone: undone charge');
      const unknown = good.tasks.map((task) => (task.taskId === 'undone-ship' ? { ...task, unknownOutcome: true } : task)); // prettier-ignore
      expect(problemsOf({ tasks: unknown })).toContain('may have been done and is not undone: undone ship');
    });

    it('finds an undo of what was never done', () => {
      const never = good.tasks.map((task) => (task.taskId === 'undone-charge' ? { ...task, status: 'FAILED' } : task));
      expect(problemsOf({ tasks: never }).join('\n')).toMatch(/undone though it was never done: undone charge/);
    });

    it('finds undos out of order, and before the step itself', () => {
      const isUndo = (row: LedgerRecord) => row.kind === 'compensate';
      const reversed = ledger((rows) => [...rows.filter((row) => !isUndo(row)), ...rows.filter(isUndo).reverse()]);
      expect(reversed.join('\n')).toMatch(/undone out of order: undone reserve before charge/);
      const early = ledger((rows) => [...rows.filter(isUndo), ...rows.filter((row) => !isUndo(row))]);
      expect(early.join('\n')).toMatch(/undone before it was done: undone charge/);
    });

    it('finds an undo of a run that succeeded', () => {
      const stray = { ...good.tasks[0], taskId: 'x', kind: 'compensate' } as TaskRecord;
      expect(problemsOf({ tasks: [...good.tasks, stray] }).join('\n')).toMatch(/run ok is SUCCEEDED and has undos of reserve/); // prettier-ignore
    });
  });

  describe('topics', () => {
    it('takes a message that comes again as what it is', () => {
      const again = messages((rows) => [...rows, ...rows]);
      expect(again).toEqual([]);
      expect(judge({ ...good, messages: [...good.messages, ...good.messages] }).figures.duplicateMessages).toBe(good.messages.length); // prettier-ignore
    });

    it('finds a message that is missing, dead, or was never committed', () => {
      expect(messages((rows) => rows.slice(1)).join('\n')).toMatch(/committed, but not in Kafka: .*ok 1/);
      expect(problemsOf({ deadOutboxRows: 1 })).toContain('1 outbox rows are dead');
      const stray = { ...good.messages[0], id: 'stray' } as MessageRecord;
      expect(messages((rows) => [...rows, stray]).join('\n')).toMatch(/in Kafka, but never committed: .* stray/);
    });

    it('finds other content, another order and another partition', () => {
      const change = (index: number, by: Partial<MessageRecord>) => messages((rows) => rows.map((row, at) => (at === index ? { ...row, ...by } : row))); // prettier-ignore
      expect(change(0, { value: '{}' }).join('\n')).toMatch(/in Kafka other than it was committed/);
      expect(change(0, { partition: 7 }).join('\n')).toMatch(/in 2 partitions: ok baton/);
      expect(messages((rows) => rows.reverse()).join('\n')).toMatch(/out of order: ok baton.default.events, \d+ after \d+/); // prettier-ignore
    });

    it('finds a gap in the numbers of a run, and an end that is told otherwise or twice', () => {
      const outbox = good.outbox.filter((row) => !(row.runId === 'ok' && row.runSeq === 2));
      expect(problemsOf({ outbox, messages: messagesOf(outbox) }).join('\n')).toMatch(
        /outbox numbers of run ok are 1 3/,
      );
      const end = good.messages.filter((message) => message.type === 'run.succeeded');
      const other = messages((rows) => [...rows, ...end.map((row) => ({ ...row, id: 'again' }))]);
      expect(other.join('\n')).toMatch(/run ok is SUCCEEDED; the events tell 2 ends/);
    });
  });
});
