import { entryText } from './cases.ts';
import type { SagaItem } from './saga-item-list.ts';

export interface TestTitle {
  readonly file: string;
  readonly title: string;
}

const ID = /\b[KJPECLOW]\d{1,2}\b/g;
const OLD_BEHAVIOUR = 'the old behaviour fails this check';
/** The relay numbers its own invariants L1 to L7. */
const RELAY = /^apps\/outbox-relay\//;

export function itemIdsOf({ file, title }: TestTitle): readonly string[] {
  const ids = [...new Set([...title.matchAll(ID)].map(([id]) => id))];
  return RELAY.test(file) ? ids.filter((id) => !id.startsWith('L')) : ids;
}

/** What is missing, by sentence: items without a test, weaknesses without their old behaviour, unknown ids. */
export function findItemProblems(items: readonly SagaItem[], titles: readonly TestTitle[]): readonly string[] {
  const known = new Set(items.map(({ id }) => id));
  const problems: string[] = [];
  for (const { id } of items) {
    const shown = titles.filter((title) => itemIdsOf(title).includes(id));
    const ours = shown.filter(({ title }) => !title.includes(OLD_BEHAVIOUR));
    if (ours.length === 0) problems.push(`${id}: no test carries it`);
    if (id.startsWith('W') && ours.length === shown.length) {
      problems.push(`${id}: no test "${id}: ${OLD_BEHAVIOUR}"`);
    }
  }
  for (const title of titles) {
    const strange = itemIdsOf(title).filter((id) => !known.has(id));
    for (const id of strange) problems.push(`${title.file} shows ${id}, which is no item`);
  }
  return problems;
}

const GROUPS: readonly (readonly [letter: string, heading: string])[] = [
  ['K', 'Definitions and statuses'],
  ['J', 'The journal, on both stores'],
  ['P', 'The journal on PostgreSQL'],
  ['E', 'One step'],
  ['C', 'The runtime'],
  ['L', 'One leader for a run'],
  ['O', 'The outbox and its readers'],
  ['W', 'Weaknesses that it must not have'],
];

const INTRODUCTION = `# What the embedded saga runtime must do

<!-- Written by node tools/saga-items.ts; a unit test fails when it is stale. -->

A list of behaviours (K to O) that the tests of another runtime of this kind assert, and of 20 weaknesses (W) that such
runtimes have. Each is told here in one sentence, with the tests that carry its id in their titles. An item marked with \\*
holds in another form than there, on purpose: the reasons are in
[ADR 0011](../adr/0011-what-the-saga-runtime-does-differently.md).

A weakness has two tests at least: that Baton does not have it, and that the same check fails on a small imitation that
does, so that the check is known to see it.
`;

/** The page, from the list and the titles alone. */
export function itemPage(items: readonly SagaItem[], titles: readonly TestTitle[]): string {
  const tables = GROUPS.map(([letter, heading]) => {
    const rows = items
      .filter(({ id }) => id.startsWith(letter))
      .map(({ id, what, changed }) => {
        const shown = titles.filter((title) => itemIdsOf(title).includes(id)).map(entryText);
        return `| ${id}${changed === undefined ? '' : ' \\*'} | ${what} | ${shown.join('<br>')} |`.replaceAll(
          '  ',
          ' ',
        );
      });
    return `\n## ${heading}\n\n| | What holds | Shown by |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `${INTRODUCTION}${tables.join('')}`;
}

/** The table of changed items, as the ADR has it. */
export function changedItems(items: readonly SagaItem[]): string {
  const rows = items.flatMap(({ id, what, changed }) =>
    changed === undefined ? [] : [`| ${id} | ${what} | ${changed} |`],
  );
  return `| Item | What holds in Baton | Why it is not as there |\n|---|---|---|\n${rows.join('\n')}\n`;
}
