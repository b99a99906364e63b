export { Clients, call, refused, type CallFailure } from './clients.js';
export { demoRuns, exampleFile, Rest, type DemoRun, type RestAnswer } from './rest.js';
export { auditOrders } from './audit.js';
export { ChaosMonkey } from './chaos-monkey.js';
export { OrderFeeder, type OrderOutcome } from './order-feeder.js';
export { readTopic, type PublishedEvent } from './events.js';
