import { connect, type Socket } from 'node:net';

/** A received HTTP response. */
export interface ReceivedResponse {
  readonly status: number;
  /** Header names are in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Time since the request was sent, ms. */
  readonly ms: number;
}

/** The responses to sent bytes, and how the exchange ended. */
export interface SendResult {
  readonly responses: readonly ReceivedResponse[];
  /** Received bytes that do not form a complete response. */
  readonly rest: Buffer;
  readonly end: 'complete' | 'closed' | 'timeout';
}

export const headerOf = (response: ReceivedResponse, name: string): string | undefined => response.headers.find(([one]) => one === name)?.[1];

const HEAD_END = Buffer.from('\r\n\r\n');

/** Parses HTTP responses from the bytes of a connection. Each byte is copied a constant number of times, because exports have many megabytes. */
class ResponseReader {
  readonly responses: ReceivedResponse[] = [];
  /** Whether the response that is being read has no length, so that only the end of the connection ends the response. */
  isEndless = false;
  readonly #methods: readonly string[];
  readonly #since: number;
  /** The received bytes: those from `#start` to `#end` are not parsed yet. */
  #buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** The chunks of the body that is being read. */
  #chunks = new ChunkReader();

  constructor(methods: readonly string[], since: number) {
    this.#methods = methods;
    this.#since = since;
  }

  /** The received bytes that do not form a complete response. */
  get rest(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  push(bytes: Buffer): void {
    if (this.#end + bytes.length > this.#buffer.length) {
      const { rest } = this;
      // A new buffer, because the bodies of earlier responses are parts of the old one.
      this.#buffer = Buffer.alloc(2 * (rest.length + bytes.length));
      rest.copy(this.#buffer);
      this.#start = 0;
      this.#end = rest.length;
    }
    bytes.copy(this.#buffer, this.#end);
    this.#end += bytes.length;
    while (this.#read(false));
  }

  /** Parses the remaining bytes after the connection has ended. */
  finish(): void {
    while (this.#read(true));
  }

  #read(isEnd: boolean): boolean {
    const { rest } = this;
    const head = rest.indexOf(HEAD_END);
    if (head < 0) return false;
    const [line = '', ...lines] = rest.toString('latin1', 0, head).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) return false;
    const start = head + HEAD_END.length;
    if (status < 200) {
      this.#start += start;
      return true;
    }
    const headers = lines.map((text): [string, string] => {
      const colon = text.indexOf(':');
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
    });
    const value = (name: string) => headers.find(([one]) => one === name)?.[1];
    const hasNone = this.#methods[this.responses.length] === 'HEAD' || status === 204 || status === 304;
    const length = value('content-length');
    const body = hasNone
      ? { bytes: Buffer.alloc(0), end: start }
      : value('transfer-encoding') === 'chunked'
        ? this.#chunks.read(rest, start)
        : length === undefined
          ? { bytes: rest.subarray(start), end: isEnd ? rest.length : Number.POSITIVE_INFINITY }
          : { bytes: rest.subarray(start, start + Number(length)), end: start + Number(length) };
    this.isEndless = body.end === Number.POSITIVE_INFINITY;
    if (body.end > rest.length) return false;
    this.responses.push({ status, headers, body: body.bytes, ms: performance.now() - this.#since });
    this.#start += body.end;
    this.#chunks = new ChunkReader();
    return true;
  }
}

/** Decodes a chunked body whose bytes arrive in parts. */
class ChunkReader {
  readonly #chunks: Buffer[] = [];
  /** Offset after the last complete chunk; 0 before the first one. */
  #at = 0;

  /**
   * Reads the chunks that are complete and were not read before.
   * @param bytes the bytes of the response; later calls have the same bytes and further ones
   * @param start offset of the body
   * @returns the content, and the offset at which the body ends; this offset is greater than the length of `bytes` when the body is incomplete
   */
  read(bytes: Buffer, start: number): { bytes: Buffer; end: number } {
    for (let at = this.#at || start; ; at = this.#at) {
      const line = bytes.indexOf('\r\n', at);
      const size = line < 0 ? 0 : Number.parseInt(bytes.toString('latin1', at, line), 16);
      const end = line + 2 + size + 2;
      if (line < 0 || !(end <= bytes.length)) return { bytes: Buffer.alloc(0), end: bytes.length + 1 };
      if (size === 0) return { bytes: Buffer.concat(this.#chunks), end };
      this.#chunks.push(bytes.subarray(line + 2, line + 2 + size));
      this.#at = end;
    }
  }
}

/** Bytes to send, and how to send them. */
export interface OutgoingRequest {
  readonly bytes: Buffer;
  /** Methods of the requests in `bytes`. One response per method is expected, and a response to HEAD has no body. */
  readonly methods: readonly string[];
  /** Whether to half-close the connection after sending, so that the service does not wait for the missing bytes of an incomplete request. */
  readonly halfCloses?: boolean;
  /** Delay between sending the bytes and resetting the connection, ms; undefined for no reset. */
  readonly disconnectAfterMs?: number;
  readonly timeoutMs: number;
}

/** A keep-alive connection. */
export class Connection {
  readonly #port: number;
  #socket: Socket | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * Sends bytes and reads the responses. A response without a length (for example an event stream) may never end, so the connection is closed shortly
   * after the response begins.
   */
  async send(sending: OutgoingRequest): Promise<SendResult> {
    const isReused = this.#socket !== null;
    const outcome = await this.#exchange(sending);
    // The service may have closed the idle connection just before the bytes were sent. In this case, sends the bytes again over a new connection.
    const isStale = isReused && outcome.end === 'closed' && outcome.responses.length === 0 && outcome.rest.length === 0;
    return isStale ? await this.#exchange(sending) : outcome;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #exchange({ bytes, methods, halfCloses = false, disconnectAfterMs, timeoutMs }: OutgoingRequest): Promise<SendResult> {
    const socket = this.#socket ?? connect(this.#port, '127.0.0.1');
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<SendResult>();
    const reader = new ResponseReader(methods, performance.now());
    let leave: NodeJS.Timeout | undefined;
    const timeout = setTimeout(() => done('timeout'), timeoutMs);
    const disconnect = disconnectAfterMs === undefined ? undefined : setTimeout(() => socket.resetAndDestroy(), disconnectAfterMs);
    const done = (end: SendResult['end']) => {
      for (const timer of [timeout, leave, disconnect]) clearTimeout(timer);
      socket.removeAllListeners().on('error', () => undefined);
      const { responses, rest } = reader;
      const closes = responses.some((response) => headerOf(response, 'connection') === 'close');
      if (end !== 'complete' || closes || halfCloses || responses.length > methods.length || rest.length > 0) this.close();
      resolve({ responses, rest, end });
    };
    socket.on('data', (chunk) => {
      reader.push(chunk);
      // Waits one turn of the event loop for further bytes, because these bytes would be an unexpected response.
      if (reader.responses.length >= methods.length) setImmediate(() => done('complete'));
      else if (reader.isEndless) leave ??= setTimeout(() => socket.destroy(), 100);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      reader.finish();
      done(reader.responses.length >= methods.length ? 'complete' : 'closed');
    });
    if (halfCloses) socket.end(bytes);
    else socket.write(bytes);
    return promise;
  }
}
