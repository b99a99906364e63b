import { DEFAULT_HEAP, jvmFlags, kafkaConfig } from './config.js';

describe('the broker configuration', () => {
  it('listens on loopback alone and creates no topic by itself', () => {
    const config = kafkaConfig('/data', { broker: 1, controller: 2 });
    expect(config).toContain('listeners=BROKER://127.0.0.1:1,CONTROLLER://127.0.0.1:2\n');
    expect(config).toContain('auto.create.topics.enable=false\n');
  });

  it('gives a larger heap the full compiler', () => {
    expect(jvmFlags(DEFAULT_HEAP)).toContain('-XX:TieredStopAtLevel=1');
    expect(jvmFlags('1g')).not.toContain('-XX:TieredStopAtLevel=1');
  });
});
