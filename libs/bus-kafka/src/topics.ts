/** R28: namespaces and queues, no dots, so that a topic name has exactly one reading. */
const NAME = /^[a-z0-9-]{1,63}$/;
const TASKS = /^baton\.([a-z0-9-]{1,63})\.tasks\.([a-z0-9-]{1,63})$/;
const EVENTS = /^baton\.([a-z0-9-]{1,63})\.events$/;

export type TopicName =
  | { readonly kind: 'tasks'; readonly namespace: string; readonly queue: string }
  | { readonly kind: 'events'; readonly namespace: string };

function checkName(what: string, name: string): void {
  if (!NAME.test(name))
    throw new RangeError(`${what} must match [a-z0-9-]+ and have at most 63 characters: ${JSON.stringify(name)}`);
}

export function taskTopic(namespace: string, queue: string): string {
  checkName('namespace', namespace);
  checkName('queue', queue);
  return `baton.${namespace}.tasks.${queue}`;
}

export function eventsTopic(namespace: string): string {
  checkName('namespace', namespace);
  return `baton.${namespace}.events`;
}

/** R28: the only topics that may be created and written. undefined = not one of ours. */
export function parseTopic(topic: string): TopicName | undefined {
  const tasks = TASKS.exec(topic);
  if (tasks) return { kind: 'tasks', namespace: tasks[1] as string, queue: tasks[2] as string };
  const events = EVENTS.exec(topic);
  if (events) return { kind: 'events', namespace: events[1] as string };
  return undefined;
}
