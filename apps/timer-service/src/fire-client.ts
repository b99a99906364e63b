import { internalV1 } from '@baton/contracts';
import { callMetadata, grpcClientOptions, grpcTarget, insecureCredentials } from '@baton/platform';
import { type DueRecord, dueToProto, type FiredRecord, firedFromProto, fromGrpcError } from '@baton/wire';

/** A batch of 200 is one transaction or a few; a coordinator that takes longer is in trouble. */
const FIRE_TIMEOUT_MS = 30_000;
const PROBE_MS = 1_500;

/** InternalService of the coordinators. Firing twice is harmless (R21), so an unavailable one is tried again elsewhere. */
export class FireClient {
  private readonly client: internalV1.InternalServiceClient;

  constructor(private readonly addresses: readonly string[]) {
    const options = grpcClientOptions({ service: 'baton.internal.v1.InternalService', retryUnavailable: true });
    this.client = new internalV1.InternalServiceClient(grpcTarget(addresses), insecureCredentials(), options);
  }

  /** One answer for each item, in order. */
  async fireDue(items: readonly DueRecord[]): Promise<readonly FiredRecord[]> {
    const request: internalV1.FireDueRequest = { items: items.map(dueToProto) };
    const response = await new Promise<internalV1.FireDueResponse>((resolve, reject) => {
      const deadline = { deadline: Date.now() + FIRE_TIMEOUT_MS };
      this.client.fireDue(request, callMetadata(undefined), deadline, (error, answer) => {
        if (error === null) resolve(answer);
        else reject(fromGrpcError(error));
      });
    });
    if (response.results.length !== items.length) {
      throw new Error(`${response.results.length} answers for ${items.length} due rows`);
    }
    return response.results.map(firedFromProto);
  }

  async whyNotConnected(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.client.waitForReady(Date.now() + PROBE_MS, (error) => {
        resolve(error === undefined ? undefined : `no connection to ${this.addresses.join(', ')}`);
      });
    });
  }

  close(): void {
    this.client.close();
  }
}
