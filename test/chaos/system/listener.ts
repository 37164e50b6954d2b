import { setTimeout as sleep } from 'node:timers/promises';
import { type Bookmark, formatId, parseId } from '#platform/events/frame.ts';
import { type Message, openEvents, type SseClient } from '#test/support/http/sse.ts';
import type { Client } from './client.ts';
import type { Random } from './random.ts';

/** How often it is away for longer, and for how long, ms: what happens meanwhile it must be told when it is back, or that it cannot be. */
const AWAY = 0.3;
const MOST_AWAY_MS = 3_000;

/** A client hears from its stream every 15 s, or it connects again. */
const SILENCE_MS = 20_000;

/** What was heard without having been told of a gap. */
export interface Stretch {
  /** Everything after this was told. */
  readonly from: Bookmark;
  to: Bookmark;
  readonly messages: Message[];
}

/** A subscriber as EventSource is one: it connects again wherever it can, with the last id. Now and then its own connection breaks. */
export class Listener {
  readonly wallet: string | null;
  readonly stretches: Stretch[] = [];
  readonly complaints: string[] = [];
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
   * @param signedIn whether it listens as the client's wallet, or as anybody
   * @param from where it has been before; from now on, if nowhere
   */
  constructor(client: Client, random: Random, signedIn: boolean, from: Bookmark | null = null) {
    if (from !== null) {
      this.stretches.push({ from, to: from, messages: [] });
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
    return this.#isLate ? `${whose}, late,` : whose;
  }

  /** Those who heard nothing since this one was at the beginning of its first stretch, or of its last, and come back now. */
  late(): Listener[] {
    const places = new Set([this.stretches[0]?.from, this.stretches.at(-1)?.from]);
    return [...places].flatMap((from) => (from ? [new Listener(this.#client, this.#random, this.wallet !== null, from)] : []));
  }

  /** How often it was told that there may be a gap. */
  get resets(): number {
    return Math.max(0, this.stretches.length - 1);
  }

  /** How far it has come, for people. */
  get whereabouts(): string {
    return `${this.connections} connections, ${this.resets} resets, at ${this.#lastEventId}`;
  }

  /** Whether a message with this value in this field was heard. */
  heard(field: string, value: string): boolean {
    this.#take();
    return this.stretches.some(({ messages }) => messages.some(({ data }) => data[field] === value));
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
      const pause = this.#random.fraction() < AWAY ? this.#random.between(500, MOST_AWAY_MS) : this.#random.between(100, 300);
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
    // A stream that is begun says at once where it is: a whole first line, or none.
    const breaksAt = performance.now() + 3_000 + this.#random.fraction() * 10_000;
    let [seen, quietSince] = ['', performance.now()];
    while (stream.isOpen && !this.#over) {
      this.#take();
      const now = performance.now();
      const state = `${stream.comments.length} ${stream.lastEventId}`;
      if (state !== seen) [seen, quietSince] = [state, now];
      if (now > breaksAt || now - quietSince > SILENCE_MS) break;
      await Promise.race([stream.ended, sleep(50)]);
    }
    stream.close();
    await stream.ended;
    this.#take();
    this.#stream = undefined;
    await stream.until('', () => true).catch((error: unknown) => this.complaints.push(`${this.name}: ${String(error)}`));
  }

  /** Takes over what the stream has brought since. */
  #take(): void {
    const stream = this.#stream;
    if (!stream || stream.lastEventId === '') return;
    const at = parseId(stream.lastEventId);
    if (at === null) return;
    if (this.stretches.length === 0) this.stretches.push({ from: at, to: at, messages: [] });
    for (const message of stream.messages.slice(this.#read)) {
      const place = parseId(message.id);
      if (place === null) continue;
      if (message.event === 'reset') this.stretches.push({ from: place, to: place, messages: [] });
      const last = this.stretches.at(-1);
      last?.messages.push(message);
      if (last) last.to = place;
    }
    this.#read = stream.messages.length;
    const last = this.stretches.at(-1);
    // An id without a message says that everything up to it was told, and nothing of it was for this one.
    if (last && last.to.epoch === at.epoch) last.to = at;
    this.#lastEventId = stream.lastEventId;
  }
}
