import { Controller, Inject } from '@nestjs/common';
import { GrpcMethod } from '@nestjs/microservices';
import type { internalV1 } from '@baton/contracts';
import type { EngineApi } from '@baton/engine';
import { NoCredential } from '@baton/platform';
import { ApiError, dueFromProto, firedToProto } from '@baton/wire';
import { ENGINE } from '../tokens.js';

const MAX_ITEMS = 200;

/** For Baton's own services, on a port that no tenant reaches (R28): no credential. */
@Controller()
@NoCredential()
export class InternalController {
  constructor(@Inject(ENGINE) private readonly engine: EngineApi) {}

  @GrpcMethod('InternalService', 'FireDue')
  async fireDue(request: internalV1.FireDueRequest): Promise<internalV1.FireDueResponse> {
    if (request.items.length > MAX_ITEMS) {
      throw new ApiError('invalid', 'TOO_MANY_ITEMS', `at most ${MAX_ITEMS} items in one call`);
    }
    const results = await this.engine.fireDue(request.items.map(dueFromProto));
    return { results: results.map(firedToProto) };
  }
}
