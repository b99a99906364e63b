/** Injection tokens for what has no class of its own. */
export const ENGINE = Symbol('baton.engine');
