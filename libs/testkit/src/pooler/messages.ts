/** The little of the PostgreSQL protocol, version 3, that a pooler says and looks at itself. */

export const SSL_REQUEST = 80877103;
export const CANCEL_REQUEST = 80877102;

/** What a client hears when it connects: it is let in, and nothing of it concerns a server yet. */
export function welcome(): Buffer {
  const settings = [
    ['server_encoding', 'UTF8'],
    ['client_encoding', 'UTF8'],
    ['standard_conforming_strings', 'on'],
    ['integer_datetimes', 'on'],
  ];
  return Buffer.concat([
    message('R', Buffer.alloc(4)),
    ...settings.map((setting) => message('S', Buffer.from(`${setting.join('\0')}\0`))),
    message('K', Buffer.alloc(8)),
    message('Z', Buffer.from('I')),
  ]);
}

export function refusal(text: string): Buffer {
  return message('E', Buffer.from(`SFATAL\0VFATAL\0C08006\0M${text}\0\0`));
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

export function typeOf(bytes: Buffer): string {
  return String.fromCharCode(bytes[0] ?? 0);
}

/** Of a message without a type: the first of a connection. */
export function untypedSize(start: Buffer): number | undefined {
  return start.length < 4 ? undefined : start.readInt32BE(0);
}

export function typedSize(start: Buffer): number | undefined {
  return start.length < 5 ? undefined : start.readInt32BE(1) + 1;
}
