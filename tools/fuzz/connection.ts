import { connect, type Socket } from 'node:net';

/** One answer, as its bytes came. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** From the last byte of the request to here, ms. */
  readonly ms: number;
}

/** What became of bytes that were sent. */
export interface Outcome {
  readonly answers: readonly Answer[];
  /** What came and is no answer, or only the beginning of one. */
  readonly rest: Buffer;
  readonly end: 'complete' | 'closed' | 'late';
}

export const headerOf = (answer: Answer, name: string): string | undefined => answer.headers.find(([one]) => one === name)?.[1];

const HEAD_END = Buffer.from('\r\n\r\n');

/** Reads answers out of what a connection brings. */
class AnswerReader {
  readonly answers: Answer[] = [];
  rest: Buffer = Buffer.alloc(0);
  /** Whether the answer that has begun goes on until the connection ends, and how. */
  isEndless = false;
  readonly #methods: readonly string[];
  readonly #since: number;

  constructor(methods: readonly string[], since: number) {
    this.#methods = methods;
    this.#since = since;
  }

  push(bytes: Buffer): void {
    this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    while (this.#read(false));
  }

  /** The connection has ended. */
  finish(): void {
    while (this.#read(true));
  }

  #read(isEnd: boolean): boolean {
    const head = this.rest.indexOf(HEAD_END);
    if (head < 0) return false;
    const [line = '', ...lines] = this.rest.toString('latin1', 0, head).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) return false;
    const start = head + HEAD_END.length;
    if (status < 200) {
      this.rest = this.rest.subarray(start);
      return true;
    }
    const headers = lines.map((text): [string, string] => {
      const colon = text.indexOf(':');
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
    });
    const value = (name: string) => headers.find(([one]) => one === name)?.[1];
    const hasNone = this.#methods[this.answers.length] === 'HEAD' || status === 204 || status === 304;
    const length = value('content-length');
    const body = hasNone
      ? { bytes: Buffer.alloc(0), end: start }
      : value('transfer-encoding') === 'chunked'
        ? chunked(this.rest, start)
        : length === undefined
          ? { bytes: this.rest.subarray(start), end: isEnd ? this.rest.length : Number.POSITIVE_INFINITY }
          : { bytes: this.rest.subarray(start, start + Number(length)), end: start + Number(length) };
    this.isEndless = body.end === Number.POSITIVE_INFINITY;
    if (body.end > this.rest.length) return false;
    this.answers.push({ status, headers, body: body.bytes, ms: performance.now() - this.#since });
    this.rest = this.rest.subarray(body.end);
    return true;
  }
}

/** @returns the content, and where it ends: beyond the bytes while it has not ended */
function chunked(bytes: Buffer, start: number): { bytes: Buffer; end: number } {
  const chunks: Buffer[] = [];
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return { bytes: Buffer.alloc(0), end: bytes.length + 1 };
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (size === 0) return { bytes: Buffer.concat(chunks), end: line + 4 };
    chunks.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
    if (at > bytes.length) return { bytes: Buffer.alloc(0), end: bytes.length + 1 };
  }
}

/** What is sent, and how. */
export interface Sending {
  readonly bytes: Buffer;
  /** Of the requests in the bytes: how many answers there should be, and which have no body. */
  readonly methods: readonly string[];
  /** Half-closes afterwards: for what announces more than it brings. */
  readonly isCut?: boolean;
  /** Goes away so long after the last byte, ms, whatever has come by then. */
  readonly goneAfterMs?: number;
  readonly withinMs: number;
}

/** A connection that is kept as long as the service keeps it. */
export class Connection {
  readonly #port: number;
  #socket: Socket | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends bytes and reads what they are answered with. A stream without an end is left once it has begun. */
  async send(sending: Sending): Promise<Outcome> {
    const isReused = this.#socket !== null;
    const outcome = await this.#exchange(sending);
    // The service may have closed it just before.
    const isStale = isReused && outcome.end === 'closed' && outcome.answers.length === 0 && outcome.rest.length === 0;
    return isStale ? await this.#exchange(sending) : outcome;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #exchange({ bytes, methods, isCut = false, goneAfterMs, withinMs }: Sending): Promise<Outcome> {
    const socket = this.#socket ?? connect(this.#port, '127.0.0.1');
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const reader = new AnswerReader(methods, performance.now());
    let leave: NodeJS.Timeout | undefined;
    const late = setTimeout(() => done('late'), withinMs);
    const gone = goneAfterMs === undefined ? undefined : setTimeout(() => socket.resetAndDestroy(), goneAfterMs);
    const done = (end: Outcome['end']) => {
      for (const timer of [late, leave, gone]) clearTimeout(timer);
      socket.removeAllListeners().on('error', () => undefined);
      const { answers, rest } = reader;
      const closes = answers.some((answer) => headerOf(answer, 'connection') === 'close');
      if (end !== 'complete' || closes || isCut || answers.length > methods.length || rest.length > 0) this.close();
      resolve({ answers, rest, end });
    };
    socket.on('data', (chunk) => {
      reader.push(chunk);
      // What has come too much is an answer to nothing, and would be seen here.
      if (reader.answers.length >= methods.length) setImmediate(() => done('complete'));
      else if (reader.isEndless) leave ??= setTimeout(() => socket.destroy(), 100);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      reader.finish();
      done(reader.answers.length >= methods.length ? 'complete' : 'closed');
    });
    if (isCut) socket.end(bytes);
    else socket.write(bytes);
    return promise;
  }
}
