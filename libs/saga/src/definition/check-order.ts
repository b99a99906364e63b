import type { FaultList } from './faults.js';
import type { ReadStep } from './read-steps.js';

/** Everything about steps together: names, and what comes after what. */
export function checkOrder(steps: readonly ReadStep[], faults: FaultList): void {
  const areUnique = checkNames(steps, faults);
  const names = new Set(steps.map(({ name }) => name));
  steps.forEach(({ after }, index) => checkAfter(after, index, names, faults));
  // Where two steps share a name, what comes after it says nothing.
  if (areUnique) checkCycles(steps, names, faults);
}

/** Without regard to case, as definitions have it: `pay` and `Pay` are one name to most people. */
function checkNames(steps: readonly ReadStep[], faults: FaultList): boolean {
  const first = new Map<string, number>();
  let areUnique = true;
  steps.forEach(({ name }, index) => {
    const key = name.toLowerCase();
    const other = first.get(key);
    if (other === undefined) first.set(key, index);
    else if (name !== '') {
      areUnique = false;
      faults.add('DUPLICATE_STEP', ['steps', index, 'name'], `${name} is the name of /steps/${other} too`);
    }
  });
  return areUnique;
}

function checkAfter(after: readonly string[], index: number, names: ReadonlySet<string>, faults: FaultList): void {
  after.forEach((other, position) => {
    const path = ['steps', index, 'after', position];
    if (!names.has(other)) faults.add('UNKNOWN_STEP', path, `there is no step ${JSON.stringify(other)}`);
    else if (after.indexOf(other) !== position) faults.add('DUPLICATE_AFTER', path, `${other} is listed twice`);
  });
}

/** Takes away what can start, until nothing can; the rest waits for itself. */
function checkCycles(steps: readonly ReadStep[], names: ReadonlySet<string>, faults: FaultList): void {
  const waiting = new Map(
    steps.map(({ name, after }, index) => [
      name,
      { index, before: new Set(after.filter((other) => names.has(other))) },
    ]),
  );
  for (;;) {
    const startable = [...waiting].filter(([, { before }]) => before.size === 0).map(([name]) => name);
    if (startable.length === 0) break;
    for (const name of startable) waiting.delete(name);
    for (const { before } of waiting.values()) for (const name of startable) before.delete(name);
  }
  for (const [name, { index, before }] of waiting) {
    const others = [...before].filter((other) => other !== name);
    const message =
      others.length === 0
        ? `${name} cannot come after itself`
        : `${name} can never start: it waits for ${others.join(', ')}, which waits for it or is on a cycle itself`;
    faults.add('CYCLE', ['steps', index, 'after'], message);
  }
}
