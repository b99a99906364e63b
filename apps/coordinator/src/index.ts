export { coordinator } from './service.js';
