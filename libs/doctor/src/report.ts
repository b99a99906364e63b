/** What the doctor says. The shape is stable: `baton doctor -o json` prints it as it is. */

export type Invariant = 'I1' | 'I2' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'I10' | 'I11' | 'R8' | 'R25';

/** A broken invariant (docs/reference/rules.md). */
export interface Finding {
  readonly invariant: Invariant;
  /** Stable, UPPER_SNAKE. */
  readonly code: string;
  readonly message: string;
  readonly namespace?: string;
  readonly runId?: string;
  readonly nodeId?: string;
}

/** How much was looked at. */
export interface Examined {
  readonly runs: number;
  readonly tasks: number;
  readonly journalRows: number;
  readonly outboxRows: number;
  readonly keys: number;
  readonly timers: number;
  readonly messages: number;
}

/** A part that could not be looked at. Then the platform is not green, whatever the rest says. */
export interface Unable {
  readonly what: string;
  readonly why: string;
}

/** One check: what it looked at, and how much. */
export interface Check {
  readonly name: string;
  readonly invariants: readonly Invariant[];
  readonly looked: string;
  readonly findings: number;
  /** skipped = not asked for, or there is nothing of its kind; unable = see `unable`. */
  readonly state: 'done' | 'skipped' | 'unable';
}

export interface DoctorReport {
  /** At least one run was examined, nothing was unable, and nothing was found. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** Findings beyond the limit: counted, not kept. */
  readonly moreFindings: number;
  readonly examined: Examined;
  readonly unable: readonly Unable[];
  readonly checks: readonly Check[];
}

export interface ExamineOptions {
  readonly databaseUrl: string;
  /** host:port, comma separated. Without them the topics are not looked at, which the report says. */
  readonly brokers?: string;
  /** Only runs, keys and topics of this namespace. */
  readonly namespace?: string;
  /** Read topics whole; else the last messages of each partition. */
  readonly full?: boolean;
  /** Default: the relay's own. */
  readonly slot?: string;
  /** Runs a page, each of which is one consistent snapshot. Default 200. */
  readonly pageSize?: number;
  /** Findings that are kept; the others are counted. Default 1000. */
  readonly maxFindings?: number;
  /** Without `full`: last messages of each partition that are read. Default 5000. */
  readonly lastMessages?: number;
  /** What has been due for longer is a finding: nobody fires, or nobody publishes. Default 5 minutes; Infinity = never. */
  readonly overdueMs?: number;
  readonly statementTimeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly check: string;
  readonly done: number;
}
