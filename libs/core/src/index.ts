export { assertNever } from './assert-never.js';
export type * from './run/state.js';
export type * from './run/events.js';
export type * from './run/actions.js';
export type * from './run/decide-types.js';
export type * from './definition/spec.js';
