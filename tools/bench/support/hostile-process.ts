import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A load of one hostile caller. */
export interface HostileLoad {
  readonly port: number;
  readonly connections: number;
  /** Requests that the connections send in turn, base64. `@RANDOM@` in a request is replaced by a random text of the same length. */
  readonly requests: readonly string[];
}

const PLACEHOLDER = '@RANDOM@';
/** Delay before a connection is opened again, ms. */
const RECONNECT_MS = 20;

/** Number of responses per status, and of connections that the service closed. */
const counts: Record<string, number> = {};
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1;
};

/** Sends requests over one connection, each as soon as the response to the one before has arrived. Resolves when the connection ends. */
function attack(port: number, next: () => Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let pending: Buffer = Buffer.alloc(0);
    socket.on('connect', () => socket.write(next()));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      count('closed');
      resolve();
    });
    let isStream = false;
    socket.on('data', (chunk) => {
      if (isStream) return;
      pending = Buffer.concat([pending, chunk]);
      const head = pending.indexOf('\r\n\r\n');
      if (head < 0) return;
      const text = pending.toString('latin1', 0, head);
      const length = /content-length: (\d+)/i.exec(text)?.[1];
      if (length !== undefined && pending.length < head + 4 + Number(length)) return;
      count(text.slice(9, 12));
      pending = Buffer.alloc(0);
      // An event stream never ends, so its connection stays open.
      isStream = /content-type: text\/event-stream/i.test(text);
      if (!isStream) socket.write(next());
    });
  });
}

process.once('message', async ({ port, connections, requests }: HostileLoad) => {
  const bytes = requests.map((text) => Buffer.from(text, 'base64'));
  let turn = 0;
  const next = (): Buffer => {
    const request = bytes[turn++ % bytes.length] ?? Buffer.alloc(0);
    const at = request.indexOf(PLACEHOLDER);
    if (at < 0) return request;
    const changed = Buffer.from(request);
    changed.write(Math.random().toString(36).slice(2).padEnd(PLACEHOLDER.length, 'x').slice(0, PLACEHOLDER.length), at, 'latin1');
    return changed;
  };
  process.on('message', () => process.send?.(counts));
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (;;) {
        await attack(port, next);
        await sleep(RECONNECT_MS);
      }
    }),
  );
});
process.once('disconnect', () => process.exit());
