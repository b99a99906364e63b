import type { JsonText } from '@baton/core';
import type { SagaErrorDetail } from '../journal/errors.js';

interface Spec {
  readonly nodes: readonly Node[];
  readonly [field: string]: unknown;
}

interface Node {
  readonly id: string;
  readonly after?: readonly string[];
  readonly [field: string]: unknown;
}

/**
 * How our definition differs from the published one of the same id and version, step by step. `base` is the pointer of
 * the saga. Both are valid definitions.
 */
export function diffDefinitions(published: JsonText, ours: JsonText, base: string): readonly SagaErrorDetail[] {
  const [before, now] = [JSON.parse(published) as Spec, JSON.parse(ours) as Spec];
  const [old, own] = [byId(before), byId(now)];
  const added = now.nodes.filter(({ id }) => !old.has(id)).map(({ id }) => id);
  const removed = before.nodes.filter(({ id }) => !own.has(id)).map(({ id }) => id);
  const detail = (code: string, step: string, message: string) => ({
    pointer: `${base}/steps/${step}`,
    code,
    message: `step ${step} ${message}`,
  });
  return [
    ...changedSettings(before, now, base),
    ...added.map((step) => detail('STEP_ADDED', step, 'was added')),
    ...removed.map((step) => detail('STEP_REMOVED', step, 'was removed')),
    ...now.nodes.flatMap((node) => {
      const other = old.get(node.id);
      if (other === undefined) return [];
      const fields = differing(other, node).filter((field) => field !== 'input' && field !== 'after');
      const order = `comes after ${listed(node.after)}, and came after ${listed(other.after)}`;
      return [
        ...(isReordered(old, other, own, node) ? [detail('STEP_REORDERED', node.id, order)] : []),
        ...(fields.length === 0 ? [] : [detail('STEP_CHANGED', node.id, `has another ${fields.join(', ')}`)]),
      ];
    }),
  ];
}

function byId({ nodes }: Spec): Nodes {
  return new Map(nodes.map((node) => [node.id, node]));
}

type Nodes = ReadonlyMap<string, Node>;

/** An order that changes only around steps that came or went is told with those. */
function isReordered(old: Nodes, before: Node, own: Nodes, now: Node): boolean {
  const isKept = (step: string) => old.has(step) && own.has(step);
  if (!sameSet(aboveIn(old, before, isKept), aboveIn(own, now, isKept))) return true;
  const [was, is] = [before.after ?? [], now.after ?? []];
  return [...was, ...is].every(isKept) && !sameSet(new Set(was), new Set(is));
}

function changedSettings(before: Spec, now: Spec, base: string): readonly SagaErrorDetail[] {
  const fields = differing(before, now).filter((field) => field !== 'nodes' && field !== 'output');
  if (fields.length === 0) return [];
  return [{ pointer: base, code: 'SAGA_CHANGED', message: `it has another ${fields.join(', ')}` }];
}

function differing(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): readonly string[] {
  const fields = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...fields].filter((field) => sorted(one[field]) !== sorted(other[field]));
}

/** JSON with its keys in order: a schema may be written in any. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** Steps before this one, as far as both definitions have them. */
function aboveIn(nodes: Nodes, node: Node, isKept: (step: string) => boolean): ReadonlySet<string> {
  const above = new Set(node.after);
  for (const id of above) for (const next of nodes.get(id)?.after ?? []) above.add(next);
  return new Set([...above].filter(isKept));
}

function sameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((member) => other.has(member));
}

function listed(steps: readonly string[] = []): string {
  return steps.length === 0 ? 'nothing' : steps.join(', ');
}
