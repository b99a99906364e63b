import type { IncomingMessage } from 'node:http';
import { Controller, Get, Req } from '@nestjs/common';
import { RawJson } from '../http/json-out.js';
import { readQuery } from '../http/query.js';
import { ok, type Reply } from '../http/reply.js';
import { noQuery } from '../rest/queries.js';

@Controller()
export class OpenApiController {
  private text: string | undefined;

  /** Built on first use: most processes are never asked, and it costs memory. */
  @Get('openapi.json')
  async document(@Req() request: IncomingMessage): Promise<Reply> {
    readQuery(request, noQuery);
    if (this.text === undefined) {
      const { buildOpenApi } = await import('./document.js');
      this.text = JSON.stringify(buildOpenApi());
    }
    return ok(new RawJson(this.text));
  }
}
