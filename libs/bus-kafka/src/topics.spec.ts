import { eventsTopic, parseTopic, taskTopic } from './topics.js';

describe('Topic names (R28)', () => {
  it('are made of a namespace and a queue', () => {
    expect(taskTopic('default', 'payments')).toBe('baton.default.tasks.payments');
    expect(eventsTopic('team-7')).toBe('baton.team-7.events');
  });

  it('have one reading', () => {
    expect(parseTopic('baton.default.tasks.payments')).toEqual({
      kind: 'tasks',
      namespace: 'default',
      queue: 'payments',
    });
    expect(parseTopic('baton.default.events')).toEqual({ kind: 'events', namespace: 'default' });
  });

  it.each(['', 'a.b', 'A', 'ü', 'a_b', 'x'.repeat(64), 'a b', 'a\n'])('refuse the name %j', (name) => {
    expect(() => taskTopic(name, 'q')).toThrow(RangeError);
    expect(() => taskTopic('n', name)).toThrow(RangeError);
    expect(() => eventsTopic(name)).toThrow(RangeError);
    expect(parseTopic(`baton.${name}.events`)).toBeUndefined();
    expect(parseTopic(`baton.n.tasks.${name}`)).toBeUndefined();
  });

  it.each(['baton.a.tasks', 'baton.a.events.b', 'baton.a.tasks.b.c', 'x.baton.a.events', '__consumer_offsets'])(
    'do not know %s',
    (topic) => expect(parseTopic(topic)).toBeUndefined(),
  );
});
