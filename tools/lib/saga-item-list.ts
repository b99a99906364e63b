/** One thing that the embedded saga runtime must do. */
export interface SagaItem {
  readonly id: string;
  /** What holds in Baton, in one sentence. */
  readonly what: string;
  /** Only where Baton does on purpose something else than the runtime that the list was taken from: the reason. */
  readonly changed?: string;
}

type Row = readonly [id: string, what: string, changed?: string];

// K: definitions and statuses. J: the journal, the same on both stores. P: PostgreSQL. E: one step. C: the runtime.
// L: one leader per run. O: the outbox and those who read it. W: weaknesses of other runtimes that Baton must not have.
const ROWS: readonly Row[] = [
  [
    'K1',
    'A saga is accepted with one step or three, with and without timeouts, undos and retry policies at either level.',
    'A timeout that does not exist is absent: 0 is refused, because 0 reads as "at once".',
  ],
  [
    'K2',
    'A saga is refused for an empty id, no steps, an unsafe or doubled step name, a step without a function, a negative timeout or a bad policy, and every fault is named.',
  ],
  [
    'K3',
    'A registry holds none, one or many sagas, refuses doubles and anything that is no saga, and answers the same object to any number of lookups.',
  ],
  [
    'K4',
    'Every legal change of status happens, sets the end exactly when it is terminal, and every other change is refused without a trace.',
    '`pending` is a view (a run of which nothing has been leased yet), and the changes are those of `decide`, which the journal, the client and the platform share.',
  ],
  [
    'K5',
    'A clock that goes backwards breaks nothing and changes no order.',
    "Time is the database's: a command with an earlier instant is not refused, it is decided as of what is stored.",
  ],
  [
    'K6',
    'A run never goes past its last step and never counts a step twice.',
    'There is no cursor to move: what comes next follows from the settled tasks, so the checks of a cursor are properties of `decide`.',
  ],
  ['K7', 'Statuses and kinds of events have labels that never change, are read back, and every end has its kind.'],
  [
    'J1',
    'A saga that was enqueued is there at once; an unknown one is not found; the same id twice is a conflict.',
    'The journal of a new run is not empty: it holds the start and the first step that was made runnable (W14).',
  ],
  ['J2', 'What is appended is read back in order from 1 without gaps, also when many append at once.'],
  [
    'J3',
    'Content that cannot be stored is refused: no JSON, too large, or an end that only an end may write.',
    'Any JSON is a legal output, arrays included.',
  ],
  ['J4', 'An unknown run is told before bad content.'],
  ['J5', 'A claim takes at most what was asked, never what another holds or what has ended, and gives copies.'],
  ['J6', 'Who has lost the lease is refused by append, and heartbeat and end answer no.'],
  ['J7', 'A heartbeat carries a lease beyond its first end.'],
  ['J8', 'At the very instant of its end a lease still holds, and is not claimable.'],
  [
    'J9',
    'Every legal end writes its event and gives the lease back; every other is refused.',
    '`pending` is a view, so a run that nobody has leased ends by command, not by its holder.',
  ],
  [
    'J10',
    'The status follows from what was appended: a first result makes it run, an undo begins only once, and no forward step counts while it undoes.',
  ],
  [
    'J11',
    'How a run ended can be read from its journal alone, and after a handover the old holder is fenced, also in the middle of an undo.',
  ],
  ['J12', 'A journal that is in order says that it is ready.'],
  [
    'J13',
    'All events of all runs are read page by page in one order in which nothing appears behind the reader, with whose they are.',
    'Positions have gaps: an order without gaps needs a lock over the whole table (W16). No position appears late.',
  ],
  ['P1', 'A stale append is told as a stale lease, not as a broken constraint.'],
  ['P2', 'Eight claimers over thirty runs take each exactly once and lose none.'],
  [
    'P3',
    "What was begun inside a caller's transaction is gone when it rolls back: the start, its tasks and its event.",
    "Only a start joins a caller's transaction: a report or a claim in it would keep a run locked for as long as the caller likes (R30).",
  ],
  ['P4', 'Without a transaction of the caller an append is one unit: all of it or nothing.'],
  ['P5', 'A table that is missing makes the probe of the journal fail.'],
  [
    'P6',
    'The schema is checked: tables, lease columns, keys, checks and the index of the claim.',
    'No foreign keys and no unique position over all runs: the tables are partitioned (ADR 0006).',
  ],
  [
    'P7',
    'Of two transactions that commit in the other order a reader loses nothing and sees nothing late.',
    'The second append does not wait for the first (W16): the reader waits at the horizon of the snapshot instead.',
  ],
  ['E1', 'An executor is refused without its parts, or with times that do not fit each other.'],
  ['E2', 'A success at the first try is one attempt and no retry.'],
  [
    'E3',
    'The waits between tries are exactly those of the policy and the seeded jitter.',
    'The wait is a row (W9), so it is asked of `decide` and seen in the database, not slept in the executor.',
  ],
  [
    'E4',
    'When the tries are used up the step has failed, whether it has an undo or not; its own undo does not run for a failure that is known.',
  ],
  ['E5', 'The timeout of a step is told by the clock: not before, and then it has timed out, in one attempt.'],
  [
    'E6',
    'A run that is cancelled, or whose time is over, ends the step that runs and the wait for the next try.',
    'The wait is a row (W9): a cancel in the wait ends the task at once, with nobody sleeping.',
  ],
  [
    'E7',
    'A lost lease ends the running step, and what it returns is not recorded.',
    'No lease is held in the wait between tries (W9), so none has to be renewed there.',
  ],
  ['E8', 'Whatever a step throws is a failure that is retried, and its text stays out of the record.'],
  [
    'E9',
    'An undo that succeeds, fails, throws, or does not exist does what it should, within its own time.',
    "An undo has a timeout (W5): its own, else the step's.",
  ],
  ['E10', 'One heartbeat each interval; none after the end; an error does not end them, a lost lease does.'],
  ['E11', 'A step whose lease is lost before it begins is never called; an error of the database then is no loss.'],
  ['E12', 'If the keeper of a lease itself breaks, the lease counts as lost.'],
  ['E13', 'The error of user code stays its own also when the lease goes; a lost lease alone is told as lost.'],
  [
    'E14',
    'An observer hears of each attempt once and of each retry once, and one that hangs or throws holds up nothing.',
  ],
  ['E15', 'A policy inherits field by field, its limits are exact, and the same seed gives the same waits.'],
  ['E16', 'The words for outcomes never change.'],
  ['C1', 'The four values have their defaults; each that is 0 or less, and a heartbeat too slow, is refused by name.'],
  ['C2', 'A runtime is refused without its parts, each by name.'],
  ['C3', 'A second start is a conflict, a second stop is none, and a stopped runtime starts again.'],
  ['C4', 'Before its start a runtime is not ready; then it is as ready as its journal.'],
  ['C5', 'The state of a run follows from its journal for every kind of event.'],
  ['C6', 'What is left to undo is what was done and not undone yet, in any order of the records.'],
  [
    'C7',
    'A saga of one step ends with its result, its end, its events and a kick, and is claimable no more.',
    'The journal and the events say more: the start, the attempt and the end as well (W14, W15).',
  ],
  [
    'C8',
    'A step that fails for good ends a saga without undos as failed, once, with nothing left running.',
    'Failure and end are events too (W15).',
  ],
  [
    'C9',
    'When the time of a run or of a step is over nothing runs any more and the run ends by it.',
    'What was done is undone first (W3): expiry starts the undo, with a time of its own.',
  ],
  ['C10', 'If the write of a commit fails, nothing of it is there.'],
  ['C11', 'A cancel of the process and a lost lease write no end and are no error.'],
  ['C12', 'Without undos a failed saga is failed, and no undo is recorded.'],
  [
    'C13',
    'Undo runs in reverse order, only for what was done, goes on past one that fails, and ends as compensated or compensation_failed.',
    'Each undo is tried again by its policy first (W5), and what cannot be recorded is not success (W6).',
  ],
  [
    'C14',
    'Each step of an undo is recorded and told.',
    'The events of an undo go out too (W15); the other runtime stays silent there.',
  ],
  [
    'C15',
    'When the lease is lost in the middle of an undo the next holder finishes it and repeats nothing that is recorded.',
    'An undo that was interrupted has not failed (W4): it is run again.',
  ],
  ['C16', 'Errors of the journal in an undo and in a drive are logged with the ids of the run, and end nothing else.'],
  ['C17', 'After a restart a saga goes on with the output of the step before.'],
  ['C18', 'Two runtimes and one run make one commit of each step.', 'More events than two: the journal is full (W14).'],
  [
    'C19',
    'As many steps run at once as the pool has slots, and never more.',
    'The bound is `concurrency`, a knob of its own, not the size of the claim (W20).',
  ],
  ['C20', 'A stop waits for what runs; when its time is over it says so with a code of its own.'],
  ['C21', 'A recorded failure holds no internals: unknown errors give a fixed text, known ones at most 256 bytes.'],
  ['C22', 'Each look, drive and skip is observed once, with `_unregistered` for what is not known here.'],
  ['L1', 'A locker that is none is refused, and a lease below a millisecond is refused only where there is a locker.'],
  ['L2', 'Without a locker everybody leads.'],
  ['L3', 'One leads at a time, then the next after the release; a locker that cannot tell means: do not lead.'],
  [
    'L4',
    'A run whose lock is held is not driven and not touched; with the lock free it is driven, and the lock given back.',
    'The lock comes first (W2), so the run is not leased either.',
  ],
  ['L5', 'The start says its mode, and what is skipped is logged by its reason.'],
  ['L6', 'No two runs have the same lock key.', 'Ids hold no ":"; the key stays unambiguous all the same.'],
  ['L7', 'A stop with a wedged step lets its lock die by its time, and no one renews it.'],
  ['L8', 'Two runtimes, one lock service and ten runs: each runs once.'],
  [
    'O1',
    'Events are read from where a reader stands, as many as asked, and what was read stays read.',
    'The outbox is insert-only: there is no claim, no mark and no retry of a row. The relay and the subscribers hold positions.',
  ],
  [
    'O2',
    'A position never goes back, and what was not confirmed is read again after a crash.',
    'The same: positions instead of marks on rows.',
  ],
  [
    'O3',
    'The relay publishes in order, goes on after errors and restarts, catches up, and its parts are measured.',
    'It reads the log of the database; one message that cannot be published is set aside once, by size (R31).',
  ],
  ['O4', 'An event is written with the commit that it tells of, whole, or not at all.'],
  [
    'O5',
    'A consumer does each message once in effect: doubles are skipped, failures come again, and a lost right ends the work.',
  ],
  [
    'O6',
    'The right to handle a message is taken, given back, taken over after its end, and a stale holder is refused.',
  ],
  [
    'O7',
    'Subscribers get the events of a run in their order, each subscription for itself, and again what they did not confirm.',
  ],
  ['W1', 'The commit of one step hands the next to the same process: no step waits for a lease to end.'],
  ['W2', 'Who does not get the lock takes no lease, so nothing is parked.'],
  ['W3', 'When the time is over, what was done is undone, with a time of its own.'],
  ['W4', 'An undo that was interrupted has not failed.'],
  ['W5', 'Undos are retried, have timeouts and wait between tries.'],
  ['W6', 'An undo whose record failed is not counted as done.'],
  ['W7', 'A permanent error is not retried.'],
  ['W8', 'Output that cannot be stored fails the step once instead of running it for ever.'],
  ['W9', 'Tries and waits are rows: a crash forgets none, and a wait holds no slot.'],
  ['W10', 'A process that cannot renew its lease stops the step by its own clock, before another one starts it.'],
  ['W11', 'Leases, deadlines and waits go by the time of the database, whatever the clocks of the hosts say.'],
  ['W12', 'A run stays with its version; a changed saga is refused by name; what is unknown here waits for others.'],
  ['W13', 'Sagas have an input, keys, a search, a cancel and signals.'],
  ['W14', 'The journal holds every attempt, also the failed ones before an undo.'],
  ['W15', 'Every step, failure, undo and end is told by an event that can be ordered.'],
  ['W16', 'Commits of different runs do not wait for each other, and readers still miss nothing.'],
  ['W17', 'The next step does not read the history, however long it is.'],
  ['W18', 'Durations, ages and backlogs are measured, not counts alone.'],
  ['W19', 'Events of one run arrive in order, and soon after the commit.'],
  ['W20', 'A step that never returns holds one slot and nothing else.'],
];

export const SAGA_ITEMS: readonly SagaItem[] = ROWS.map(([id, what, changed]) => ({
  id,
  what,
  ...(changed !== undefined && { changed }),
}));
