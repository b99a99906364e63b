export { outboxRelayService } from './service.js';
