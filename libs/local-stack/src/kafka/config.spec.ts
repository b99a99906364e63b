import { DEFAULT_HEAP, jvmFlags, kafkaConfig } from './config.js';

describe('the broker configuration', () => {
  it('listens on loopback alone and creates no topic by itself', () => {
    const config = kafkaConfig('/data', { broker: 1, controller: 2 });
    expect(config).toContain('listeners=BROKER://127.0.0.1:1,CONTROLLER://127.0.0.1:2\n');
    expect(config).toContain('auto.create.topics.enable=false\n');
  });

  it('tells clients of another listener the port that stands before it', () => {
    const config = kafkaConfig('/data', { broker: 1, controller: 2, extra: { port: 3, advertisedPort: 4 } });
    expect(config).toContain('\nlisteners=BROKER://127.0.0.1:1,EXTRA://127.0.0.1:3,CONTROLLER://127.0.0.1:2\n');
    expect(config).toContain('\nadvertised.listeners=BROKER://127.0.0.1:1,EXTRA://127.0.0.1:4\n');
  });

  it('gives a larger heap the full compiler', () => {
    expect(jvmFlags(DEFAULT_HEAP)).toContain('-XX:TieredStopAtLevel=1');
    expect(jvmFlags('1g')).not.toContain('-XX:TieredStopAtLevel=1');
  });
});
