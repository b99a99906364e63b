import type { Command } from 'commander';
import { Gateway, type Answer } from '../client/gateway.js';
import { runningAddresses } from '../dev/running.js';
import { usageError } from '../errors.js';
import { setting } from '../io/environment.js';
import { withFormat, type Format, type Screen } from '../io/output.js';

const defaultUrl = 'http://127.0.0.1:8080';

export interface ClientOptions {
  readonly output: Format;
  readonly url?: string;
}

/** What a command that talks to the gateway works with. */
export interface Session {
  readonly gateway: Gateway;
  readonly format: Format;
  readonly screen: Screen;
}

export function clientCommand(parent: Command, usage: string, description: string): Command {
  const command = parent.command(usage).description(description);
  return withFormat(command).option(
    '--url <url>',
    `the gateway; else BATON_URL, else the one of "baton up" (${defaultUrl})`,
  );
}

export function openSession(options: ClientOptions, screen: Screen): Session {
  const url = options.url ?? setting('BATON_URL') ?? runningAddresses()?.gateway ?? defaultUrl;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw usageError(`${url} is not an http address`);
  return { gateway: new Gateway({ url, apiKey: setting('BATON_API_KEY') }), format: options.output, screen };
}

/** As json the answer is printed as it came, so that no digit of a payload is lost. */
export function print<T>(session: Session, answer: Answer<T>, asText: (view: T) => string): void {
  session.screen.out(session.format === 'json' ? `${answer.text.trimEnd()}\n` : asText(answer.view));
}

/** Said on the side, where it does not get into an answer that is piped on. */
export function note(session: Session, text: string): void {
  session.screen.err(`${text}\n`);
}
