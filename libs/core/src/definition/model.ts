import type { JsonText } from '../run/state.js';

/** A published definition, parsed and checked: the shape of docs/reference/definitions.md, durations in milliseconds, templates compiled. */
export interface DefinitionSpec {
  readonly id: string;
  /** JSON Schema of the run's input, as text; null = any JSON. */
  readonly inputSchema: JsonText | null;
  readonly deadlineMs: number | null;
  readonly onDeadline: 'compensate' | 'expire';
  /** 'parallel': independent undos run side by side; 'sequential': one by one in reverse order of completion. */
  readonly compensation: 'parallel' | 'sequential';
  readonly compensationTimeoutMs: number | null;
  readonly nodes: readonly NodeSpec[];
  readonly output: Template | null;
}

/** Node types. The others (switch, join, delay, map, run) come next: `assertNever` finds every place. */
export type NodeSpec = TaskNode | WaitNode;

interface NodeBase {
  readonly id: string;
  /** Ids of the nodes that must have SUCCEEDED before this one starts. */
  readonly after: readonly string[];
}

export interface TaskNode extends NodeBase {
  readonly type: 'task';
  readonly queue: string;
  readonly handler: string;
  readonly input: Template | null;
  readonly retry: RetryPolicy;
  readonly timeouts: TimeoutPolicy;
  readonly compensate: CompensateSpec | null;
  /** 'FAILED' is opt-in: undo also after a definite failure. */
  readonly compensateOn: readonly ('SUCCEEDED' | 'UNKNOWN' | 'FAILED')[];
}

export interface WaitNode extends NodeBase {
  readonly type: 'wait';
  readonly signal: string;
  readonly timeoutMs: number | null;
}

export interface RetryPolicy {
  /** Counts the first try; >= 1. */
  readonly maxAttempts: number;
  readonly initialIntervalMs: number;
  readonly backoff: number;
  readonly maxIntervalMs: number;
  /** 0..1: the backoff is drawn from [(1 - jitter) * d, d]. */
  readonly jitter: number;
  readonly nonRetryable: readonly string[];
}

export interface TimeoutPolicy {
  readonly scheduleToStartMs: number | null;
  readonly startToCloseMs: number;
  readonly heartbeatMs: number;
  readonly scheduleToCloseMs: number | null;
}

export interface CompensateSpec {
  readonly queue: string;
  readonly handler: string;
  /** null = the default input of an undo: {"input": <forward input>, "output": <forward output or null>}. */
  readonly input: Template | null;
  readonly retry: RetryPolicy;
  readonly timeouts: TimeoutPolicy;
}

/** A JSON template with `${...}`; compiled once, rendered to JSON text. Implemented by libs/expressions. */
export interface Template {
  /** Does it read `input`? */
  readonly usesInput: boolean;
  /** Ids of the nodes whose outputs it reads. */
  readonly nodes: readonly string[];
  /** The same with the place of each first use: a JSON pointer inside the template. */
  readonly references: readonly { readonly nodeId: string; readonly pointer: string }[];
  render(scope: TemplateScope): TemplateResult;
}

export interface TemplateScope {
  /** Raw text, or null where the run has none. */
  readonly input: JsonText | null;
  /** Output of an upstream node as raw text; undefined = it has none. */
  output(nodeId: string): JsonText | undefined;
  /** Fields of `run`: id, definition, version. */
  readonly run: { readonly id: string; readonly definition: string; readonly version: number };
}

export type TemplateResult =
  | { readonly ok: true; readonly text: JsonText }
  | { readonly ok: false; readonly code: 'PATH_NOT_FOUND' | 'NOT_A_SCALAR' | 'TOO_LARGE'; readonly message: string };

/** Port of the expression language. `source` is JSON text in which strings may hold `${...}`. */
export interface TemplateCompiler {
  compile(source: JsonText): TemplateCompilation;
}

export type TemplateCompilation =
  | { readonly ok: true; readonly template: Template; readonly warnings: readonly TemplateIssue[] }
  | { readonly ok: false; readonly issues: readonly TemplateIssue[] };

export interface TemplateIssue {
  readonly code: string;
  readonly message: string;
  /** JSON pointer inside the template. */
  readonly pointer: string;
}

/** One finding about a definition. */
export interface DefinitionIssue {
  readonly severity: 'error' | 'warning';
  /** Stable, e.g. CYCLE, UNKNOWN_NODE. */
  readonly code: string;
  readonly message: string;
  /** JSON pointer into the definition. */
  readonly pointer: string;
}

/** A definition version ready for decisions: the spec with its graph indexes. Immutable, shared by all runs of it. */
export interface Dag {
  readonly definitionId: string;
  readonly version: number;
  readonly spec: DefinitionSpec;
  readonly nodes: ReadonlyMap<string, NodeSpec>;
  /** Direct successors by node id. */
  readonly successors: ReadonlyMap<string, readonly string[]>;
  /** In topological order. */
  readonly order: readonly string[];
}

export type ParsedDefinition =
  | { readonly ok: true; readonly dag: Dag; readonly warnings: readonly DefinitionIssue[] }
  | { readonly ok: false; readonly issues: readonly DefinitionIssue[] };
