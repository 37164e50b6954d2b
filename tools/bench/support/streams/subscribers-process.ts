import { connect, type Socket } from 'node:net';
import type { Command, Report } from './subscribers.ts';

/**
 * This process runs thousands of subscribers of one stream over raw sockets. It uses little CPU time, because it shares the machine with the measured
 * processes.
 * A subscriber behaves like EventSource: a message counts when the empty line after the message has arrived, and a reconnect sends the id of the last
 * message.
 */

/** Maximum subscribers that connect at the same time. */
const MAX_CONNECTING = 100;
/**
 * Range of the delay before a subscriber reconnects after the service closed the connection, ms. The service sends a delay in the same range in the
 * `retry` field of the stream.
 */
const RETRY = { minMs: 1_000, maxMs: 4_000 };
const MARK = /@(\d+):(\d+);/g;
const MAX_MS = 60_000;

let isWanted = false;
let port = 0;
let path = '';
let killing: NodeJS.Timeout | undefined;
const subscribers: Subscriber[] = [];
/** Histogram of the latencies: the number of events per whole millisecond. */
const latencies = new Uint32Array(MAX_MS + 1);
let counts = { chunks: 0, events: 0, lost: 0, duplicates: 0, resets: 0, connects: 0 };

/**
 * The messages of one socket read. The text that is parsed consists of `before` (the unfinished message of the previous read) and the new bytes. The
 * latest result is cached, because most subscribers receive the same bytes.
 */
interface Parsed {
  readonly before: string;
  readonly bytes: Buffer;
  readonly rest: string;
  readonly id: string | null;
  readonly marks: readonly { seq: number; sent: number }[];
  readonly resets: number;
}
let last: Parsed | null = null;

function parse(before: string, bytes: Buffer): Parsed {
  if (last !== null && last.before === before && last.bytes.equals(bytes)) return last;
  const text = before + bytes.toString('latin1');
  const end = text.lastIndexOf('\n\n') + 1;
  const whole = end === 0 ? '' : text.slice(0, end);
  last = {
    before,
    bytes: Buffer.from(bytes),
    rest: end === 0 ? text : text.slice(end + 1),
    id: [...whole.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? null,
    marks: [...whole.matchAll(MARK)].map(([, seq, sent]) => ({ seq: Number(seq), sent: Number(sent) })),
    resets: whole.match(/^event: reset$/gm)?.length ?? 0,
  };
  return last;
}

const microseconds = () => Number(process.hrtime.bigint() / 1000n);
const buffer = Buffer.alloc(256 * 1024);

class Subscriber {
  seq = 0;
  isOpen = false;
  #id = '';
  #rest = '';
  #socket: Socket | null = null;
  #opened: (() => void) | null = null;
  readonly #cookie: string;

  constructor(cookie: string | undefined) {
    this.#cookie = cookie === undefined ? '' : `Cookie: ${cookie}\r\n`;
  }

  /** Connects to the stream, and retries until the service accepts the subscriber. */
  open(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opened = resolve;
    this.#connect();
    return promise;
  }

  #connect(): void {
    counts.connects++;
    const onread = { buffer, callback: (size: number) => this.#read(buffer.subarray(0, size)) };
    const socket = connect({ port, host: '127.0.0.1', onread });
    this.#socket = socket;
    this.#rest = '';
    const resume = this.#id === '' ? '' : `Last-Event-ID: ${this.#id}\r\n`;
    socket.on('error', () => undefined);
    socket.on('connect', () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nUser-Agent: bench\r\n${this.#cookie}${resume}\r\n`,
      ),
    );
    socket.on('close', () => {
      if (socket !== this.#socket) return;
      this.isOpen = false;
      if (isWanted) setTimeout(() => this.#connect(), RETRY.minMs + (RETRY.maxMs - RETRY.minMs) * Math.random());
    });
  }

  #read(bytes: Buffer): boolean {
    if (!this.isOpen) {
      if (bytes.toString('latin1', 9, 12) !== '200') {
        this.#socket?.destroy();
        return true;
      }
      this.isOpen = true;
      this.#opened?.();
      this.#opened = null;
    }
    counts.chunks++;
    const parsed = parse(this.#rest, bytes);
    this.#rest = parsed.rest;
    this.#id = parsed.id ?? this.#id;
    counts.resets += parsed.resets;
    if (parsed.marks.length === 0) return true;
    const now = microseconds();
    for (const { seq, sent } of parsed.marks) {
      if (seq <= this.seq) counts.duplicates++;
      else {
        counts.lost += seq - this.seq - 1;
        this.seq = seq;
      }
      const ms = Math.min(MAX_MS, Math.round((now - sent) / 1_000));
      latencies[ms] = (latencies[ms] ?? 0) + 1;
    }
    counts.events += parsed.marks.length;
    return true;
  }

  /** Cuts the connection and reconnects within 500 ms. */
  kill(): void {
    if (!this.isOpen) return;
    this.#socket?.removeAllListeners('close');
    this.close();
    setTimeout(() => this.#connect(), 500 * Math.random());
  }

  close(): void {
    this.isOpen = false;
    this.#socket?.destroy();
  }
}

async function open(count: number, cookies: readonly string[] = []): Promise<void> {
  isWanted = true;
  const made = Array.from({ length: count }, (_, i) => new Subscriber(cookies[(subscribers.length + i) % cookies.length]));
  subscribers.push(...made);
  const waiting = [...made];
  await Promise.all(
    Array.from({ length: MAX_CONNECTING }, async () => {
      for (let one = waiting.pop(); one; one = waiting.pop()) await one.open();
    }),
  );
}

function kill(perSec: number): void {
  clearInterval(killing);
  if (perSec === 0) return;
  killing = setInterval(() => {
    const open = subscribers.filter((one) => one.isOpen);
    for (let n = perSec / 10; n > 0; n--) open[Math.floor(Math.random() * open.length)]?.kill();
  }, 100);
}

/**
 * Returns a percentile of the latencies, ms.
 * @param share a fraction from 0 to 1, for example 0.99 for the 99th percentile
 */
function percentile(share: number): number {
  const wanted = share * latencies.reduce((sum, n) => sum + n, 0);
  let seen = 0;
  for (const [ms, n] of latencies.entries()) {
    seen += n;
    if (n > 0 && seen >= wanted) return ms;
  }
  return Number.NaN;
}

function report(): Report {
  const open = subscribers.filter((one) => one.isOpen).length;
  const lowestSeq = Math.min(...subscribers.map((one) => one.seq));
  return { ...counts, open, lowestSeq, p50: percentile(0.5), p99: percentile(0.99), max: percentile(1) };
}

process.on('message', async (command: Command) => {
  if (command.do === 'open') {
    ({ port, path } = command);
    await open(command.count, command.cookies);
  } else if (command.do === 'begin') {
    latencies.fill(0);
    counts = { chunks: 0, events: 0, lost: 0, duplicates: 0, resets: 0, connects: 0 };
    for (const one of subscribers) one.seq = command.seq;
  } else if (command.do === 'kill') kill(command.perSec);
  else if (command.do === 'close') {
    isWanted = false;
    for (const one of subscribers.splice(0)) one.close();
  }
  process.send?.(report());
});
process.on('disconnect', () => process.exit());
