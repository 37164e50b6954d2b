import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

/** A load of one hostile caller. */
export interface HostileLoad {
  /** The connections are spread over these ports. */
  readonly ports: readonly number[];
  /** Whether the ports speak TLS. Their certificates are not checked. */
  readonly tls: boolean;
  readonly connections: number;
  /** Requests that the connections send in turn, base64. `@RANDOM@` in a request is replaced by a random text of the same length. */
  readonly requests: readonly string[];
}

/** What a hostile caller reports about its responses. */
export interface HostileReport {
  /** Number of responses per status, and of connections that the service closed. */
  readonly counts: Readonly<Record<string, number>>;
  /** Number of refusals per status and sentence of the service. */
  readonly refusals: Readonly<Record<string, number>>;
  /** The ids of its accepted scores. */
  readonly scoreIds: readonly string[];
  /** Descriptions of the first responses that the service must not send: 5xx other than 503, and 429 without its headers. */
  readonly wrong: readonly string[];
}

const PLACEHOLDER = '@RANDOM@';
/** Delay before a connection is opened again, ms: after a connection with a response, and after one without. */
const RECONNECT_MS = { answered: 20, failed: 250 };
const MAX_WRONG = 20;

const counts: Record<string, number> = {};
const refusals: Record<string, number> = {};
const scoreIds: string[] = [];
const wrong: string[] = [];
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1;
};

/** Returns whether a 429 says when to try again. A 429 of a rate limit or of the requests in flight also has the header `RateLimit`. */
function saysWhen(head: string, body: string): boolean {
  const isRate = /requests of this kind in flight|requests are accepted in/.test(body);
  return /^retry-after: \d/im.test(head) && (!isRate || /^ratelimit: /im.test(head));
}

/** Adds a response to the report. */
function read(sent: Buffer, head: string, body: string): void {
  const status = head.slice(9, 12);
  count(status);
  const [, scoreId] = status === '200' ? (/"scoreId":"([\w-]+)"/.exec(body) ?? []) : [];
  if (scoreId !== undefined) scoreIds.push(scoreId);
  if (status.startsWith('4') || status.startsWith('5')) {
    const refusal = `${status} ${/"error":"([^"]*)"/.exec(body)?.[1] ?? ''}`;
    refusals[refusal] = (refusals[refusal] ?? 0) + 1;
  }
  const isWrong = (status.startsWith('5') && status !== '503') || (status === '429' && !saysWhen(head, body));
  if (!isWrong || wrong.length >= MAX_WRONG) return;
  const path = sent.toString('latin1', 0, sent.indexOf(' HTTP'));
  wrong.push(`${path} answered ${status} ${body.slice(0, 300)} (request ${/^x-request-id: (\S+)/im.exec(head)?.[1]})`);
}

/**
 * Sends requests over one connection, each as soon as the response to the one before has arrived. Resolves when the connection ends.
 * @returns whether the service answered
 */
function attack({ port, tls }: { port: number; tls: boolean }, next: () => Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const address = { port, host: '127.0.0.1' };
    const socket = tls ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
    let pending: Buffer = Buffer.alloc(0);
    let sent: Buffer = Buffer.alloc(0);
    let isAnswered = false;
    const send = () => {
      sent = next();
      socket.write(sent);
    };
    socket.on(tls ? 'secureConnect' : 'connect', send);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      count('closed');
      resolve(isAnswered);
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
      read(sent, text, pending.toString('latin1', head + 4));
      isAnswered = true;
      pending = Buffer.alloc(0);
      // An event stream never ends, so its connection stays open.
      isStream = /content-type: text\/event-stream/i.test(text);
      if (!isStream) send();
    });
  });
}

process.once('message', async ({ ports, tls, connections, requests }: HostileLoad) => {
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
  process.on('message', () => process.send?.({ counts, refusals, scoreIds, wrong } satisfies HostileReport));
  await Promise.all(
    Array.from({ length: connections }, async (_, i) => {
      for (;;) {
        const isAnswered = await attack({ port: ports[i % ports.length] ?? 0, tls }, next);
        await sleep(isAnswered ? RECONNECT_MS.answered : RECONNECT_MS.failed);
      }
    }),
  );
});
process.once('disconnect', () => process.exit());
