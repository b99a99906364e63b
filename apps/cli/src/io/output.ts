import { Option, type Command } from 'commander';
import { visible, visibleOnOneLine } from './visible.js';

export type Format = 'json' | 'table';

/** Where commands print; a test gives its own. */
export interface Screen {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly isTerminal: boolean;
  readonly width: number | undefined;
}

export function terminalScreen(): Screen {
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    isTerminal: process.stdout.isTTY === true,
    width: process.stdout.columns,
  };
}

export function usesColour(screen: Screen, environment: NodeJS.ProcessEnv = process.env): boolean {
  return screen.isTerminal && (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb';
}

export function withFormat(command: Command): Command {
  const option = new Option('-o, --output <format>', 'how to print the answer').choices(['json', 'table']);
  return command.addOption(option.default('table'));
}

/** Columns as wide as their longest cell. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows.map((row) => row.map(visibleOnOneLine))];
  const widths = headings.map((_heading, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all.map((row) => `${formatRow(row, widths)}\n`).join('');
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  return widths
    .map((width, column) => (row[column] ?? '').padEnd(width))
    .join('  ')
    .trimEnd();
}

/** `name   value`, one a line; empty values are left out. */
export function formatFields(fields: readonly (readonly [string, string | number | null | undefined])[]): string {
  const shown = fields.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${visible(String(value))}\n`).join('');
}
