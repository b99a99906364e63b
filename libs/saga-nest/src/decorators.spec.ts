import { Injectable } from '@nestjs/common';
import type { CompensateContext, StepContext } from '@baton/saga';
import { Compensate, Saga, sagaFrom, sagaOptionsOf, Step, WaitFor } from './decorators.js';

interface OrderInput {
  readonly sku: string;
}

@Saga({ id: 'order', version: 2, timeout: 'PT1H' })
class OrderSaga {
  readonly calls: string[] = [];

  @Step({ retry: { maxAttempts: 3 } })
  reserve({ input }: StepContext<OrderInput>): { reservation: string } {
    this.calls.push(`reserve ${input.sku}`);
    return { reservation: 'r1' };
  }

  @Compensate('reserve', { timeout: 5_000 })
  cancelReservation({
    output,
  }: CompensateContext<OrderInput, { reserve: { reservation: string } }, { reservation: string }>): void {
    this.calls.push(`cancel ${output?.reservation}`);
  }

  @WaitFor('approved', { timeout: 'P1D' })
  readonly approval!: unknown;

  @Step({ name: 'charge-card', timeout: 1_000, after: ['reserve', 'approval'] })
  charge(): void {
    this.calls.push('charge');
  }
}

describe('a saga made of decorators', () => {
  const instance = new OrderSaga();
  const saga = sagaFrom(OrderSaga, () => instance);

  it('has its methods and waits as steps, in the order in which they are written', () => {
    expect(saga).toMatchObject({
      id: 'order',
      version: 2,
      timeout: 'PT1H',
      steps: [
        { name: 'reserve', retry: { maxAttempts: 3 }, compensateTimeout: 5_000 },
        { name: 'approval', waitFor: 'approved', timeout: 'P1D' },
        { name: 'charge-card', timeout: 1_000, after: ['reserve', 'approval'] },
      ],
    });
    expect(saga.steps[0]).not.toHaveProperty('after');
    expect(saga.steps[2]).not.toHaveProperty('compensate');
  });

  it('calls them on the provider', () => {
    const [reserve, , charge] = saga.steps;
    if (reserve === undefined || !('run' in reserve) || charge === undefined || !('run' in charge)) throw new Error();
    expect(reserve.run({ input: { sku: 'a' } } as never)).toEqual({ reservation: 'r1' });
    reserve.compensate?.({ output: { reservation: 'r1' } } as never);
    void charge.run({} as never);
    expect(instance.calls).toEqual(['reserve a', 'cancel r1', 'charge']);
  });

  it('takes steps of a class that it extends first', () => {
    @Saga({ id: 'gift-order' })
    class GiftSaga extends OrderSaga {
      @Step()
      wrap(): void {
        this.calls.push('wrap');
      }
    }
    expect(sagaFrom(GiftSaga, () => new GiftSaga()).steps.map(({ name }) => name)).toEqual([
      'reserve',
      'approval',
      'charge-card',
      'wrap',
    ]);
  });

  it('refuses an undo of nothing, and a class without @Saga', () => {
    @Saga({ id: 'broken' })
    class Broken {
      @Compensate('pay')
      refund(): void {
        throw new Error('never called');
      }
    }
    expect(() => sagaFrom(Broken, () => new Broken())).toThrow(
      `@Compensate('pay') on Broken.refund: there is no such step`,
    );
    @Injectable()
    class Plain {}
    expect(sagaOptionsOf(Plain)).toBeUndefined();
    expect(() => sagaFrom(Plain, () => new Plain())).toThrow('Plain has no @Saga');
  });
});
