import { KafkaConversation } from './kafka-conversation.js';

const PRODUCE = 0;
const FETCH = 1;

function request(apiKey: number, correlationId: number, body = 'body'): Buffer {
  const head = Buffer.alloc(12);
  head.writeInt32BE(8 + body.length, 0);
  head.writeInt16BE(apiKey, 4);
  head.writeInt16BE(9, 6);
  head.writeInt32BE(correlationId, 8);
  return Buffer.concat([head, Buffer.from(body)]);
}

function answer(correlationId: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(9, 0);
  head.writeInt32BE(correlationId, 4);
  return Buffer.concat([head, Buffer.from('reply')]);
}

describe('what a fault proxy knows of a Kafka connection', () => {
  it('finds Produce requests among others, and names their answers by the correlation id', () => {
    const conversation = new KafkaConversation();
    const requests = conversation.fromClient(Buffer.concat([request(FETCH, 1), request(PRODUCE, 2)]));
    expect(requests.map(({ exchange, decisive }) => [exchange, decisive])).toEqual([
      [1, null],
      [2, 'Produce'],
    ]);
    const answers = conversation.fromServer(Buffer.concat([answer(2), answer(1)]));
    expect(answers.map(({ exchange, isLast }) => [exchange, isLast])).toEqual([
      [2, true],
      [1, true],
    ]);
  });

  it('puts requests together from single bytes, and loses none', () => {
    const conversation = new KafkaConversation();
    const all = Buffer.concat([request(PRODUCE, 7, ''), request(PRODUCE, 8, 'x'.repeat(100))]);
    const requests = [...all].flatMap((byte) => conversation.fromClient(Buffer.from([byte])));
    expect(requests.map(({ exchange }) => exchange)).toEqual([7, 8]);
    expect(Buffer.concat(requests.map(({ bytes }) => bytes))).toEqual(all);
  });
});
