/** What the REST API answers, as far as this tool reads it. Payloads are left out: they are only ever passed on. */

export interface FailureView {
  readonly code: string;
  readonly message: string;
  readonly nodeId: string | null;
}

export interface RunView {
  readonly runId: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly status: string;
  readonly cause: string | null;
  readonly compensation: string;
  readonly epoch: number;
  readonly failure: FailureView | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly businessKey: string | null;
  readonly stuckReason: string | null;
}

export interface TaskView {
  readonly taskId: string;
  readonly nodeId: string;
  readonly item: number;
  readonly kind: string;
  readonly generation: number;
  readonly status: string;
  readonly attempt: number;
  readonly failures: number;
  readonly losses: number;
  readonly unknownOutcome: boolean;
  readonly failure: FailureView | null;
  readonly leaseOwner: string | null;
  readonly createdAt: string;
  readonly settledAt: string | null;
}

export interface HistoryEntryView {
  readonly seq: number;
  readonly kind: string;
  readonly nodeId: string | null;
  readonly taskKind: string | null;
  readonly attempt: number | null;
  readonly code: string | null;
  readonly detail: string | null;
  readonly at: string;
}

export interface SignalView {
  readonly signalId: string;
  readonly name: string;
  readonly receivedAt: string;
}

export interface RunDetailsView {
  readonly run: RunView;
  readonly tasks: readonly TaskView[];
  readonly bufferedSignals: readonly SignalView[];
}

export interface RunPageView {
  readonly runs: readonly RunView[];
  readonly nextCursor?: string;
}

export interface HistoryPageView {
  readonly entries: readonly HistoryEntryView[];
  readonly nextAfterSeq?: number;
}

export interface ResultView {
  readonly run: RunView;
  readonly finished: boolean;
}

export interface StartedView {
  readonly runId: string;
  readonly created: boolean;
  readonly status: string;
}

export interface DefinitionView {
  readonly id: string;
  readonly version: number;
  readonly contentHash: string;
  readonly deployed: boolean;
  readonly createdAt: string;
}

export interface DefinitionPageView {
  readonly definitions: readonly DefinitionView[];
  readonly nextCursor?: string;
}

export interface IssueView {
  readonly severity: string;
  readonly code: string;
  readonly message: string;
  readonly pointer: string;
}

/** The graph of a definition, for drawing. */
export interface NodeOutline {
  readonly id: string;
  readonly type: string;
  readonly after: readonly string[];
}
