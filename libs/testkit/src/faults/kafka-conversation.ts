import { Splitter, type Answer, type Conversation, type Request } from './conversation.js';

const PRODUCE = 0;

/** The Kafka protocol as far as it takes to find a Produce request and the answer to it. */
export class KafkaConversation implements Conversation {
  private readonly client = new Splitter();
  private readonly server = new Splitter();

  fromClient(chunk: Buffer): readonly Request[] {
    this.client.push(chunk);
    const requests: Request[] = [];
    for (;;) {
      const bytes = this.client.next(sizeOf);
      if (bytes === undefined) return requests;
      const isProduce = bytes.length >= 12 && bytes.readInt16BE(4) === PRODUCE;
      requests.push({
        bytes,
        decisive: isProduce ? 'Produce' : null,
        exchange: bytes.length >= 12 ? bytes.readInt32BE(8) : -1,
      });
    }
  }

  fromServer(chunk: Buffer): readonly Answer[] {
    this.server.push(chunk);
    const answers: Answer[] = [];
    for (;;) {
      const bytes = this.server.next(sizeOf);
      if (bytes === undefined) return answers;
      const exchange = bytes.length >= 8 ? bytes.readInt32BE(4) : -1;
      answers.push({ bytes, exchange, isLast: true, isFailure: false });
    }
  }
}

function sizeOf(start: Buffer): number | undefined {
  return start.length < 4 ? undefined : start.readInt32BE(0) + 4;
}
