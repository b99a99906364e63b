import type { Screen } from '../io/output.js';

const clearBelow = '\u001b[0J';

/** Lines that are drawn over themselves on a terminal; elsewhere only the last picture is printed. */
export class LiveLines {
  private drawn = 0;

  constructor(
    private readonly screen: Screen,
    private readonly rows: () => number = () => process.stdout.rows ?? 24,
  ) {}

  show(lines: readonly string[]): void {
    if (!this.screen.isTerminal) return;
    // What has scrolled off the screen cannot be drawn over.
    const most = Math.max(1, this.rows() - 1);
    const shown = lines.length > most ? [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`] : lines;
    this.screen.out(`${this.erase()}${shown.map((line) => `${line}\n`).join('')}`);
    this.drawn = shown.length;
  }

  finish(lines: readonly string[]): void {
    this.screen.out(`${this.erase()}${lines.map((line) => `${line}\n`).join('')}`);
    this.drawn = 0;
  }

  private erase(): string {
    return this.drawn === 0 ? '' : `\u001b[${this.drawn}A${clearBelow}`;
  }
}
