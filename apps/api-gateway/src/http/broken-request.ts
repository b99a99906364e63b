import type { Duplex } from 'node:stream';
import { HttpProblem, toProblem } from './problem.js';

/** What Node's parser refuses never becomes a request: the answer is written by hand. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body, headers } = toProblem(problemOf(error.code), { method: '', path: '', requestId: '' });
  const text = JSON.stringify(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-type: application/problem+json\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n${lines.join('')}\r\n${text}`,
  );
}

function problemOf(code: string | undefined): HttpProblem {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpProblem(431, 'HEADERS_TOO_LARGE', 'the headers are too large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HttpProblem(408, 'REQUEST_TIMEOUT', 'the request took too long');
  return new HttpProblem(400, 'MALFORMED_REQUEST', 'this is not an HTTP request');
}
