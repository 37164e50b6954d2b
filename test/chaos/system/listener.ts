import { setTimeout as sleep } from 'node:timers/promises';
import { type Bookmark, formatId, parseId } from '#platform/events/frame.ts';
import { type Message, openEvents, type SseClient } from '#test/support/http/sse.ts';
import type { Client } from './client.ts';
import type { Random } from './random.ts';

/** Probability of a long pause before a reconnect. The listener must receive the missed events afterwards, or a reset. */
const PAUSE_PROBABILITY = 0.3;
/** Maximum long pause, ms. */
const MAX_PAUSE_MS = 3_000;

/** A stream sends a comment every 15 s. A listener reconnects after this time without any data, ms. */
const IDLE_TIMEOUT_MS = 20_000;

/** The messages between two resets. */
export interface StreamSegment {
  /** Position after which every event was received. */
  readonly from: Bookmark;
  to: Bookmark;
  readonly messages: Message[];
}

/** A subscriber that behaves as EventSource: it reconnects to any API process with the last event id. Its connection breaks from time to time. */
export class Listener {
  readonly wallet: string | null;
  readonly segments: StreamSegment[] = [];
  readonly violations: string[] = [];
  connections = 0;
  readonly #client: Client;
  readonly #random: Random;
  readonly #isLate: boolean;
  readonly #listening: Promise<void>;
  #stream: SseClient | undefined;
  #read = 0;
  #lastEventId = '';
  #over = false;

  /**
   * @param signedIn whether the listener uses the session of the client
   * @param from position of an earlier connection; null: starts at the current end of the stream
   */
  constructor(client: Client, random: Random, signedIn: boolean, from: Bookmark | null = null) {
    if (from !== null) {
      this.segments.push({ from, to: from, messages: [] });
      this.#lastEventId = formatId(from.epoch, from, from.index);
    }
    this.#isLate = from !== null;
    this.wallet = signedIn ? client.wallet : null;
    this.#client = client;
    this.#random = random;
    this.#listening = this.#listen();
  }

  get name(): string {
    const whose = this.wallet === null ? 'the listener without a session' : `the listener of ${this.wallet}`;
    return this.#isLate ? `${whose}, resumed,` : whose;
  }

  /** Returns listeners that reconnect from the start of this listener's first and last segment, so all events since must be replayed. */
  resumed(): Listener[] {
    const places = new Set([this.segments[0]?.from, this.segments.at(-1)?.from]);
    return [...places].flatMap((from) => (from ? [new Listener(this.#client, this.#random, this.wallet !== null, from)] : []));
  }

  /** Number of received resets. */
  get resets(): number {
    return Math.max(0, this.segments.length - 1);
  }

  /** Connections, resets and last event id, for failure messages. */
  get position(): string {
    return `${this.connections} connections, ${this.resets} resets, at ${this.#lastEventId}`;
  }

  /** Returns whether a message with this value in this field was received. */
  hasReceived(field: string, value: string): boolean {
    this.#take();
    return this.segments.some(({ messages }) => messages.some(({ data }) => data[field] === value));
  }

  async stop(): Promise<void> {
    this.#over = true;
    this.#stream?.close();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    while (!this.#over) {
      const stream = await this.#connect();
      if (stream?.status === 200) await this.#follow(stream);
      stream?.close();
      const pause = this.#random.fraction() < PAUSE_PROBABILITY ? this.#random.between(500, MAX_PAUSE_MS) : this.#random.between(100, 300);
      for (let waited = 0; waited < pause && !this.#over; waited += 100) await sleep(100);
    }
  }

  #connect(): Promise<SseClient | undefined> {
    const cookie = this.wallet === null ? {} : { cookie: this.#client.cookie };
    const url = this.#client.nextUrl();
    return openEvents({ url }, { ...cookie, ...(this.#lastEventId === '' ? {} : { lastEventId: this.#lastEventId }) }).catch(() => undefined);
  }

  async #follow(stream: SseClient): Promise<void> {
    this.#stream = stream;
    this.#read = 0;
    this.connections++;
    // The connection breaks 3 to 13 s after its start, so that it has received its first event id.
    const breaksAt = performance.now() + 3_000 + this.#random.fraction() * 10_000;
    let [seen, quietSince] = ['', performance.now()];
    while (stream.isOpen && !this.#over) {
      this.#take();
      const now = performance.now();
      const state = `${stream.comments.length} ${stream.lastEventId}`;
      if (state !== seen) [seen, quietSince] = [state, now];
      if (now > breaksAt || now - quietSince > IDLE_TIMEOUT_MS) break;
      await Promise.race([stream.ended, sleep(50)]);
    }
    stream.close();
    await stream.ended;
    this.#take();
    this.#stream = undefined;
    await stream.until('', () => true).catch((error: unknown) => this.violations.push(`${this.name}: ${String(error)}`));
  }

  /** Adds the new messages of the stream to the segments. */
  #take(): void {
    const stream = this.#stream;
    if (!stream || stream.lastEventId === '') return;
    const at = parseId(stream.lastEventId);
    if (at === null) return;
    if (this.segments.length === 0) this.segments.push({ from: at, to: at, messages: [] });
    for (const message of stream.messages.slice(this.#read)) {
      const place = parseId(message.id);
      if (place === null) continue;
      if (message.event === 'reset') this.segments.push({ from: place, to: place, messages: [] });
      const last = this.segments.at(-1);
      last?.messages.push(message);
      if (last) last.to = place;
    }
    this.#read = stream.messages.length;
    const last = this.segments.at(-1);
    // An id without a message means that no event up to it was addressed to this listener.
    if (last && last.to.epoch === at.epoch) last.to = at;
    this.#lastEventId = stream.lastEventId;
  }
}
