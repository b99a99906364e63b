export * from './api.js';
export * from './ports.js';
