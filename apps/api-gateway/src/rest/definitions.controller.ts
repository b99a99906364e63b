import type { IncomingMessage } from 'node:http';
import { Controller, Delete, Get, Inject, Param, Post, Req } from '@nestjs/common';
import { readDefinitionText } from '../http/body.js';
import { readPath, readQuery } from '../http/query.js';
import { ok, type Reply } from '../http/reply.js';
import { contextOf } from '../http/request-context.js';
import { RegistryClient } from '../upstream/registry-client.js';
import { listDefinitionsQuery, noQuery, publishQuery } from './queries.js';
import { renderDefinition, renderIssues } from './render.js';
import * as shape from './schemas.js';

@Controller('v1')
export class DefinitionsController {
  constructor(@Inject(RegistryClient) private readonly registry: RegistryClient) {}

  /** The body is the definition itself. */
  @Post('definitions')
  async publish(@Req() request: IncomingMessage): Promise<Reply> {
    const { deploy } = readQuery(request, publishQuery);
    const context = contextOf(request);
    const spec = readDefinitionText(context.body);
    const answer = await this.registry.publish({ spec, noDeploy: deploy === false }, context);
    const { id = '', version = 0 } = answer.definition ?? {};
    return {
      status: answer.created ? 201 : 200,
      headers: { location: `/v1/definitions/${id}/versions/${version}` },
      body: {
        definition: renderDefinition(answer.definition),
        created: answer.created,
        issues: renderIssues(answer.issues),
      },
    };
  }

  @Post('definitions\\:validate')
  async validate(@Req() request: IncomingMessage): Promise<Reply> {
    readQuery(request, noQuery);
    const context = contextOf(request);
    const answer = await this.registry.validate({ spec: readDefinitionText(context.body) }, context);
    return ok({ valid: answer.valid, issues: renderIssues(answer.issues) });
  }

  @Get('definitions')
  list(@Req() request: IncomingMessage): Promise<Reply> {
    return this.page(request, '');
  }

  /** The deployed version. */
  @Get('definitions/:definitionId')
  async get(@Req() request: IncomingMessage, @Param('definitionId') givenId: string): Promise<Reply> {
    const id = readPath(givenId, 'definitionId', shape.definitionId);
    readQuery(request, noQuery);
    const answer = await this.registry.get({ id, version: 0 }, contextOf(request));
    return ok(renderDefinition(answer.definition));
  }

  @Get('definitions/:definitionId/versions')
  versions(@Req() request: IncomingMessage, @Param('definitionId') givenId: string): Promise<Reply> {
    return this.page(request, readPath(givenId, 'definitionId', shape.definitionId));
  }

  @Get('definitions/:definitionId/versions/:version')
  async getVersion(
    @Req() request: IncomingMessage,
    @Param('definitionId') givenId: string,
    @Param('version') givenVersion: string,
  ): Promise<Reply> {
    const ref = readRef(givenId, givenVersion);
    readQuery(request, noQuery);
    const answer = await this.registry.get(ref, contextOf(request));
    return ok(renderDefinition(answer.definition));
  }

  @Delete('definitions/:definitionId/versions/:version')
  async delete(
    @Req() request: IncomingMessage,
    @Param('definitionId') givenId: string,
    @Param('version') givenVersion: string,
  ): Promise<Reply> {
    const ref = readRef(givenId, givenVersion);
    readQuery(request, noQuery);
    await this.registry.delete(ref, contextOf(request));
    return ok({ id: ref.id, version: ref.version, deleted: true });
  }

  @Post(['definitions/:definitionId/versions/:version\\:deploy', 'definitions/:definitionId/versions/:version/deploy'])
  async deploy(
    @Req() request: IncomingMessage,
    @Param('definitionId') givenId: string,
    @Param('version') givenVersion: string,
  ): Promise<Reply> {
    const ref = readRef(givenId, givenVersion);
    readQuery(request, noQuery);
    const answer = await this.registry.deploy(ref, contextOf(request));
    return ok(renderDefinition(answer.definition));
  }

  private async page(request: IncomingMessage, id: string): Promise<Reply> {
    const { pageSize, cursor } = readQuery(request, listDefinitionsQuery);
    const page = await this.registry.list({ id, pageSize: pageSize ?? 0, cursor: cursor ?? '' }, contextOf(request));
    return ok({
      definitions: page.definitions.map(renderDefinition),
      nextCursor: page.nextCursor === '' ? undefined : page.nextCursor,
    });
  }
}

function readRef(id: string, version: string): { id: string; version: number } {
  return {
    id: readPath(id, 'definitionId', shape.definitionId),
    version: readPath(version, 'version', shape.pathVersion),
  };
}
