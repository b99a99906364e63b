export type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'dim' | 'plain';

export interface StatusMark {
  readonly symbol: string;
  readonly colour: Colour;
}

const marks: Readonly<Record<string, StatusMark>> = {
  SUCCEEDED: { symbol: '✔', colour: 'green' },
  COMPENSATED: { symbol: '↩', colour: 'yellow' },
  RUNNING: { symbol: '●', colour: 'cyan' },
  SCHEDULED: { symbol: '◌', colour: 'cyan' },
  COMPENSATING: { symbol: '↩', colour: 'cyan' },
  WAITING: { symbol: '◷', colour: 'cyan' },
  BACKOFF: { symbol: '↻', colour: 'yellow' },
  HELD: { symbol: '‖', colour: 'yellow' },
  PLANNED: { symbol: '·', colour: 'dim' },
  SKIPPED: { symbol: '-', colour: 'dim' },
  CANCELLED: { symbol: '⊘', colour: 'yellow' },
  FAILED: { symbol: '✖', colour: 'red' },
  TIMED_OUT: { symbol: '✖', colour: 'red' },
  COMPENSATION_FAILED: { symbol: '✖', colour: 'red' },
  EXPIRED: { symbol: '✖', colour: 'red' },
};

export function markOf(status: string): StatusMark {
  return marks[status] ?? { symbol: '?', colour: 'plain' };
}

const codes: Readonly<Record<Colour, string>> = {
  green: '\u001b[32m',
  red: '\u001b[31m',
  yellow: '\u001b[33m',
  cyan: '\u001b[36m',
  dim: '\u001b[2m',
  plain: '',
};

export function paint(text: string, colour: Colour, enabled: boolean): string {
  return enabled && codes[colour] !== '' ? `${codes[colour]}${text}\u001b[0m` : text;
}
