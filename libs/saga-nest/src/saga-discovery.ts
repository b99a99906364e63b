import type { DiscoveryService } from '@nestjs/core';
import { defineSaga, type Outputs, type Saga } from '@baton/saga';
import { sagaFrom, sagaOptionsOf, type NamedClass } from './decorators.js';

/**
 * The sagas among the providers of an application. Their classes are known before anything is instantiated, so a registry
 * can be made early; their instances are asked for when a step runs.
 */
export function discoverSagas(discovery: Pick<DiscoveryService, 'getProviders'>): readonly Saga[] {
  const found = new Map<NamedClass, Saga>();
  for (const wrapper of discovery.getProviders()) {
    const type: unknown = wrapper.metatype;
    if (!isClass(type) || found.has(type) || sagaOptionsOf(type) === undefined) continue;
    // A request never comes here: there would be no instance to call.
    if (!wrapper.isDependencyTreeStatic()) {
      throw new Error(`${type.name} is a saga and must be a singleton, with all that it depends on`);
    }
    const instanceOf = () => {
      const instance: unknown = wrapper.instance;
      if (typeof instance !== 'object' || instance === null) throw new Error(`${type.name} has not been instantiated`);
      return instance;
    };
    found.set(type, defineSaga<unknown, Outputs>(sagaFrom(type, instanceOf)));
  }
  return [...found.values()];
}

function isClass(type: unknown): type is NamedClass & object {
  return typeof type === 'function' && 'prototype' in type;
}
