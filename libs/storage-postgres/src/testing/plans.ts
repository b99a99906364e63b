import type { Client } from 'pg';
import { DEFAULT_TIMEOUTS, sessionSettings } from '../pool.js';
import type { Statement } from '../statements.js';

/** R36: what a plan may not do, found by walking it. */

/** Tables that grow with the number of runs, and what their partitions are told apart by. */
const PARTITIONED_BY: Readonly<Record<string, string>> = {
  workflow_runs: 'run_id',
  run_payloads: 'run_id',
  task_instances: 'run_id',
  run_journal: 'run_id',
  signals: 'run_id',
  outbox: 'created_at',
};
const UNPARTITIONED = ['timers', 'run_keys', 'run_inbox'];

/**
 * Statements that look for rows by something else than a run: which tables, and by which indexes (spaces between). With
 * `!` behind it an index may also be walked without a condition: for a statement that stops at the first row.
 */
export type IndexExceptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  /** Of a bitmap scan, whose index is the node below. */
  readonly 'Recheck Cond'?: string;
  readonly 'Actual Loops'?: number;
  readonly Plans?: readonly PlanNode[];
}

export async function engineSession(client: Client): Promise<void> {
  await client.query(sessionSettings({ ...DEFAULT_TIMEOUTS, statementMs: 60_000 }));
}

/** Of this project, or of another that keeps the same rule. */
export type PlannedStatement = Pick<Statement, 'name' | 'text'> & { readonly parameters: readonly unknown[] };

/** The plan that a connection of the engine would keep for this statement, whatever its parameters. */
export async function genericPlan(client: Client, statement: PlannedStatement): Promise<PlanNode> {
  await client.query(`PREPARE planned AS ${statement.text}`);
  try {
    const nulls = statement.parameters.map(() => 'NULL').join(', ');
    const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
      `EXPLAIN (FORMAT JSON) EXECUTE planned${nulls === '' ? '' : `(${nulls})`}`,
    );
    const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
    if (plan === undefined) throw new Error(`no plan of ${statement.name}`);
    return plan;
  } finally {
    await client.query('DEALLOCATE planned');
  }
}

/** One sentence for each thing that is wrong; none = the plan is good. */
export function findingsOf(name: string, plan: PlanNode, exceptions: IndexExceptions = {}): readonly string[] {
  return scansOf(plan).flatMap((scan) => {
    const finding = judgeScan(scan, exceptions[name] ?? {});
    return finding === undefined ? [] : [`${name}: ${finding}`];
  });
}

function judgeScan(scan: PlanNode, allowed: Readonly<Record<string, string>>): string | undefined {
  const relation = scan['Relation Name'] ?? '';
  const table = tableOf(relation);
  if (table === undefined) return undefined;
  if (scan['Node Type'] === 'Tid Scan') return undefined; // rows that another scan of the statement has found
  if (scan['Node Type'] === 'Seq Scan') return `sequential scan of ${relation}`;
  const index = scan['Index Name'] ?? scan.Plans?.[0]?.['Index Name'] ?? '';
  const condition = scan['Index Cond'] ?? scan['Recheck Cond'] ?? '';
  const key = PARTITIONED_BY[table];
  const exceptions = allowed[table]?.split(' ') ?? [];
  if (exceptions.some((exception) => isBy(index, condition, exception))) return undefined;
  // What was found by such an index may be written by its key.
  const byKey = key !== undefined && new RegExp(`\\b${key} = `).test(condition) && index.endsWith('_pkey');
  if (exceptions.length > 0 && !byKey) {
    return `${relation} is read by ${index} ${condition}, not by ${exceptions.join(' or ')}`;
  }
  if (key === undefined) return condition === '' ? `${relation} is read as a whole by ${index}` : undefined;
  if (!new RegExp(`\\b${key} = `).test(condition))
    return `${relation} is read in every partition (${index} ${condition})`;
  return index.endsWith('_pkey') ? undefined : `${relation} is read by ${index} instead of its primary key`;
}

function isBy(index: string, condition: string, exception: string): boolean {
  const mayWalk = exception.endsWith('!');
  return index.endsWith(mayWalk ? exception.slice(0, -1) : exception) && (mayWalk || condition !== '');
}

/** Partitions of a table that were touched when the plan was executed. */
export function touchedPartitions(plan: PlanNode): ReadonlySet<string> {
  const touched = scansOf(plan).filter((scan) => (scan['Actual Loops'] ?? 0) > 0);
  return new Set(touched.map((scan) => scan['Relation Name'] ?? '').filter((name) => tableOf(name) !== undefined));
}

function tableOf(relation: string): string | undefined {
  if (UNPARTITIONED.includes(relation)) return relation;
  return Object.keys(PARTITIONED_BY).find((table) => relation.startsWith(`${table}_`));
}

function scansOf(node: PlanNode): readonly PlanNode[] {
  const own = node['Relation Name'] !== undefined && node['Node Type'].includes('Scan') ? [node] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scansOf)];
}

export type { PlanNode };
