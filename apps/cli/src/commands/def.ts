import type { Command } from 'commander';
import { segment } from '../client/gateway.js';
import type { DefinitionPageView, DefinitionView, IssueView } from '../client/views.js';
import { failed } from '../errors.js';
import { parsePositive } from '../io/duration-option.js';
import { formatFields, formatTable, type Screen } from '../io/output.js';
import { readDefinition } from '../io/payload.js';
import { sliceOf } from '../io/slice.js';
import { clientCommand, openSession, print, type ClientOptions, type Session } from './client-command.js';

interface PublishedView {
  readonly definition: DefinitionView;
  readonly created: boolean;
  readonly issues: readonly IssueView[];
}

interface CheckedView {
  readonly valid: boolean;
  readonly issues: readonly IssueView[];
}

export function register(program: Command, screen: Screen): void {
  const def = program.command('def').description('definitions: publish, validate, list, show');
  registerPublish(def, screen);
  registerValidate(def, screen);
  registerList(def, screen);
  registerShow(def, screen);
}

function registerPublish(def: Command, screen: Screen): void {
  clientCommand(def, 'publish <file>', 'publish a version (JSON or YAML; - reads standard input) and deploy it')
    .option('--no-deploy', 'publish only: new runs keep the version that is deployed now')
    .action(async (file: string, options: ClientOptions & { deploy: boolean }) => {
      const session = openSession(options, screen);
      const answer = await session.gateway.call<PublishedView>({
        method: 'POST',
        path: '/v1/definitions',
        query: options.deploy ? {} : { deploy: false },
        ...definitionBody(file),
      });
      print(session, answer, ({ definition, created, issues }) => {
        const what = created ? 'published' : 'was published already, with the same content';
        const deployed = definition.deployed ? ', deployed' : '';
        return `${definition.id} version ${definition.version} ${what}${deployed}\n${issueLines(issues)}`;
      });
    });
}

function registerValidate(def: Command, screen: Screen): void {
  clientCommand(def, 'validate <file>', 'check a definition without publishing it; all findings at once').action(
    async (file: string, options: ClientOptions) => {
      const session = openSession(options, screen);
      const answer = await session.gateway.call<CheckedView>({
        method: 'POST',
        path: '/v1/definitions:validate',
        ...definitionBody(file),
      });
      print(session, answer, ({ valid, issues }) => `${valid ? 'valid' : 'not valid'}\n${issueLines(issues)}`);
      if (!answer.view.valid) throw failed(`${file} is not a valid definition`);
    },
  );
}

function registerList(def: Command, screen: Screen): void {
  clientCommand(def, 'list [definition]', 'list the definitions, or all versions of one')
    .option('--limit <n>', 'how many at most (1 to 100)', parsePositive, 50)
    .option('--cursor <cursor>', 'go on where a list ended')
    .action(async (id: string | undefined, options: ClientOptions & { limit: number; cursor?: string }) => {
      const session = openSession(options, screen);
      const path = id === undefined ? '/v1/definitions' : `/v1/definitions/${segment(id)}/versions`;
      const query = { pageSize: options.limit, cursor: options.cursor };
      const answer = await session.gateway.call<DefinitionPageView>({ method: 'GET', path, query });
      print(session, answer, (page) => {
        const rows = page.definitions.map((row) => [
          row.id,
          String(row.version),
          row.deployed ? 'yes' : '',
          row.createdAt,
          row.contentHash.slice(0, 12),
        ]);
        const more = page.nextCursor === undefined ? '' : `more: --cursor ${page.nextCursor}\n`;
        return formatTable(['DEFINITION', 'VERSION', 'DEPLOYED', 'PUBLISHED', 'CONTENT'], rows) + more;
      });
    });
}

function registerShow(def: Command, screen: Screen): void {
  clientCommand(def, 'show <definition>', 'show the deployed version, or another one')
    .option('--version <n>', 'this version', parsePositive)
    .action(async (id: string, options: ClientOptions & { version?: number }) => {
      const session = openSession(options, screen);
      const answer = await fetchDefinition(session, id, options.version);
      print(session, answer, (view) => {
        const fields = formatFields([
          ['definition', view.id],
          ['version', view.version],
          ['deployed', view.deployed ? 'yes' : 'no'],
          ['published', view.createdAt],
          ['content', view.contentHash],
        ]);
        return `${fields}\n${sliceOf(answer.text, ['spec']) ?? ''}\n`;
      });
    });
}

function fetchDefinition(session: Session, id: string, version: number | undefined) {
  const path = `/v1/definitions/${segment(id)}${version === undefined ? '' : `/versions/${version}`}`;
  return session.gateway.call<DefinitionView>({ method: 'GET', path });
}

function definitionBody(file: string): { body: string; contentType: string } {
  const body = readDefinition(file);
  return { body, contentType: body.trimStart().startsWith('{') ? 'application/json' : 'application/yaml' };
}

function issueLines(issues: readonly IssueView[]): string {
  return issues
    .map(
      ({ severity, code, message, pointer }) =>
        `  ${severity} ${pointer === '' ? '/' : pointer}: ${message} (${code})\n`,
    )
    .join('');
}
