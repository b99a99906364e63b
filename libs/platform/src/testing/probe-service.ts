import { Module } from '@nestjs/common';
import { bootstrapService } from '../bootstrap/bootstrap.js';
import { portSetting } from '../config/common.js';
import type { ServiceDefinition } from '../bootstrap/definition.js';

/** A service that does what PROBE says, for tests of the process itself. */

@Module({})
class ProbeModule {}

const settings = { port: portSetting('PROBE_PORT', 0, 'a port') };

const probe: ServiceDefinition<typeof settings> = {
  name: 'probe',
  adminPort: 0,
  settings,
  module: ({ lifecycle, readiness }) => {
    readiness.addCheck('teapot', () => (process.env['PROBE'] === 'unready' ? 'short and stout' : undefined));
    lifecycle.onShutdown('drain', 'say', () => {
      process.stdout.write('HOOK\n');
    });
    if (process.env['PROBE'] === 'stuck') lifecycle.onShutdown('drain', 'stuck', () => new Promise(() => undefined));
    if (process.env['PROBE'] === 'broken') throw new Error('cannot be built');
    if (process.env['PROBE'] === 'reject') setTimeout(() => void Promise.reject(new Error('nobody waits')), 300);
    if (process.env['PROBE'] === 'throw') {
      setTimeout(() => {
        throw new Error('nobody catches');
      }, 300);
    }
    return ProbeModule;
  },
  ...(process.env['PROBE'] === 'http' ? { http: () => ({ host: '127.0.0.1', port: 0 }) } : {}),
};

void bootstrapService(probe);
