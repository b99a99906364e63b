import { logLevel } from 'kafkajs';
import { quietLogCreator } from './quiet-log.js';

function record() {
  const lines: { readonly level: string; readonly message: string }[] = [];
  const at = (level: string) => (message: string) => lines.push({ level, message });
  const write = quietLogCreator({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') })(
    logLevel.WARN,
  );
  const say = (message: string, error?: string) =>
    write({
      namespace: 'x',
      level: logLevel.ERROR,
      label: 'ERROR',
      log: { timestamp: '', message, ...(error ? { error } : {}) },
    });
  return { lines, say };
}

describe('The log of the client', () => {
  it('is silent about what a first use of a group or a topic always says', () => {
    const { lines, say } = record();
    say('Response FindCoordinator', 'The group coordinator is not available');
    say('Response JoinGroup', "The coordinator is loading and hence can't process requests for this group");
    say(
      'Response Metadata',
      'There is no leader for this topic-partition as we are in the middle of a leadership election',
    );
    say('Failed to send messages: This server does not host this topic-partition');
    expect(lines.map(({ level }) => level)).toEqual(['debug', 'debug', 'debug', 'debug']);
  });

  it('says what is new once, as a warning', () => {
    const { lines, say } = record();
    for (let i = 0; i < 5; i += 1) say('Connection error: connect ECONNREFUSED 127.0.0.1:1');
    say('Connection timeout');
    expect(lines).toEqual([
      { level: 'warn', message: 'Connection error: connect ECONNREFUSED 127.0.0.1:1' },
      { level: 'warn', message: 'Connection timeout' },
    ]);
  });
});
